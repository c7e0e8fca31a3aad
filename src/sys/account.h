/* account.h - who a name of the host's user database is. */
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "base/err.h"

struct user {
    uid_t uid;
    gid_t gid; /* the primary group */
};

/* NULL: who we are. ERR_USAGE if there is no such user, ERR_HOST if that can't be told. */
must_use int user_find(const char *name, struct user *ret, struct err *err) nonnull_args(2, 3);
