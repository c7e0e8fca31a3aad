#include "sys/fsuser.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

/* setfsuid(2) has no error: a second call that changes nothing tells what is true now. */
static bool is_now(uid_t uid, gid_t gid)
{
    return (uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == gid;
}

void fsuser_leave(struct fsuser *user)
{
    bool ok = true;

    if (!user->changed) {
        return;
    }
    (void)setfsuid(user->uid); /* first: the capabilities come back with it */
    (void)setfsgid(user->gid);
    ok = user->n_groups == 0 || setgroups((size_t)user->n_groups, user->groups) == 0;
    if (!ok || !is_now(user->uid, user->gid)) {
        abort();
    }
    user->changed = false;
}

static int become(const struct stat *st, struct fsuser *ret, struct err *err)
{
    ret->uid = geteuid();
    ret->gid = getegid();
    ret->n_groups = getgroups(FSUSER_GROUPS_MAX, ret->groups);
    if (ret->n_groups < 0) {
        return err_sys(err, "more than %d groups", FSUSER_GROUPS_MAX);
    }
    if (ret->n_groups > 0 && setgroups(0, NULL) < 0) {
        return err_sys(err, "let go of the groups");
    }
    ret->changed = true;
    (void)setfsgid(st->st_gid); /* before the capability for it goes */
    (void)setfsuid(st->st_uid);
    if (!is_now(st->st_uid, st->st_gid)) {
        fsuser_leave(ret);
        return err_set(err, ERR_HOST, EPERM, "can't write as user %u, who owns the directory",
                       (unsigned int)st->st_uid);
    }
    return 0;
}

int fsuser_enter(struct fsuser *ret, struct err *err)
{
    struct stat st = {0};

    if (stat(".", &st) < 0) {
        return err_sys(err, "look at the working directory");
    }
    if (st.st_uid == geteuid()) {
        return 0;
    }
    if (geteuid() != 0) {
        return err_set(err, ERR_HOST, EPERM,
                       "the directory is user %u's, and we are %u; run as that user",
                       (unsigned int)st.st_uid, (unsigned int)geteuid());
    }
    return become(&st, ret, err);
}
