#include "guest/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"

#include "guest/file.h"
#include "guest/paths.h"

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
    return 0;
}

static int write_u64(const char *path, uint64_t v, struct err *err)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRIu64, v);
    return file_write(AT_FDCWD, path, text, err);
}

int cgroup_limit(uint64_t memory_bytes, uint64_t pids, struct err *err)
{
    int r = write_u64(PATH_JOB_CGROUP "/memory.max", memory_bytes, err);

    return r < 0 ? r : write_u64(PATH_JOB_CGROUP "/pids.max", pids, err);
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
    int r = write_u64(PATH_JOB_CGROUP "/memory.max", below, err);

    return r < 0 ? r : write_u64(PATH_JOB_CGROUP "/memory.max", limit, err);
}

int cgroup_tasks(uint64_t *ret, struct err *err)
{
    char text[32];
    int r = file_read(AT_FDCWD, PATH_JOB_CGROUP "/pids.current", text, sizeof(text), err);

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
    int r = file_read(AT_FDCWD, PATH_JOB_CGROUP "/cpu.stat", text, sizeof(text), err);

    if (r < 0) {
        return r;
    }
    *ret = file_key_u64(text, "usage_usec");
    return 0;
}

int cgroup_count(struct msg_exit *ret, struct err *err)
{
    char text[4096];
    int r = file_read(AT_FDCWD, PATH_JOB_CGROUP "/memory.peak", text, sizeof(text), err);

    if (r < 0) {
        return r;
    }
    ret->memory_peak_bytes = strtoull(text, NULL, 10);
    r = file_read(AT_FDCWD, PATH_JOB_CGROUP "/memory.events", text, sizeof(text), err);
    if (r < 0) {
        return r;
    }
    ret->oom_kills = narrow(file_key_u64(text, "oom_kill"));
    r = cgroup_cpu_usec(&ret->cpu_usec, err);
    if (r < 0) {
        return r;
    }
    r = file_read(AT_FDCWD, PATH_JOB_CGROUP "/pids.events", text, sizeof(text), err);
    if (r < 0) {
        return r;
    }
    ret->pids_refused = narrow(file_key_u64(text, "max"));
    /* Not every 6.1 has pids.peak; 0 says "not told". */
    ret->pids_peak = 0;
    if (access(PATH_JOB_CGROUP "/pids.peak", F_OK) == 0) {
        r = file_read(AT_FDCWD, PATH_JOB_CGROUP "/pids.peak", text, sizeof(text), err);
        if (r < 0) {
            return r;
        }
        ret->pids_peak = narrow(strtoull(text, NULL, 10));
    }
    return 0;
}
