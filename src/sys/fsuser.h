/*
 * fsuser.h - write files as somebody else, for a moment: what root makes in a directory that
 * belongs to another user is that user's, and root goes no further in there than the user could.
 *
 * Names in such a directory are its owner's to change at any time; a link that appears under our
 * hands must lead nowhere that the owner could not go alone.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "base/err.h"

#define FSUSER_GROUPS_MAX 64

/* Who we were. Empty: nothing was changed. */
struct fsuser {
    bool changed;
    uid_t uid;
    gid_t gid;
    gid_t groups[FSUSER_GROUPS_MAX]; /* supplementary ones */
    int n_groups;
};

#define FSUSER_INIT       \
    {                     \
        .changed = false, \
    }

/*
 * File accesses of the calling process, which has one thread, are from now on those of the working
 * directory's owner and its group, without capabilities and other groups. Nothing changes if we are
 * that owner. ERR_HOST/-EPERM if we can't become it.
 */
must_use int fsuser_enter(struct fsuser *ret, struct err *err) nonnull_all;
/* Who we were before. If that fails the process ends: it must not go on half way. */
void fsuser_leave(struct fsuser *user) nonnull_all;
#define auto_fsuser on_scope_exit(fsuser_leave)
