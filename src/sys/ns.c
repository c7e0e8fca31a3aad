#include "sys/ns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/fd.h"

#define NS_TARGET_MAX 256

pid_t ns_clone(uint64_t flags, int cgroup_fd, int *ret_pidfd)
{
    int pidfd = -1;
    struct clone_args args = {
        .flags = flags | CLONE_PIDFD | (cgroup_fd >= 0 ? CLONE_INTO_CGROUP : 0),
        .pidfd = (uint64_t)(uintptr_t)&pidfd,
        .exit_signal = SIGCHLD,
        .cgroup = cgroup_fd >= 0 ? (uint64_t)cgroup_fd : 0,
    };
    long pid = syscall(SYS_clone3, &args, sizeof(args));

    if (pid < 0) {
        return -errno;
    }
    if (pid > 0) {
        *ret_pidfd = pidfd;
    }
    return (pid_t)pid;
}

static int write_proc(pid_t pid, const char *name, const char *text, struct err *err)
{
    auto_fd int fd = -1;
    char path[64];
    int r = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    r = fd_open(AT_FDCWD, path, O_WRONLY, 0, &fd, err);
    if (r < 0) {
        return r;
    }
    if (write(fd, text, strlen(text)) < 0) {
        return err_sys(err, "write '%s'", path);
    }
    return 0;
}

int ns_write_maps(pid_t pid, uid_t uid, gid_t gid, struct err *err)
{
    char map[64];
    int r = write_proc(pid, "setgroups", "deny", err);

    if (r == 0) {
        (void)snprintf(map, sizeof(map), "%u %u 1\n", uid, uid);
        r = write_proc(pid, "uid_map", map, err);
    }
    if (r == 0) {
        (void)snprintf(map, sizeof(map), "%u %u 1\n", gid, gid);
        r = write_proc(pid, "gid_map", map, err);
    }
    return r;
}

int ns_make_private(void)
{
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? -errno : 0;
}

int ns_tmpfs(unsigned inodes, int *ret_fd)
{
    auto_fd int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
    char text[16];
    int fd = -1;

    if (fs < 0) {
        return -errno;
    }
    (void)snprintf(text, sizeof(text), "%u", inodes);
    if (fsconfig(fs, FSCONFIG_SET_STRING, "source", "airlock", 0) < 0 ||
        fsconfig(fs, FSCONFIG_SET_STRING, "size", "4k", 0) < 0 ||
        fsconfig(fs, FSCONFIG_SET_STRING, "nr_inodes", text, 0) < 0 ||
        fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0555", 0) < 0 ||
        fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0) {
        return -errno;
    }
    fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
    if (fd < 0) {
        return -errno;
    }
    *ret_fd = fd;
    return 0;
}

int ns_cover_root(int tree_fd)
{
    return move_mount(tree_fd, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno : 0;
}

int ns_bind_open(const char *path, uint64_t attr, int *ret_fd)
{
    struct mount_attr set = {.attr_set = attr};
    auto_fd int fd = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

    if (fd < 0 || mount_setattr(fd, "", AT_EMPTY_PATH, &set, sizeof(set)) < 0) {
        return -errno;
    }
    *ret_fd = STEAL_FD(&fd);
    return 0;
}

static int make_file(int root_fd, const char *path)
{
    int fd = openat(root_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);

    return fd < 0 ? -errno : fd;
}

static int make_parents(int root_fd, char *path)
{
    for (char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        int r = 0;

        *slash = '\0';
        r = mkdirat(root_fd, path, 0555) < 0 && errno != EEXIST ? -errno : 0;
        *slash = '/';
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

int ns_bind_place(int tree_fd, int root_fd, const char *target)
{
    char path[NS_TARGET_MAX];
    size_t len = 0;
    int fd = -1;

    target += strspn(target, "/");
    len = strlen(target);
    if (len == 0 || len >= sizeof(path)) {
        return -ENAMETOOLONG;
    }
    memcpy(path, target, len + 1);
    fd = make_file(root_fd, path);
    if (fd == -ENOENT) {
        int r = make_parents(root_fd, path);

        fd = r < 0 ? r : make_file(root_fd, path);
    }
    if (fd < 0) {
        return fd;
    }
    (void)close(fd);
    return move_mount(tree_fd, "", root_fd, path, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno : 0;
}

int ns_pivot(int root_fd)
{
    /* The old root lands on top of the new one (pivot_root(2), "pivot_root(".", ".")"). */
    if (fchdir(root_fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
        umount2(".", MNT_DETACH) < 0 || chdir("/") < 0) {
        return -errno;
    }
    return 0;
}

int ns_root_attr(uint64_t attr)
{
    struct mount_attr set = {.attr_set = attr};

    return mount_setattr(AT_FDCWD, "/", 0, &set, sizeof(set)) < 0 ? -errno : 0;
}
