#include "daemon/home.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/store.h"
#include "sys/fd.h"
#include "sys/user.h"

#define NAME "daemon"

/* The one thing about STATE that is not its owner's alone. */
static int let_pass(int state_fd, gid_t group, struct err *err)
{
    if (fchown(state_fd, (uid_t)-1, group) < 0 || fchmod(state_fd, 0710) < 0) {
        return err_sys(err, "let group %u through the state directory", (unsigned int)group);
    }
    return 0;
}

static int check(int fd, const char *path, uid_t uid, struct err *err)
{
    struct stat st = {0};

    if (fstat(fd, &st) < 0) {
        return err_sys(err, "look at '%s/" NAME "'", path);
    }
    if (st.st_uid != uid || (st.st_mode & 077) != 0) {
        return err_usage(err,
                         "'%s/" NAME "' has to be user %u's with mode 0700, and is user %u's with "
                         "%04o; mend it with chown -R and chmod",
                         path, (unsigned int)uid, (unsigned int)st.st_uid,
                         (unsigned int)(st.st_mode & 07777));
    }
    return 0;
}

int home_open(const char *state, const char *user, int *ret_fd, struct err *err)
{
    auto_store struct store store = STORE_INIT;
    auto_fd int fd = -1;
    struct user owner = {.uid = 0};
    bool made = false;
    int r = user_find(user, &owner, err);

    if (r == 0) {
        r = store_open(state, &store, err);
    }
    if (r == 0 && owner.uid != geteuid()) {
        r = let_pass(store.dirfd, owner.gid, err);
    }
    if (r < 0) {
        return r;
    }
    made = mkdirat(store.dirfd, NAME, 0700) == 0;
    if (!made && errno != EEXIST) {
        return err_sys(err, "make '%s/" NAME "'", store.path);
    }
    r = fd_open_nolink(store.dirfd, NAME, O_RDONLY | O_DIRECTORY, 0, &fd, err);
    if (r == 0 && made && (fchmod(fd, 0700) < 0 || fchown(fd, owner.uid, owner.gid) < 0)) {
        r = err_sys(err, "give '%s/" NAME "' to user %u", store.path, (unsigned int)owner.uid);
    }
    if (r == 0) {
        r = check(fd, store.path, owner.uid, err);
    }
    if (r == 0) {
        *ret_fd = STEAL_FD(&fd);
    }
    return r;
}
