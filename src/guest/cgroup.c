#include "guest/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"

#include "guest/file.h"
#include "guest/paths.h"

/*
 * What every job needs is opened at boot: a path is much code to run for the first time while a job
 * waits.
 */
enum kept {
    MEMORY_MAX,
    MEMORY_PEAK,
    MEMORY_EVENTS,
    PIDS_MAX,
    PIDS_CURRENT,
    PIDS_EVENTS,
    PIDS_PEAK,
    CPU_STAT,
};

static struct {
    const char *path;
    int flags;
    bool optional; /* not every 6.1 has it */
    int fd;
} kept[] = {
    [MEMORY_MAX] = {PATH_JOB_CGROUP "/memory.max", O_WRONLY, false, -1},
    [MEMORY_PEAK] = {PATH_JOB_CGROUP "/memory.peak", O_RDONLY, false, -1},
    [MEMORY_EVENTS] = {PATH_JOB_CGROUP "/memory.events", O_RDONLY, false, -1},
    [PIDS_MAX] = {PATH_JOB_CGROUP "/pids.max", O_WRONLY, false, -1},
    [PIDS_CURRENT] = {PATH_JOB_CGROUP "/pids.current", O_RDONLY, false, -1},
    [PIDS_EVENTS] = {PATH_JOB_CGROUP "/pids.events", O_RDONLY, false, -1},
    [PIDS_PEAK] = {PATH_JOB_CGROUP "/pids.peak", O_RDONLY, true, -1},
    [CPU_STAT] = {PATH_JOB_CGROUP "/cpu.stat", O_RDONLY, false, -1},
};

static int open_kept(struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        kept[i].fd = open(kept[i].path, kept[i].flags | O_CLOEXEC);
        if (kept[i].fd < 0 && !(kept[i].optional && errno == ENOENT)) {
            return err_sys(err, "open '%s'", kept[i].path);
        }
    }
    return 0;
}

static int read_kept(enum kept which, char *ret, size_t size, struct err *err)
{
    return file_read_fd(kept[which].fd, kept[which].path, ret, size, err);
}

static int write_kept(enum kept which, uint64_t v, struct err *err)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRIu64, v);
    return file_write_fd(kept[which].fd, kept[which].path, text, err);
}

int cgroup_boot(struct err *err)
{
    int r = 0;

    if (mount("cgroup2", PATH_CGROUP, "cgroup2", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0) {
        return err_sys(err, "mount cgroup2");
    }
    r = file_write(AT_FDCWD, PATH_CGROUP "/cgroup.subtree_control", "+memory +pids", err);
    if (r < 0) {
        return r;
    }
    if (mkdir(PATH_JOB_CGROUP, 0755) < 0) {
        return err_sys(err, "mkdir '%s'", PATH_JOB_CGROUP);
    }
    return open_kept(err);
}

int cgroup_limit(uint64_t memory_bytes, uint64_t pids, struct err *err)
{
    int r = write_kept(MEMORY_MAX, memory_bytes, err);

    return r < 0 ? r : write_kept(PIDS_MAX, pids, err);
}

int cgroup_unevictable(uint64_t *ret, struct err *err)
{
    char text[8192];
    int r = file_read(AT_FDCWD, PATH_JOB_CGROUP "/memory.stat", text, sizeof(text), err);

    if (r < 0) {
        return r;
    }
    *ret = file_key_u64(text, "anon") + file_key_u64(text, "shmem");
    return 0;
}

int cgroup_squeeze(uint64_t bytes, uint64_t limit, struct err *err)
{
    uint64_t below = bytes > MIB ? bytes - MIB : 0;
    int r = write_kept(MEMORY_MAX, below, err);

    return r < 0 ? r : write_kept(MEMORY_MAX, limit, err);
}

int cgroup_tasks(uint64_t *ret, struct err *err)
{
    char text[32];
    int r = read_kept(PIDS_CURRENT, text, sizeof(text), err);

    if (r == 0 && num_parse_u64(text, ret) < 0) {
        r = err_sys_num(err, EPROTO, "pids.current says '%s'", text);
    }
    return r;
}

int cgroup_kill(struct err *err)
{
    return file_write(AT_FDCWD, PATH_JOB_CGROUP "/cgroup.kill", "1", err);
}

int cgroup_populated(bool *ret, struct err *err)
{
    char text[256];
    int r = file_read(AT_FDCWD, PATH_JOB_CGROUP "/cgroup.events", text, sizeof(text), err);

    if (r < 0) {
        return r;
    }
    if (strstr(text, "populated ") == NULL) {
        return err_sys_num(err, EPROTO, "cgroup.events says '%s'", text);
    }
    *ret = file_key_u64(text, "populated") != 0;
    return 0;
}

static uint32_t narrow(uint64_t v)
{
    return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

int cgroup_cpu_usec(uint64_t *ret, struct err *err)
{
    char text[4096];
    int r = read_kept(CPU_STAT, text, sizeof(text), err);

    if (r < 0) {
        return r;
    }
    *ret = file_key_u64(text, "usage_usec");
    return 0;
}

int cgroup_count(struct msg_exit *ret, struct err *err)
{
    char text[4096];
    int r = read_kept(MEMORY_PEAK, text, sizeof(text), err);

    if (r < 0) {
        return r;
    }
    ret->memory_peak_bytes = strtoull(text, NULL, 10);
    r = read_kept(MEMORY_EVENTS, text, sizeof(text), err);
    if (r < 0) {
        return r;
    }
    ret->oom_kills = narrow(file_key_u64(text, "oom_kill"));
    r = cgroup_cpu_usec(&ret->cpu_usec, err);
    if (r < 0) {
        return r;
    }
    r = read_kept(PIDS_EVENTS, text, sizeof(text), err);
    if (r < 0) {
        return r;
    }
    ret->pids_refused = narrow(file_key_u64(text, "max"));
    ret->pids_peak = 0; /* "not told" */
    if (kept[PIDS_PEAK].fd >= 0) {
        r = read_kept(PIDS_PEAK, text, sizeof(text), err);
        if (r < 0) {
            return r;
        }
        ret->pids_peak = narrow(strtoull(text, NULL, 10));
    }
    return 0;
}
