/*
 * exits.h - the end of the program as the kernel begins it.
 *
 * A process that ends gives its memory back before its parent hears of it: for an interpreter the
 * longest part of its end, and work for nobody in a machine that is about to be destroyed. The
 * kernel's accounting (taskstats over generic netlink, Documentation/accounting/taskstats.rst) tells
 * of the end, with the exit status, before that; from then on the process runs no instruction of
 * its own. Only a shortcut: whatever can't be told this way is told by the reaper.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "base/err.h"

struct exits {
    int fd; /* -1: not to be had */
};

#define EXITS_INIT \
    {              \
        .fd = -1   \
    }

must_use int exits_open(struct exits *e, struct err *err) nonnull_all;
/* From now on only of this process, by its pid in the first namespace. */
must_use int exits_watch(struct exits *e, pid_t pid, struct err *err) nonnull_all;
/* True if process pid has begun to end; *ret_status as from waitpid(). Never blocks. */
must_use bool exits_began(const struct exits *e, pid_t pid, int *ret_status) nonnull_all;
void exits_close(struct exits *e) nonnull_all;

/* One message of the kernel's, len bytes: the same. */
must_use bool exits_parse(const uint8_t *message, size_t len, pid_t pid,
                          int *ret_status) nonnull_all;
