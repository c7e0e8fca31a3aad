/* host.h - what the supervisor reads of the host it runs on. */
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "base/err.h"

/* A reading of the time stamp counter beside the monotonic clock. */
struct host_tsc {
    uint64_t ticks, ns;
};
struct host_tsc host_tsc_now(void);

/*
 * The counter's frequency in kHz, from a reading at least 10 ms old: the first one of this boot that
 * is remembered below memo_dirfd (sys/memo.h; -1: nothing is), else `since`, and it sleeps for the
 * rest if that is younger. A counter that was set back since is measured anew. Guests need it told:
 * calibrating against an emulated timer fails at random.
 */
uint64_t host_tsc_khz(int memo_dirfd, struct host_tsc since);

/* MemAvailable in bytes; ERR_HOST if the kernel does not say. */
must_use int host_memory_available(uint64_t *ret_bytes, struct err *err) nonnull_all;

/* Peak resident bytes of a process not yet reaped (VmHWM), 0 if unknown. */
uint64_t host_process_peak_rss(pid_t pid);

/*
 * Resident and swapped bytes of a process, pages shared with others included. ERR_HOST if the
 * kernel does not say, as of a process that ended.
 */
must_use int host_process_memory(pid_t pid, uint64_t *ret_bytes, struct err *err) nonnull_all;

/*
 * Proportional set size: of each page its share among the processes that have it. ERR_HOST if the
 * kernel does not say, as of a process that ended.
 */
must_use int host_process_pss(pid_t pid, uint64_t *ret_bytes, struct err *err) nonnull_all;

/*
 * The whole disk on which the file system of fd stands, for I/O limits: a partition's disk; a
 * device-mapper or md device is its own. ERR_HOST/-ENODEV with the reason where there is no block
 * device (tmpfs, overlay, btrfs, NFS). sysfs: "/sys" but in tests.
 */
must_use int host_disk_of(int fd, const char *sysfs, dev_t *ret, struct err *err) nonnull_all;
must_use int host_whole_disk(dev_t dev, const char *sysfs, dev_t *ret, struct err *err) nonnull_all;

/* CPU time of a process not yet reaped, all its threads together, in ns; 0 if unknown. */
uint64_t host_process_cpu_ns(pid_t pid);
