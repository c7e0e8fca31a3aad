#include "sys/account.h"

#include <errno.h>
#include <pwd.h>
#include <unistd.h>

#define ENTRY_SIZE 16384u

int user_find(const char *name, struct user *ret, struct err *err)
{
    auto_free char *room = NULL;
    struct passwd entry;
    struct passwd *found = NULL;
    int e = 0;

    if (name == NULL) {
        *ret = (struct user){.uid = geteuid(), .gid = getegid()};
        return 0;
    }
    room = malloc(ENTRY_SIZE);
    if (room == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    e = getpwnam_r(name, &entry, room, ENTRY_SIZE, &found);
    if (found == NULL && e != 0 && e != ENOENT) {
        return err_sys_num(err, e, "look for user '%.64s'", name);
    }
    if (found == NULL) {
        return err_usage(err, "there is no user '%.64s' here; make it with `useradd --system`",
                         name);
    }
    *ret = (struct user){.uid = entry.pw_uid, .gid = entry.pw_gid};
    return 0;
}
