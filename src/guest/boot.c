/*
 * How it works: the initramfs root cannot be pivoted away from, so a tmpfs is put over it first and
 * becomes the agent's root (paths.h). Modules are loaded in the order of /modules/order and removed
 * after loading, which gives their memory back. Devices are found by what the machine calls them
 * (serial, port name), never by number. All of this is the same for every job of a template.
 */
#include "guest/boot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "guest/cgroup.h"
#include "guest/file.h"
#include "guest/paths.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define NEW_ROOT       "/agent"
#define ORDER_MAX      4096
#define DEVICE_WAIT_NS (10 * NS_PER_S)

#define SAFE_MOUNT (MS_NOSUID | MS_NODEV | MS_NOEXEC)

void boot_complain(const char *text)
{
    int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

    if (fd >= 0) {
        /* Level 2 passes the console's loglevel=3. */
        (void)dprintf(fd, "<2>airlock-init: %s\n", text);
        (void)close(fd);
    }
}

int boot_parameter(const char *name, char *ret, size_t size, struct err *err)
{
    char line[4096];
    char key[64];
    const char *at = NULL;
    int r = file_read(AT_FDCWD, "/proc/cmdline", line, sizeof(line), err);

    ret[0] = '\0';
    if (r < 0) {
        return r;
    }
    (void)snprintf(key, sizeof(key), " airlock.%s=", name);
    at = strstr(line, key);
    if (at != NULL) {
        at += strlen(key);
        (void)snprintf(ret, size, "%.*s", (int)strcspn(at, " "), at);
    }
    return 0;
}

static int do_mount(const char *what, const char *where, const char *type, unsigned long flags,
                    const char *options, struct err *err)
{
    if (mount(what, where, type, flags, options) < 0) {
        return err_sys(err, "mount %s on '%s'", type, where);
    }
    return 0;
}

static int make_dirs(const char *const *names, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (mkdir(names[i], 0755) < 0 && errno != EEXIST) {
            return err_sys(err, "mkdir '%s'", names[i]);
        }
    }
    return 0;
}

static int agent_root(struct err *err)
{
    static const char *const dirs[] = {
        "dev",       "proc",        "sys",          &PATH_CGROUP[1],  &PATH_LOWER[1],
        &PATH_RW[1], &PATH_ROOT[1], &PATH_INPUT[1], &PATH_SCRATCH[1],
    };
    int r = 0;

    if (mkdir(NEW_ROOT, 0755) < 0 && errno != EEXIST) {
        return err_sys(err, "mkdir '%s'", NEW_ROOT);
    }
    r = do_mount("agent", NEW_ROOT, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=1m", err);
    if (r < 0) {
        return r;
    }
    if (chdir(NEW_ROOT) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ||
        chdir("/") < 0) {
        return err_sys(err, "make '%s' the root", NEW_ROOT);
    }
    r = make_dirs(dirs, ARRAY_LEN(dirs), err);
    if (r < 0) {
        return r;
    }
    r = do_mount("devtmpfs", "/dev", "devtmpfs", MS_NOSUID | MS_NOEXEC, NULL, err);
    if (r < 0) {
        return r;
    }
    r = do_mount("proc", "/proc", "proc", SAFE_MOUNT, NULL, err);
    return r < 0 ? r : do_mount("sysfs", "/sys", "sysfs", SAFE_MOUNT, NULL, err);
}

/* 0-2 are never anything else than /dev/null here; the kernel may have left them closed. */
static int own_stdio(struct err *err)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (fd < 0) {
        return err_sys(err, "open '/dev/null'");
    }
    for (int i = 0; i < 3; i++) {
        if (fd != i && dup2(fd, i) < 0) {
            return err_sys(err, "dup2 to %d", i);
        }
    }
    if (fd > 2) {
        (void)close(fd);
    }
    return 0;
}

static int load_module(int dirfd, const char *name, struct err *err)
{
    auto_fd int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0) {
        return err_sys(err, "open module '%s'", name);
    }
    if (syscall(SYS_finit_module, fd, "", 0) < 0 && errno != EEXIST) {
        return err_sys(err, "load module '%s'", name);
    }
    (void)unlinkat(dirfd, name, 0);
    return 0;
}

static int load_modules(int dirfd, struct err *err)
{
    char order[ORDER_MAX];
    int r = file_read(dirfd, "order", order, sizeof(order), err);

    if (r < 0) {
        return r;
    }
    for (char *name = order; name != NULL && name[0] != '\0';) {
        char *end = strchr(name, '\n');

        if (end != NULL) {
            *end++ = '\0';
        }
        r = load_module(dirfd, name, err);
        if (r < 0) {
            return r;
        }
        name = end;
    }
    return 0;
}

/* Looks once for the entry of the class directory whose attribute file says value. */
static bool find_by(const char *dir, const char *attribute, const char *value, char *ret,
                    size_t size)
{
    DIR *d = opendir(dir);
    struct dirent *entry = NULL;
    bool found = false;

    if (d == NULL) {
        return false;
    }
    while (!found && (entry = readdir(d)) != NULL) { /* NOLINT(concurrency-mt-unsafe): own DIR */
        char path[sizeof(entry->d_name) + 32];
        char text[64] = "";
        struct err ignored = ERR_INIT;

        if (entry->d_name[0] != 'v') { /* vdX, vportXpY: no others can be ours */
            continue;
        }
        (void)snprintf(path, sizeof(path), "%s/%s", entry->d_name, attribute);
        found = file_read(dirfd(d), path, text, sizeof(text), &ignored) == 0 &&
                strcmp(text, value) == 0 &&
                (size_t)snprintf(ret, size, "/dev/%s", entry->d_name) < size;
    }
    (void)closedir(d);
    return found;
}

/* Drivers register some of their devices a moment after the module is loaded. */
static int wait_for(const char *dir, const char *attribute, const char *value, char *ret,
                    struct err *err)
{
    uint64_t deadline = clock_mono_ns() + DEVICE_WAIT_NS;

    while (!find_by(dir, attribute, value, ret, BOOT_DEV_MAX) || access(ret, F_OK) < 0) {
        if (clock_mono_ns() > deadline) {
            return err_sys_num(err, ENODEV, "device '%s' in '%s'", value, dir);
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
    }
    return 0;
}

int boot_early(int *ret_port, struct err *err)
{
    auto_fd int found = open("/modules", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Above 2: the kernel may have left 0-2 closed, and own_stdio() replaces them. */
    auto_fd int modules = found < 0 ? -1 : fcntl(found, F_DUPFD_CLOEXEC, 3);
    char dev[BOOT_DEV_MAX] = "";
    int r = 0;
    int fd = -1;

    if (modules < 0) {
        return err_sys(err, "open '/modules'");
    }
    fd_close_p(&found);
    r = agent_root(err);
    if (r < 0) {
        return r;
    }
    r = own_stdio(err);
    if (r < 0) {
        return r;
    }
    r = load_modules(modules, err);
    if (r < 0) {
        return r;
    }
    r = wait_for("/sys/class/virtio-ports", "name", "airlock", dev, err);
    if (r < 0) {
        return r;
    }
    fd = open(dev, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return err_sys(err, "open '%s'", dev);
    }
    *ret_port = fd;
    return 0;
}

/*
 * What the kernel's defaults leave open. User namespaces would give the program capabilities over
 * mounts of its own; a guest kernel that oopsed is not trusted to go on; the task dump of an OOM
 * costs seconds under emulation and says nothing that is kept.
 */
static int set_sysctls(struct err *err)
{
    static const char *const values[][2] = {
        {"/proc/sys/user/max_user_namespaces", "0"}, {"/proc/sys/kernel/panic_on_oops", "1"},
        {"/proc/sys/kernel/kptr_restrict", "2"},     {"/proc/sys/kernel/dmesg_restrict", "1"},
        {"/proc/sys/vm/oom_dump_tasks", "0"},        {"/proc/self/oom_score_adj", "-1000"},
    };

    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        int r = file_write(AT_FDCWD, values[i][0], values[i][1], err);

        if (r < 0) {
            return r;
        }
    }
    if (sethostname("airlock", 7) < 0) {
        return err_sys(err, "set the host name");
    }
    return 0;
}

int boot_dev_links(int dirfd, struct err *err)
{
    static const char *const links[][2] = {
        {"/proc/self/fd", "fd"},
        {"/proc/self/fd/0", "stdin"},
        {"/proc/self/fd/1", "stdout"},
        {"/proc/self/fd/2", "stderr"},
    };

    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        if (symlinkat(links[i][0], dirfd, links[i][1]) < 0) {
            return err_sys(err, "symlink '/dev/%s'", links[i][1]);
        }
    }
    if (mkdirat(dirfd, "shm", 0755) < 0) {
        return err_sys(err, "mkdir '/dev/shm'");
    }
    return 0;
}

/* The program's /dev: what programs expect of any system, nothing that reaches the machine. */
static int program_dev(struct err *err)
{
    static const struct {
        const char *name;
        unsigned int major;
        unsigned int minor;
    } nodes[] = {
        {"null", 1, 3},   {"zero", 1, 5},    {"full", 1, 7},
        {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0},
    };

    auto_fd int dir = -1;
    int r = do_mount("dev", PATH_ROOT "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC,
                     "mode=0755,size=64k,nr_inodes=32", err);

    if (r < 0) {
        return err_wrap(err, "the image needs a directory /dev");
    }
    dir = open(PATH_ROOT "/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) {
        return err_sys(err, "open the program's /dev");
    }
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        if (mknodat(dir, nodes[i].name, S_IFCHR | 0666, makedev(nodes[i].major, nodes[i].minor)) <
            0) {
            return err_sys(err, "mknod '/dev/%s'", nodes[i].name);
        }
    }
    return boot_dev_links(dir, err);
}

/* The image's own directory, as read-only as inputs would be: of a job without any. */
static int empty_input(struct err *err)
{
    static const char at[] = PATH_ROOT "/in";
    const unsigned long flags = MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV;

    if (mount(at, at, NULL, MS_BIND, NULL) < 0) {
        return err_sys(err, "bind '/in' (the image needs this directory)");
    }
    if (mount(NULL, at, NULL, MS_REMOUNT | flags, NULL) < 0) {
        return err_sys(err, "make '/in' read-only");
    }
    return 0;
}

/* Made ahead: a job then only writes it, which is much less code to run for the first time. */
static int open_machine_id(int *ret, struct err *err)
{
    if (mkdir(PATH_ROOT "/etc", 0755) < 0 && errno != EEXIST) {
        return err_sys(err, "mkdir '/etc'");
    }
    if (unlink(PATH_ROOT "/etc/machine-id") < 0 && errno != ENOENT) {
        return err_sys(err, "remove the image's '/etc/machine-id'");
    }
    return fd_open_nolink(AT_FDCWD, PATH_ROOT "/etc/machine-id", O_WRONLY | O_CREAT | O_EXCL, 0444,
                          ret, err);
}

int boot_root(struct boot *ret, struct err *err)
{
    char root_dev[BOOT_DEV_MAX] = "";
    int r = set_sysctls(err);

    r = r < 0 ? r : fd_open(AT_FDCWD, "/dev/urandom", O_RDONLY, 0, &ret->urandom_fd, err);
    if (r < 0) {
        return r;
    }
    r = cgroup_boot(err);
    if (r < 0) {
        return r;
    }
    r = wait_for("/sys/block", "serial", "airlock-root", root_dev, err);
    if (r < 0) {
        return r;
    }
    r = wait_for("/sys/block", "serial", "airlock-input", ret->input_dev, err);
    if (r < 0) {
        return r;
    }
    r = wait_for("/sys/block", "serial", "airlock-scratch", ret->scratch_dev, err);
    if (r < 0) {
        return r;
    }
    r = do_mount(root_dev, PATH_LOWER, "squashfs", MS_RDONLY | MS_NOSUID | MS_NODEV, NULL, err);
    if (r < 0) {
        return r;
    }
    r = do_mount("rw", PATH_RW, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=8m,nr_inodes=1024",
                 err);
    if (r < 0) {
        return r;
    }
    r = make_dirs((const char *const[]){PATH_RW "/upper", PATH_RW "/work"}, 2, err);
    if (r < 0) {
        return r;
    }
    r = do_mount("root", PATH_ROOT, "overlay", MS_NOSUID | MS_NODEV,
                 "lowerdir=" PATH_LOWER ",upperdir=" PATH_RW "/upper,workdir=" PATH_RW "/work",
                 err);
    if (r == 0) {
        r = open_machine_id(&ret->machine_id_fd, err);
    }
    if (r == 0) {
        r = program_dev(err);
    }
    if (r == 0) {
        r = empty_input(err);
    }
    /* What is mounted there for a job reaches an interpreter that has a namespace already. */
    if (r == 0 && mount(NULL, PATH_ROOT, NULL, MS_SHARED | MS_REC, NULL) < 0) {
        return err_sys(err, "share the mounts of the image");
    }
    return r;
}
