/*
 * oom.h - whom the kernel's OOM killer took.
 *
 * A SIGKILL of the main process beside a counted oom_kill does not tell which process the OOM
 * killer chose: a program may kill itself while a child of it runs out of memory. The kernel's log
 * names the victim by its pid, and the program can neither read nor write that log.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "base/err.h"

struct oom_log {
    int fd; /* /dev/kmsg, non-blocking */
};

#define OOM_LOG_INIT \
    {                \
        .fd = -1     \
    }

/* For the life of the machine; and for a job, of which nothing was logged yet. */
must_use int oom_log_open(struct oom_log *log, struct err *err) nonnull_all;
must_use int oom_log_begin(struct oom_log *log, struct err *err) nonnull_all;

/*
 * True if a victim with this pid was logged since it began, or records were lost (the log is a ring): then
 * the caller's other evidence stands alone. Reads the log to its end.
 */
must_use bool oom_log_took(struct oom_log *log, pid_t pid) nonnull_all;

/* Victim's pid of one /dev/kmsg record ("6,339,514,-;Memory cgroup out of memory: Killed ..."), or 0. */
must_use pid_t oom_record_victim(const char *record) nonnull_all;
