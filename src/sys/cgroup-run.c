/*
 * A machine's group while it runs and when it ends: numbers, killing, removing.
 *
 * How killing works: new forks are refused first (pids.max 0), then each round writes cgroup.kill,
 * which takes forks in flight along, and goes through the lists of the hierarchies without it.  A
 * pid out of a list is signalled by a pidfd that was opened before a second reading of the same
 * list: only if it still stands there does the pidfd mean a member (a process that took the number
 * in between is not in the list; one that took it within the group leaves a pidfd of a dead
 * process).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"

#include "sys/cgroup-internal.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define SWEEP_MAX       256 /* processes a round; the next round takes the rest */
#define LIST_TEXT_SIZE  8192
#define WAIT_FIRST_NS   (NS_PER_MS / 2)
#define WAIT_MOST_NS    (10 * NS_PER_MS)
#define STATS_TEXT_SIZE 4096

/* Digits at the start of text, to their end. */
static uint64_t leading_number(const char *text)
{
    char digits[24];
    size_t n = strspn(text, "0123456789");
    uint64_t v = CGROUP_UNKNOWN;

    if (n == 0 || n >= sizeof(digits)) {
        return CGROUP_UNKNOWN;
    }
    memcpy(digits, text, n);
    digits[n] = '\0';
    return num_parse_u64(digits, &v) == 0 ? v : CGROUP_UNKNOWN;
}

uint64_t cgroup_keyed(const char *text, const char *key)
{
    size_t n = strlen(key);

    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, key, n) == 0 && line[n] == ' ') {
            return leading_number(line + n + 1);
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return CGROUP_UNKNOWN;
}

/*
 * A number out of a file of the group: behind key, or the whole file if key is "". A kernel without
 * the file gives CGROUP_UNKNOWN; a file without the number is an error.
 */
static int read_number(const struct cgroup *group, enum cgroup_part part, const char *file,
                       const char *key, uint64_t *ret, struct err *err)
{
    int where = group->where[part];
    char text[STATS_TEXT_SIZE];
    int r = 0;

    *ret = CGROUP_UNKNOWN;
    if (where < 0) {
        return 0;
    }
    r = cgroup_read(group->members[where].dir_fd, file, text, sizeof(text));
    if (r == -ENOENT || r == -EOPNOTSUPP) {
        return 0;
    }
    if (r < 0) {
        return err_sys_num(err, -r, "read %s of the control group '%s'", file, group->name);
    }
    *ret = key[0] == '\0' ? leading_number(text) : cgroup_keyed(text, key);
    if (*ret == CGROUP_UNKNOWN) {
        return err_set(err, ERR_HOST, ENODATA, "%s of the control group '%s' has no number%s%s",
                       file, group->name, key[0] != '\0' ? " behind " : "", key);
    }
    return 0;
}

int cgroup_cpu_ns(const struct cgroup *group, uint64_t *ret, struct err *err)
{
    int where = group->where[CGROUP_CPUTIME];
    char text[STATS_TEXT_SIZE];
    size_t n = 0;
    uint64_t v = 0;
    int r = 0;

    *ret = CGROUP_UNKNOWN;
    if (where < 0 || group->cpu_fd < 0) {
        return 0;
    }
    r = fd_pread_full(group->cpu_fd, text, sizeof(text) - 1, 0, &n, err);
    if (r < 0) {
        return err_wrap(err, "CPU time of the control group '%s'", group->name);
    }
    text[n] = '\0';
    /* v2's cpu.stat is in microseconds and counts without the cpu controller; v1's in ns */
    v = group->members[where].v2 ? cgroup_keyed(text, "usage_usec") : leading_number(text);
    if (v == CGROUP_UNKNOWN ||
        (group->members[where].v2 && __builtin_mul_overflow(v, (uint64_t)1000, &v))) {
        return err_set(err, ERR_HOST, ENODATA, "the control group '%s' gives no CPU time",
                       group->name);
    }
    *ret = v;
    return 0;
}

int cgroup_stats(const struct cgroup *group, struct cgroup_stats *ret, struct err *err)
{
    int where = group->where[CGROUP_MEMORY];
    bool v2 = where >= 0 && group->members[where].v2;
    struct cgroup_stats s = {0};
    int r = cgroup_cpu_ns(group, &s.cpu_ns, err);

    if (r == 0) {
        r = read_number(group, CGROUP_MEMORY, v2 ? "memory.current" : "memory.usage_in_bytes", "",
                        &s.memory_bytes, err);
    }
    if (r == 0) { /* memory.peak: Linux 5.19 */
        r = read_number(group, CGROUP_MEMORY, v2 ? "memory.peak" : "memory.max_usage_in_bytes", "",
                        &s.memory_peak_bytes, err);
    }
    if (r == 0) { /* v1's counts since Linux 4.13 */
        r = read_number(group, CGROUP_MEMORY, v2 ? "memory.events" : "memory.oom_control",
                        "oom_kill", &s.oom_kills, err);
    }
    if (r == 0) {
        r = read_number(group, CGROUP_PIDS, "pids.peak", "", &s.pids_peak, err);
    }
    if (r == 0) {
        r = read_number(group, CGROUP_PIDS, "pids.events", "max", &s.pids_refused, err);
    }
    if (r == 0) {
        *ret = s;
    }
    return r;
}

static int member_populated(const struct cgroup_member *m, bool *ret)
{
    char text[512];
    int r = 0;

    *ret = false;
    if (m->dir_fd < 0) {
        return 0;
    }
    r = cgroup_read(m->dir_fd, m->v2 ? "cgroup.events" : "cgroup.procs", text, sizeof(text));
    if (r == -EFBIG) { /* a long list */
        *ret = true;
        return 0;
    }
    if (r == -ENODEV || r == -ENOENT) { /* the group was removed */
        return 0;
    }
    if (r == 0) {
        *ret = m->v2 ? cgroup_keyed(text, "populated") != 0 : text[0] != '\0';
    }
    return r;
}

int cgroup_populated(const struct cgroup *group, bool *ret, struct err *err)
{
    for (size_t i = 0; i < group->n_members; i++) {
        bool populated = false;
        int r = member_populated(&group->members[i], &populated);

        if (r < 0) {
            return err_sys_num(err, -r, "look for processes in the control group '%s'",
                               group->name);
        }
        if (populated) {
            *ret = true;
            return 0;
        }
    }
    *ret = false;
    return 0;
}

struct pids {
    pid_t pid[SWEEP_MAX];
    size_t n;
};

/* The first SWEEP_MAX processes of a group; 0 means one outside of our pid namespace. */
static void list_pids(int dir, struct pids *ret)
{
    char text[LIST_TEXT_SIZE];
    const char *at = text;
    auto_fd int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    ssize_t got = 0;

    ret->n = 0;
    if (fd < 0) {
        return;
    }
    got = read(fd, text, sizeof(text) - 1);
    text[got > 0 ? got : 0] = '\0';
    while (ret->n < SWEEP_MAX) {
        const char *end = strchr(at, '\n');
        uint64_t pid = 0;

        if (end == NULL) { /* a number that was cut is for the next round */
            return;
        }
        pid = leading_number(at);
        if (pid > 0 && pid <= INT32_MAX) {
            ret->pid[ret->n++] = (pid_t)pid;
        }
        at = end + 1;
    }
}

static bool has_pid(const struct pids *pids, pid_t pid)
{
    for (size_t i = 0; i < pids->n; i++) {
        if (pids->pid[i] == pid) {
            return true;
        }
    }
    return false;
}

static void sweep(int dir)
{
    struct pids before;
    struct pids after;
    int fds[SWEEP_MAX];

    list_pids(dir, &before);
    for (size_t i = 0; i < before.n; i++) {
        fds[i] = pidfd_open(before.pid[i], 0);
    }
    list_pids(dir, &after);
    for (size_t i = 0; i < before.n; i++) {
        if (fds[i] >= 0 && has_pid(&after, before.pid[i])) {
            (void)pidfd_send_signal(fds[i], SIGKILL, NULL, 0);
        }
        fd_close_p(&fds[i]);
    }
}

/* freezer-subsystem.rst: a frozen v1 process dies only when thawed. */
static void kill_round(const struct cgroup *group)
{
    int where = group->where[CGROUP_KILL];
    int freezer = -1;

    if (where >= 0 && !group->members[where].v2) {
        freezer = group->members[where].dir_fd;
        (void)cgroup_write(freezer, "freezer.state", "FROZEN");
    }
    for (size_t i = 0; i < group->n_members; i++) {
        const struct cgroup_member *m = &group->members[i];

        if (m->dir_fd >= 0 && !(m->v2 && cgroup_write(m->dir_fd, "cgroup.kill", "1") == 0)) {
            sweep(m->dir_fd);
        }
    }
    if (freezer >= 0) {
        (void)cgroup_write(freezer, "freezer.state", "THAWED");
    }
}

static void wait_a_little(uint64_t *wait_ns)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = (long)*wait_ns}, NULL);
    *wait_ns = *wait_ns * 2 < WAIT_MOST_NS ? *wait_ns * 2 : WAIT_MOST_NS;
}

int cgroup_kill(struct cgroup *group, uint64_t timeout_ns, struct err *err)
{
    uint64_t deadline = clock_mono_ns() + timeout_ns;
    uint64_t wait_ns = WAIT_FIRST_NS;
    int pids = group->where[CGROUP_PIDS];
    bool populated = false;

    if (pids >= 0 && group->members[pids].dir_fd >= 0) {
        (void)cgroup_write(group->members[pids].dir_fd, "pids.max", "0");
    }
    for (;;) {
        int r = 0;

        kill_round(group);
        r = cgroup_populated(group, &populated, err);
        if (r < 0) {
            return r;
        }
        if (!populated) {
            return 0;
        }
        if (clock_mono_ns() >= deadline) {
            return err_set(err, ERR_HOST, ETIMEDOUT,
                           "processes of the control group '%s' still live after SIGKILL (waiting "
                           "in the kernel?)",
                           group->name);
        }
        wait_a_little(&wait_ns);
    }
}

/* 0 once the directory is gone, checked. -errno, -EBUSY while something is in it. */
static int remove_member(const struct cgroup *group, struct cgroup_member *m)
{
    if (group->fake != NULL) {
        group->fake->gone(m->dir_fd);
    }
    if (unlinkat(m->parent_fd, group->name, AT_REMOVEDIR) < 0 && errno != ENOENT) {
        return -errno;
    }
    if (faccessat(m->parent_fd, group->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        return -EEXIST;
    }
    if (errno != ENOENT) {
        return -errno;
    }
    /* Best effort: the last machine takes `airlock` along, another one's makes this fail. */
    (void)unlinkat(m->base_fd, CGROUP_GROUP, AT_REMOVEDIR);
    fd_close_p(&m->procs_fd);
    fd_close_p(&m->dir_fd);
    fd_close_p(&m->parent_fd);
    fd_close_p(&m->base_fd);
    return 0;
}

/*
 * One go at what is left. Nothing goes while a process lives in any hierarchy: a process between
 * clone and cgroup_enter() would find a half of the group gone.
 */
static int remove_once(struct cgroup *group, const char **ret_where)
{
    *ret_where = "v1";
    for (size_t i = 0; i < group->n_members; i++) {
        bool populated = false;
        int r = member_populated(&group->members[i], &populated);

        if (r < 0 || populated) {
            *ret_where = group->members[i].v2 ? "v2" : "v1";
            return r < 0 ? r : -EBUSY;
        }
    }
    for (size_t i = 0; i < group->n_members; i++) {
        struct cgroup_member *m = &group->members[i];
        int r = m->dir_fd >= 0 ? remove_member(group, m) : 0;

        if (r < 0) {
            *ret_where = m->v2 ? "v2" : "v1";
            return r;
        }
    }
    return 0;
}

int cgroup_remove(struct cgroup *group, uint64_t timeout_ns, struct err *err)
{
    uint64_t deadline = clock_mono_ns() + timeout_ns;
    uint64_t wait_ns = WAIT_FIRST_NS;
    const char *where = "";

    for (;;) {
        int r = remove_once(group, &where);

        if (r == 0) {
            fd_close_p(&group->cpu_fd);
            return 0;
        }
        if (r != -EBUSY || clock_mono_ns() >= deadline) {
            return err_sys_num(err, -r, "remove the control group '%s' (%s)", group->name, where);
        }
        wait_a_little(&wait_ns);
    }
}
