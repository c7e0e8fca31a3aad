/*
 * monitor.h - what all engines do alike: a monitor's process, in its jail, with a console and a
 * channel.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "sup/engine.h"
#include "sup/jail-files.h"
#include "sup/jail.h"
#include "sys/filter.h"

/* Descriptors that every monitor has: the console's pipe, twice, and the channel to the agent. */
#define MONITOR_FD_CONSOLE  1
#define MONITOR_FD_COMPLAIN 2
#define MONITOR_FD_CHANNEL  3
#define MONITOR_FDS_MAX     16

struct monitor {
    const char *const *argv;        /* argv[0]: a target of files */
    const struct jail_files *files; /* all that its root directory holds */
    const struct seccomp_filter *filter;
    struct proc_fd fds[MONITOR_FDS_MAX]; /* beside those above; borrowed */
    size_t n_fds;
    uint64_t nofile_max, threads_max;
    const int *open_fd; /* jail.h */
};

/* Names one more descriptor; nothing if fd is -1. */
void monitor_give(struct monitor *m, int fd, int number) nonnull_all;

/*
 * Starts it with what the machine's config says of uid, groups and bytes; fills proc, exec_ns,
 * channel_fd and console_fd of *ret. ERR_HOST, with what the monitor said if it came so far.
 */
must_use int monitor_start(const struct monitor *m, const struct machine_config *config,
                           struct machine *ret, struct err *err) nonnull_all;

/*
 * How a monitor ended, in words: "the machine ended by itself", a signal by its number, the jail's
 * filter, or what the engine says of its exit code. Does not reap it. "" if it still runs.
 */
void monitor_how_it_ended(const struct engine *engine, const struct proc *proc, char *ret,
                          size_t size) nonnull_all;
