/*
 * How it works: each look_at_*() adds one or a few checks. What costs time (booting guests) comes
 * after what explains a failure of it, so that remedies can point back.
 */
#include "sup/doctor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "job/archive-api.h"
#include "job/squash-api.h"
#include "sup/doctor-internal.h"
#include "sup/engine.h"
#include "sys/fd.h"
#include "sys/proc.h"

#define OLD_DAYS        30
#define SECONDS_PER_DAY 86400L

void doctor_add(struct doctor_report *rep, const char *id, enum doctor_state state, const char *fix,
                const char *fmt, ...)
{
    struct doctor_check *c = NULL;
    va_list ap;

    if (rep->n == DOCTOR_CHECKS_MAX) {
        rep->ready = false; /* a check of ours is lost: never claim that all is well */
        return;
    }
    c = &rep->checks[rep->n++];
    c->id = id;
    c->state = state;
    va_start(ap, fmt);
    (void)vsnprintf(c->text, sizeof(c->text), fmt, ap);
    va_end(ap);
    (void)snprintf(c->fix, sizeof(c->fix), "%s", fix != NULL ? fix : "");
    rep->ready = rep->ready && state != DOCTOR_MISSING;
}

const char *doctor_read(const char *path, struct buf *buf)
{
    struct err err = ERR_INIT;
    auto_fd int fd = -1;

    buf->len = 0;
    if (fd_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0, &fd, &err) < 0 ||
        fd_read_all(fd, path, buf, &err) < 0 || buf->len == 0) {
        return "";
    }
    return (const char *)buf->data;
}

static void look_at_os(struct doctor_report *rep)
{
    auto_buf struct buf text = BUF_INIT(64 * KIB);
    const char *release = doctor_read("/etc/os-release", &text);
    char name[DOCTOR_WORD_MAX];
    char id[DOCTOR_WORD_MAX];
    char version[DOCTOR_WORD_MAX];

    doctor_parse_os_release(release, "PRETTY_NAME", name);
    doctor_parse_os_release(release, "ID", id);
    doctor_parse_os_release(release, "VERSION_ID", version);
    if (strcmp(id, "debian") == 0 && strcmp(version, "12") == 0) {
        doctor_add(rep, "os", DOCTOR_OK, NULL, "%s", name);
    } else {
        doctor_add(rep, "os", DOCTOR_WARN,
                   "use Debian 12 (bookworm): images and the guest kernel "
                   "are built from its archives",
                   "%s is not Debian 12, which airlock is made for",
                   name[0] != '\0' ? name : "this system");
    }
}

#define NEED_PREFIX "package:"

struct need {
    const char *id; /* NEED_PREFIX and the package */
    const char *program;
    const char *file;             /* instead of a program */
    int (*load)(struct err *err); /* a library, instead of both */
    const char *what;

    enum {
        ALWAYS,
        FOR_BUILDS,
        FOR_ARCHIVES,
        FOR_TCG
    } when;
};

static int load_squash(struct err *err)
{
    const struct squash_api *api = NULL;

    return squash_api_load(&api, err);
}

static int load_archive(struct err *err)
{
    const struct archive_api *api = NULL;

    return archive_api_load(&api, err);
}

static const struct need needs[] = {
    {.id = NEED_PREFIX "qemu-system-x86",
     .program = "qemu-system-x86_64",
     .what = "runs the machines of engine tcg",
     .when = FOR_TCG},
    {.id = NEED_PREFIX "e2fsprogs", .program = "mke2fs", .what = "makes the scratch disk of a job"},
    {.id = NEED_PREFIX "libsquashfs1", .load = load_squash, .what = "packs the inputs of a job"},
    {.id = NEED_PREFIX "libarchive13",
     .load = load_archive,
     .what = "unpacks --in-archive",
     .when = FOR_ARCHIVES},
    {.id = NEED_PREFIX "mmdebstrap",
     .program = "mmdebstrap",
     .what = "builds images",
     .when = FOR_BUILDS},
    {.id = NEED_PREFIX "squashfs-tools-ng",
     .program = "tar2sqfs",
     .what = "packs images",
     .when = FOR_BUILDS},
    {.id = NEED_PREFIX "dpkg",
     .program = "dpkg-deb",
     .what = "unpacks the guest kernel",
     .when = FOR_BUILDS},
    {.id = NEED_PREFIX "apt",
     .program = "apt-get",
     .what = "downloads and verifies packages",
     .when = FOR_BUILDS},
    {.id = NEED_PREFIX "debian-archive-keyring",
     .file = "/usr/share/keyrings/debian-archive-keyring.gpg",
     .what = "has the keys packages are verified with",
     .when = FOR_BUILDS},
};

static void package_version(const char *package, char ret[DOCTOR_WORD_MAX])
{
    auto_buf struct buf out = BUF_INIT(4096);
    char path[PROC_PATH_MAX];
    struct err err = ERR_INIT;

    (void)snprintf(ret, DOCTOR_WORD_MAX, "not from a Debian package");
    if (proc_find("dpkg-query", "dpkg", path, &err) < 0) {
        return;
    }
    if (proc_run((const char *const[]){path, "-W", "-f=${Version}", package, NULL}, NULL,
                 20 * NS_PER_S, &out, &err) == 0 &&
        out.len > 0) {
        (void)snprintf(ret, DOCTOR_WORD_MAX, "%s", (const char *)out.data);
    }
}

static bool is_ok(const struct doctor_report *rep, const char *id)
{
    for (size_t i = 0; i < rep->n; i++) {
        if (strcmp(rep->checks[i].id, id) == 0) {
            return rep->checks[i].state == DOCTOR_OK;
        }
    }
    return false;
}

/* After the engines: without QEMU jobs still run where KVM works. */
static void look_at_packages(struct doctor_report *rep, bool all_built)
{
    bool kvm_works = is_ok(rep, "kvm");

    for (size_t i = 0; i < ARRAY_LEN(needs); i++) {
        const struct need *need = &needs[i];
        const char *package = need->id + sizeof(NEED_PREFIX) - 1;
        struct err err = ERR_INIT;
        char path[PROC_PATH_MAX];
        char version[DOCTOR_WORD_MAX];
        char fix[160];
        bool spare = (need->when == FOR_BUILDS && all_built) ||
                     (need->when == FOR_TCG && kvm_works) || need->when == FOR_ARCHIVES;
        bool there = need->load != NULL   ? need->load(&err) == 0
                     : need->file != NULL ? access(need->file, R_OK) == 0
                                          : proc_find(need->program, package, path, &err) == 0;

        if (there) {
            package_version(package, version);
            doctor_add(rep, need->id, DOCTOR_OK, NULL, "%s %s %s", package, version, need->what);
            continue;
        }
        (void)snprintf(fix, sizeof(fix), "apt-get install %s", package);
        doctor_add(rep, need->id, spare ? DOCTOR_WARN : DOCTOR_MISSING, fix,
                   "%s is not installed; it %s", package, need->what);
    }
}

static void look_at_memory(struct doctor_report *rep)
{
    auto_buf struct buf text = BUF_INIT(64 * KIB);
    const char *info = doctor_read("/proc/meminfo", &text);
    uint64_t total = doctor_parse_meminfo(info, "MemTotal");
    uint64_t available = doctor_parse_meminfo(info, "MemAvailable");
    uint64_t job = engine_group_bytes(NULL, engine_machine_bytes(256 * MIB));
    unsigned long long at_once = available / job;

    if (total == 0) {
        doctor_add(rep, "memory", DOCTOR_WARN, "mount /proc: mount -t proc proc /proc",
                   "/proc/meminfo can't be read");
        return;
    }
    doctor_add(rep, "memory",
               at_once >= 2   ? DOCTOR_OK
               : at_once == 1 ? DOCTOR_WARN
                              : DOCTOR_MISSING,
               at_once >= 2 ? NULL
                            : "free memory or add some; a job takes its --memory and about "
                              "as much again for its machine",
               "%.1f of %.1f GiB free: room for %llu job%s of the default size at once",
               (double)available / (double)GIB, (double)total / (double)GIB, at_once,
               at_once == 1 ? "" : "s");
}

static void look_at_disk(struct doctor_report *rep, const struct store *store)
{
    struct statvfs fs;
    struct err err = ERR_INIT;
    auto_fd int tmp = -1;
    uint64_t room = 0;

    if (fstatvfs(store->dirfd, &fs) < 0) {
        (void)err_sys(&err, "'%s' can't be examined", store->path);
        doctor_add(rep, "disk", DOCTOR_MISSING, "choose another directory with --state DIR", "%s",
                   err.msg);
        return;
    }
    room = (uint64_t)fs.f_bavail * fs.f_frsize;
    doctor_add(rep, "disk",
               room >= 2 * GIB     ? DOCTOR_OK
               : room >= 512 * MIB ? DOCTOR_WARN
                                   : DOCTOR_MISSING,
               room >= 2 * GIB ? NULL : "make room, or choose another directory with --state DIR",
               "%.1f GiB free for images and jobs in %s", (double)room / (double)GIB, store->path);
    if (fd_open_tmp(store->tmpfd, &tmp, &err) < 0) {
        doctor_add(rep, "unnamed-files", DOCTOR_MISSING,
                   "choose a directory on ext4, xfs, btrfs or tmpfs with --state DIR",
                   "the filesystem of %s has no unnamed files (O_TMPFILE), which jobs are staged "
                   "in: %.200s",
                   store->path, err.msg);
    }
}

/* "" or the controllers enabled for our own v2 group. */
static void v2_controllers(const struct doctor_cgroups *cg, struct buf *buf, char *dir, size_t size)
{
    char path[2 * DOCTOR_PATH_MAX + 32];

    (void)snprintf(dir, size, "%s%s", cg->v2_mount, strcmp(cg->v2_own, "/") == 0 ? "" : cg->v2_own);
    (void)snprintf(path, sizeof(path), "%s/cgroup.controllers", dir);
    (void)doctor_read(path, buf);
    while (buf->len > 0 && buf->data[buf->len - 1] == '\n') {
        buf->data[--buf->len] = '\0';
    }
}

/* One line about a hierarchy that has what airlock wants, if only we may use it. */
static void add_cgroups(struct doctor_report *rep, const char *version, const char *controllers,
                        const char *dir)
{
    bool writable = access(dir, W_OK) == 0;

    doctor_add(rep, "cgroups", writable ? DOCTOR_OK : DOCTOR_WARN,
               writable ? NULL
                        : "run as root, or get a group of your own: systemd-run --user --scope -p "
                          "Delegate=yes airlock ...",
               "%s at %s (controllers: %s), %s", version, dir, controllers,
               writable ? "ours to use" : "but we may not write there");
}

static void look_at_cgroups(struct doctor_report *rep)
{
    auto_buf struct buf mounts = BUF_INIT(4 * MIB);
    auto_buf struct buf own = BUF_INIT(64 * KIB);
    auto_buf struct buf v2 = BUF_INIT(4096);
    const char *mounts_text = doctor_read("/proc/self/mountinfo", &mounts);
    struct doctor_cgroups cg = {0};
    char dir[2 * DOCTOR_PATH_MAX] = "";
    const char *list = "";

    doctor_parse_cgroups(mounts_text, doctor_read("/proc/self/cgroup", &own), &cg);
    if (cg.v2_mount[0] != '\0') {
        v2_controllers(&cg, &v2, dir, sizeof(dir));
        list = v2.len > 0 ? (const char *)v2.data : "";
    }
    if (doctor_has_word(list, "memory") && doctor_has_word(list, "pids")) {
        add_cgroups(rep, "v2", list, dir);
    } else if (cg.v1_memory_mount[0] != '\0') {
        (void)snprintf(dir, sizeof(dir), "%s%s", cg.v1_memory_mount,
                       strcmp(cg.v1_memory_own, "/") == 0 ? "" : cg.v1_memory_own);
        add_cgroups(rep, cg.v2_mount[0] != '\0' ? "v1, with v2 beside it," : "v1",
                    cg.v1_controllers, dir);
    } else {
        doctor_add(rep, "cgroups", DOCTOR_WARN,
                   "mount v2 (mount -t cgroup2 cgroup2 /sys/fs/cgroup), or as a user get a group "
                   "with the controllers: systemd-run --user --scope -p Delegate=yes airlock ...",
                   "no memory controller for us%s%s", dir[0] != '\0' ? " at " : "", dir);
    }
}

/* The errno of unshare(CLONE_NEWUSER) in a child, 0 if it worked. */
static int try_userns(void)
{
    pid_t pid = fork();
    int status = 0;

    if (pid < 0) {
        return errno;
    }
    if (pid == 0) {
        _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : errno & 0xff);
    }
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return errno;
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

static void look_at_userns(struct doctor_report *rep)
{
    int e = try_userns();
    struct err err = ERR_INIT;

    if (e == 0) {
        doctor_add(rep, "user-namespaces", DOCTOR_OK, NULL, "can be created");
        return;
    }
    (void)err_sys_num(&err, e, "can't be created");
    doctor_add(rep, "user-namespaces", DOCTOR_WARN,
               "sysctl user.max_user_namespaces=15000, and where it exists sysctl "
               "kernel.unprivileged_userns_clone=1; in a container its seccomp profile must allow "
               "unshare",
               "%.200s", err.msg);
}

/* Days since name was written below dirfd, or -1 if it is not there. */
static int64_t age_days(int dirfd, const char *name)
{
    struct stat st;

    if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        return -1;
    }
    return st.st_mtime < time(NULL) ? (time(NULL) - st.st_mtime) / SECONDS_PER_DAY : 0;
}

static void add_age(struct doctor_report *rep, const char *id, const char *what, int64_t days,
                    const char *build)
{
    if (days < 0) {
        doctor_add(rep, id, DOCTOR_WARN, build, "%s is not built yet", what);
    } else {
        doctor_add(rep, id, days > OLD_DAYS ? DOCTOR_WARN : DOCTOR_OK,
                   days > OLD_DAYS ? "airlock image outdated tells what is pending, airlock image "
                                     "update brings it"
                                   : NULL,
                   "%s was built %lld day%s ago%s", what, (long long)days, days == 1 ? "" : "s",
                   days > OLD_DAYS ? ", security updates may be missing" : "");
    }
}

static void look_at_images(struct doctor_report *rep, const struct store *store)
{
    add_age(rep, "kernel", "the guest kernel", age_days(store->dirfd, "kernel.json"),
            "nothing to do: the first 'airlock run' builds it (needs the network)");
    add_age(rep, "image:python", "image python", age_days(store->dirfd, "images/python.json"),
            "nothing to do: the first Python job builds it; or airlock image build python");
    add_age(rep, "image:javascript", "image javascript",
            age_days(store->dirfd, "images/javascript.json"),
            "nothing to do: the first JavaScript job builds it; or airlock image build javascript");
}

static void probe_tcg(struct doctor_report *rep, const struct store *store, bool can_boot,
                      bool is_chosen)
{
    const struct engine_wish wish = {.store = store};
    struct engine_probe probe = {.works = false};
    char monitor[DOCTOR_WORD_MAX];
    struct err err = ERR_INIT;

    if (!can_boot || store == NULL) {
        doctor_add(rep, "tcg", DOCTOR_WARN,
                   "run a job (it builds the kernel), then 'airlock doctor' again",
                   "not yet tried: there is no guest kernel yet");
    } else if (engine_probe(&wish, &engine_tcg, &probe, &err) < 0) {
        doctor_add(rep, "tcg", is_chosen ? DOCTOR_MISSING : DOCTOR_WARN,
                   "mend that and run 'airlock doctor' again", "the probe failed: %.400s", err.msg);
    } else if (probe.works) {
        doctor_monitor(&engine_tcg, store, monitor);
        doctor_add(rep, "tcg", DOCTOR_OK, NULL, "works: %s booted a guest to its agent in %.1f s",
                   monitor, (double)probe.ns / (double)NS_PER_S);
    } else {
        doctor_add(rep, "tcg", is_chosen ? DOCTOR_MISSING : DOCTOR_WARN,
                   "apt-get install --reinstall qemu-system-x86 seabios; airlock image verify",
                   "can't run a guest: %.400s", probe.why);
    }
}

static void look_at_engines(struct doctor_report *rep, struct doctor_kvm *kvm,
                            const struct store *store)
{
    const struct engine *engine = &engine_tcg;
    bool can_boot = store != NULL && age_days(store->dirfd, "kernel.json") >= 0;

    doctor_look_at_kvm(rep, kvm, store, can_boot);
    if (is_ok(rep, "kvm")) {
        engine = &engine_kvm; /* what engine_select() takes: the probe just made is remembered */
    }
    probe_tcg(rep, store, can_boot, engine == &engine_tcg);
    rep->engine = engine->name;
    doctor_add(rep, "engine", DOCTOR_OK, NULL, "auto takes %s (isolation %s)%s", engine->name,
               engine->isolation, engine == &engine_tcg ? ": KVM is not usable, see 'kvm'" : "");
}

void doctor_examine(const char *state_dir, struct doctor_report *ret)
{
    auto_store struct store store = STORE_INIT;
    struct doctor_kvm kvm;
    struct err err = ERR_INIT;
    bool opened = false;
    bool built = false;

    memset(ret, 0, sizeof(*ret));
    ret->ready = true;
    opened = store_open(state_dir, &store, &err) == 0;
    built = opened && age_days(store.dirfd, "kernel.json") >= 0 &&
            age_days(store.dirfd, "images/python.json") >= 0 &&
            age_days(store.dirfd, "images/javascript.json") >= 0;
    look_at_os(ret);
    doctor_look_at_cpu(ret, &kvm);
    look_at_engines(ret, &kvm, opened ? &store : NULL);
    look_at_memory(ret);
    if (opened) {
        look_at_disk(ret, &store);
        look_at_images(ret, &store);
    } else {
        doctor_add(ret, "state", DOCTOR_MISSING, "choose another directory with --state DIR",
                   "%.400s", err.msg);
    }
    look_at_cgroups(ret);
    look_at_userns(ret);
    look_at_packages(ret, built);
}
