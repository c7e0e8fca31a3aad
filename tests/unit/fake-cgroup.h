/* fake-cgroup.h - control groups made of plain files: what the kernel would make, by us. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sys/cgroup-internal.h"
#include "sys/fd.h"
#include "test.h"

static inline void put(int dir, const char *path, const char *text)
{
    auto_fd int fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* The files of a new group. */
static inline void made(int dir, bool v2)
{
    static const char *const v1_files[] = {"memory.limit_in_bytes",
                                           "memory.memsw.limit_in_bytes",
                                           "memory.swappiness",
                                           "pids.max",
                                           "cpu.cfs_period_us",
                                           "cpu.cfs_quota_us",
                                           "cpu.shares",
                                           "blkio.bfq.weight",
                                           "blkio.throttle.read_bps_device",
                                           "blkio.throttle.write_bps_device",
                                           "freezer.state"};
    static const char *const v2_files[] = {"cgroup.subtree_control",
                                           "cgroup.kill",
                                           "memory.max",
                                           "memory.swap.max",
                                           "memory.oom.group",
                                           "pids.max",
                                           "cpu.max",
                                           "cpu.weight",
                                           "io.weight",
                                           "io.max"};

    for (size_t i = 0; v2 && i < ARRAY_LEN(v2_files); i++) {
        put(dir, v2_files[i], "");
    }
    for (size_t i = 0; !v2 && i < ARRAY_LEN(v1_files); i++) {
        put(dir, v1_files[i], "");
    }
    put(dir, "cgroup.procs", "");
    put(dir, "cgroup.events", "populated 0\nfrozen 0\n");
    put(dir, "cpu.stat", "usage_usec 1500\nuser_usec 1000\n");
    put(dir, "cpuacct.usage", "1234567\n");
    put(dir, "memory.current", "4096\n");
    put(dir, "memory.peak", "8192\n");
    put(dir, "memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 1\n");
    put(dir, "memory.usage_in_bytes", "4097\n");
    put(dir, "memory.max_usage_in_bytes", "8193\n");
    put(dir, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
    put(dir, "pids.events", "max 7\n");
}

/* Before a group is removed: the kernel does not count its files. */
static inline void gone(int dir)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fdopendir(copy);
    const struct dirent *e = NULL;

    assert_non_null(list);
    while ((e = readdir(list)) != NULL) { /* NOLINT(concurrency-mt-unsafe) */
        (void)unlinkat(dir, e->d_name, 0);
    }
    (void)closedir(list);
}

static const struct cgroup_fake fake = {.made = made, .gone = gone};
