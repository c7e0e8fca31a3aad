#include "sup/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/num.h"

#include "sys/fd.h"

#define MOUNTINFO_MAX (16 * MIB)
#define CHILDREN_MAX  (64 * KIB)

static struct result_check passed(const char *name)
{
    return (struct result_check){.name = name, .ok = true};
}

static struct result_check failed(const char *name, const char *fmt, ...) printf_like(2, 3);

static struct result_check failed(const char *name, const char *fmt, ...)
{
    struct result_check check = {.name = name};
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(check.detail, sizeof(check.detail), fmt, ap);
    va_end(ap);
    return check;
}

static struct result_check failed_by(const char *name, const struct err *err)
{
    return failed(name, "%.*s", RESULT_DETAIL_SIZE - 1, err->msg);
}

/* The first pid of a list of numbers, each followed by a blank, that is not except; 0 if none is. */
static uint64_t other_pid(char *list, pid_t except)
{
    for (char *at = list; *at != '\0';) {
        size_t len = strcspn(at, " ");
        uint64_t pid = 0;
        bool last = at[len] == '\0';

        at[len] = '\0';
        if (len > 0 && (num_parse_u64(at, &pid) < 0 || pid != (uint64_t)except)) {
            return pid != 0 ? pid : UINT64_MAX;
        }
        at += len + !last;
    }
    return 0;
}

struct result_check cleanup_no_processes(pid_t except)
{
    static const char name[] = "no_processes_left";
    auto_buf struct buf list = BUF_INIT(CHILDREN_MAX);
    auto_fd int fd = -1;
    struct err err = ERR_INIT;
    siginfo_t info = {0};
    uint64_t pid = 0;

    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD) {
        return passed(name);
    }
    if (fd_open(AT_FDCWD, "/proc/thread-self/children", O_RDONLY, 0, &fd, &err) < 0 ||
        fd_read_all(fd, "/proc/thread-self/children", &list, &err) < 0) {
        return failed_by(name, &err);
    }
    if (buf_put(&list, "", 1) < 0) {
        return failed(name, "out of memory for the list of children");
    }
    pid = other_pid((char *)list.data, except);
    return pid == 0 ? passed(name)
                    : failed(name, "process %llu is still a child", (unsigned long long)pid);
}

struct result_check cleanup_no_group(const struct cgroup_host *host, const char *name)
{
    static const char check[] = "control_group_gone";
    auto_cgroup struct cgroup group = CGROUP_INIT;
    struct err err = ERR_INIT;
    bool populated = true;
    int r = name[0] != '\0' ? cgroup_open(host, name, &group, &err) : -ENOENT;

    if (r == -ENOENT) {
        return passed(check);
    }
    if (r == 0) {
        r = cgroup_populated(&group, &populated, &err);
    }
    if (r < 0) {
        return failed_by(check, &err);
    }
    return failed(check, "'%.100s' still stands, %s", name,
                  populated ? "with processes in it" : "empty");
}

/* The fifth field of a line of mountinfo, cut out of the line; NULL if there is none. */
static char *mount_point(char *line)
{
    char *end = NULL;

    for (int field = 1; line != NULL && field < 5; field++) {
        line = strchr(line, ' ');
        line = line != NULL ? line + 1 : NULL;
    }
    end = line != NULL ? strchr(line, ' ') : NULL;
    if (end != NULL) {
        *end = '\0';
    }
    return end != NULL ? line : NULL;
}

int cleanup_count_mounts(const char *state_path, unsigned int *ret, struct err *err)
{
    auto_buf struct buf text = BUF_INIT(MOUNTINFO_MAX);
    auto_free char *real = realpath(state_path, NULL);
    auto_fd int fd = -1;
    size_t len = real != NULL ? strlen(real) : 0;
    unsigned int n = 0;
    int r = 0;

    if (real == NULL) {
        return err_sys(err, "find '%s'", state_path);
    }
    r = fd_open(AT_FDCWD, "/proc/self/mountinfo", O_RDONLY, 0, &fd, err);
    if (r == 0) {
        r = fd_read_all(fd, "/proc/self/mountinfo", &text, err);
    }
    if (r == 0 && buf_put(&text, "", 1) < 0) {
        r = err_set(err, ERR_HOST, ENOMEM, "out of memory for /proc/self/mountinfo");
    }
    for (char *line = r == 0 ? (char *)text.data : NULL; line != NULL && *line != '\0';) {
        char *next = strchr(line, '\n');
        const char *at = NULL;

        if (next != NULL) {
            *next++ = '\0';
        }
        at = mount_point(line);
        n += at != NULL && (strcmp(at, "/") == 0 ||
                            (strncmp(at, real, len) == 0 && (at[len] == '/' || at[len] == '\0')));
        line = next;
    }
    if (r == 0) {
        *ret = n;
    }
    return r;
}

struct result_check cleanup_no_mounts(const char *state_path, unsigned int before)
{
    static const char name[] = "no_mounts_left";
    struct err err = ERR_INIT;
    unsigned int now = 0;

    if (cleanup_count_mounts(state_path, &now, &err) < 0) {
        return failed_by(name, &err);
    }
    return now <= before
               ? passed(name)
               : failed(name, "%u mounts at '/' or in the state directory, %u before", now, before);
}

struct result_check cleanup_no_names(const int *fds, size_t n)
{
    static const char name[] = "files_unnamed";
    struct err err = ERR_INIT;

    for (size_t i = 0; i < n; i++) {
        struct stat st = {0};

        if (fds[i] < 0) {
            continue;
        }
        if (fstat(fds[i], &st) < 0) {
            (void)err_sys(&err, "look at a file of the job");
            return failed_by(name, &err);
        }
        if (st.st_nlink != 0) {
            return failed(name, "inode %llu of the job has %llu names",
                          (unsigned long long)st.st_ino, (unsigned long long)st.st_nlink);
        }
    }
    return passed(name);
}

static void dir_close_p(DIR **d)
{
    if (*d != NULL) {
        (void)closedir(*d);
    }
}

static bool is_kept(int fd, const int *keep, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (keep[i] == fd) {
            return true;
        }
    }
    return false;
}

static ssize_t link_of(int fd, char ret[PATH_MAX])
{
    char path[40];
    ssize_t n = 0;

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    n = readlink(path, ret, PATH_MAX - 1);
    ret[n > 0 ? n : 0] = '\0';
    return n;
}

/* What of a job the link of a descriptor is, or NULL. tmp_len: of the path of STATE/tmp. */
static const char *job_file(const char *link, const char *tmp, size_t tmp_len)
{
    if (strncmp(link, "socket:", 7) == 0) {
        return "a socket";
    }
    if (strncmp(link, "/memfd:", 7) == 0) {
        return "a memory file";
    }
    return strncmp(link, tmp, tmp_len) == 0 && link[tmp_len] == '/' ? "a temporary file" : NULL;
}

struct result_check cleanup_no_descriptors(const int *keep, size_t n, int tmp_dirfd)
{
    static const char name[] = "descriptors_closed";
    __attribute__((cleanup(dir_close_p))) DIR *list = opendir("/proc/self/fd");
    const struct dirent *entry = NULL;
    struct err err = ERR_INIT;
    char tmp[PATH_MAX];
    ssize_t tmp_len = link_of(tmp_dirfd, tmp);

    if (list == NULL || tmp_len <= 0) {
        (void)err_sys(&err, "list the descriptors");
        return failed_by(name, &err);
    }
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): own DIR */
    while ((entry = readdir(list)) != NULL) {
        char link[PATH_MAX];
        const char *what = NULL;
        uint64_t fd = 0;

        if (num_parse_u64(entry->d_name, &fd) < 0 || fd > INT32_MAX || is_kept((int)fd, keep, n) ||
            link_of((int)fd, link) <= 0) {
            continue;
        }
        what = job_file(link, tmp, (size_t)tmp_len);
        if (what != NULL) {
            return failed(name, "descriptor %d is still %s", (int)fd, what);
        }
    }
    return passed(name);
}

struct result_check cleanup_no_staging(const char *out_dir, const char *machine_id)
{
    static const char name[] = "no_staging_left";
    auto_fd int dir = -1;
    struct err err = ERR_INIT;
    struct stat st = {0};
    char path[80];

    if (out_dir == NULL) {
        return passed(name);
    }
    if (fd_open(AT_FDCWD, out_dir, O_PATH | O_DIRECTORY, 0, &dir, &err) < 0) {
        return err.errnum == ENOENT ? passed(name) : failed_by(name, &err);
    }
    (void)snprintf(path, sizeof(path), ".airlock-%.64s", machine_id);
    if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        return failed(name, "'%s' is still in the directory of --out", path);
    }
    return errno == ENOENT ? passed(name)
                           : failed(name, "'%s' can't be looked for: errno %d", path, errno);
}

struct result_check cleanup_slot_released(int slot_fd, unsigned int number)
{
    static const char name[] = "slot_released";
    struct err err = ERR_INIT;
    struct stat st = {0};

    if (slot_fd >= 0 && fstat(slot_fd, &st) < 0) {
        (void)err_sys(&err, "look at slot %u", number);
        return failed_by(name, &err);
    }
    return slot_fd < 0 || st.st_nlink == 0 || st.st_size == 0
               ? passed(name)
               : failed(name, "slot %u stays out of use", number);
}
