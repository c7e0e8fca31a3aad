/* cgroup.h - the job's cgroup in the guest: its limits, its end and its counters. */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "proto/msg.h"

#define CGROUP_PRESSURE "/cgroup/job/memory.pressure"

/* Mounts cgroup2, enables memory and pids and creates the job's empty cgroup. */
must_use int cgroup_boot(struct err *err);

/* Sets the limits. 0 or ERR_HOST. */
must_use int cgroup_limit(uint64_t memory_bytes, uint64_t pids, struct err *err) nonnull_all;

/* Bytes of it that can't be evicted, there being no swap: anonymous and shared memory. */
must_use int cgroup_unevictable(uint64_t *ret, struct err *err) nonnull_all;

/* Puts memory.max just below bytes, which makes the kernel's OOM killer act, and back to limit. */
must_use int cgroup_squeeze(uint64_t bytes, uint64_t limit, struct err *err);

/* SIGKILL to everything in it. Returns without waiting. */
must_use int cgroup_kill(struct err *err) nonnull_all;

/* *ret is false when nothing lives in it any more. */
must_use int cgroup_populated(bool *ret, struct err *err) nonnull_all;

/* How many processes and threads it has, dead ones included that nobody waited for. */
must_use int cgroup_tasks(uint64_t *ret, struct err *err) nonnull_all;

/* CPU time of everything that is or was in it. */
must_use int cgroup_cpu_usec(uint64_t *ret, struct err *err) nonnull_all;

/* Fills the memory, cpu, pids and oom counts of ret. */
must_use int cgroup_count(struct msg_exit *ret, struct err *err) nonnull_all;
