/*
 * How it works.  Everything that could give something back is taken in an order in which each step
 * still may: bounding set and groups while we have the capabilities for it, then the ids, then what
 * is left of capabilities, then no_new_privs, which keeps an exec from changing any of it.  Then
 * the kernel is asked whether it is so, and a way back is tried.
 */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/launcher.h"
#include "sys/account.h"

/* Ends by itself at the last capability that this kernel knows. */
static int drop_bounding_set(struct err *err)
{
    for (unsigned long cap = 0;; cap++) {
        int has = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

        if (has < 0) {
            return 0;
        }
        if (has > 0 && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && geteuid() == 0) {
            return err_sys(err, "drop capability %lu from the bounding set", cap);
        }
    }
}

static int change_ids(const char *name, const struct user *user, struct err *err)
{
    if (initgroups(name, user->gid) < 0) {
        return err_sys(err, "take the groups of user '%s'", name);
    }
    if (setresgid(user->gid, user->gid, user->gid) < 0) {
        return err_sys(err, "become group %u", (unsigned int)user->gid);
    }
    if (setresuid(user->uid, user->uid, user->uid) < 0) {
        return err_sys(err, "become user '%s'", name);
    }
    return 0;
}

static int drop_capabilities(struct err *err)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}, {0}};

    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0) {
        return err_sys(err, "clear the ambient capabilities");
    }
    if (syscall(SYS_capset, &head, none) < 0) {
        return err_sys(err, "drop the capabilities");
    }
    return 0;
}

static bool has_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct now[2] = {{0}, {0}};

    return syscall(SYS_capget, &head, now) < 0 ||
           (now[0].effective | now[0].permitted | now[0].inheritable | now[1].effective |
            now[1].permitted | now[1].inheritable) != 0;
}

static bool has_group(gid_t group)
{
    gid_t groups[64];
    int n = getgroups(64, groups);
    bool found = n < 0;

    for (int i = 0; i < n; i++) {
        found = found || groups[i] == group;
    }
    return found;
}

/* True if something of before can still be had. Tries it. */
static bool is_way_back(const struct user *user)
{
    uid_t uids[3] = {0, 0, 0};
    gid_t gids[3] = {0, 0, 0};

    if (getresuid(&uids[0], &uids[1], &uids[2]) < 0 ||
        getresgid(&gids[0], &gids[1], &gids[2]) < 0) {
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(uids); i++) {
        if (uids[i] != user->uid || gids[i] != user->gid) {
            return true;
        }
    }
    return setresuid(0, 0, 0) == 0 || setuid(0) == 0 || seteuid(0) == 0 ||
           (user->gid != 0 && (setresgid(0, 0, 0) == 0 || has_group(0))) ||
           setgroups(0, NULL) == 0 || has_capabilities();
}

/* What holds for whoever serves strangers, root or not. */
static int close_ways(struct err *err)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) {
        return err_sys(err, "set no_new_privs");
    }
    /* Neither a core file nor a debugger of the same user: tokens and inputs are in our memory. */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) {
        return err_sys(err, "become undumpable");
    }
    return 0;
}

int launcher_drop_privileges(const char *name, struct err *err)
{
    struct user user = {.uid = 0};
    int r = user_find(name, &user, err);

    if (r < 0) {
        return r;
    }
    if (name != NULL && user.uid == 0) {
        return err_usage(err, "'%.64s' is root; name a user without privileges", name);
    }
    if (geteuid() != 0 && user.uid != geteuid()) {
        return err_usage(err,
                         "airlockd was started as user %u, and can't become '%.64s'; start it as "
                         "root or as that user",
                         (unsigned int)geteuid(), name);
    }
    if (geteuid() != 0 || name == NULL) {
        return close_ways(err);
    }
    r = drop_bounding_set(err);
    if (r == 0) {
        r = change_ids(name, &user, err);
    }
    if (r == 0) {
        r = drop_capabilities(err);
    }
    if (r == 0) {
        r = close_ways(err);
    }
    if (r == 0 && is_way_back(&user)) {
        r = err_set(err, ERR_HOST, EPERM, "privileges are left after becoming '%s'", name);
    }
    return r;
}
