/*
 * launcher-record.c - a machine's record, or that there is none and none can come any more.
 *
 * How it works.  A record is written by a job's supervisor, or by its reaper if that was killed.  Both
 * hold the machine's slot in the ledger, but a supervisor that has no slot yet holds none.  So every
 * launcher keeps a shared lock on the open state directory: its supervisors and reapers are forked
 * with that descriptor and so hold it too, until the last of them has ended, however it ends.  Where
 * no slot names the machine and nobody else has such a lock, whoever could write is gone.
 */
#include <errno.h>
#include <sys/file.h>

#include "daemon/launcher-internal.h"
#include "sup/records.h"

void launcher_kin_begin(const struct store *store)
{
    (void)flock(store->dirfd, LOCK_SH | LOCK_NB);
}

/* Processes of ours share the lock and are not in its way. In doubt, true. */
static bool others_live(const struct store *store)
{
    bool alone = flock(store->dirfd, LOCK_EX | LOCK_NB) == 0;

    launcher_kin_begin(store); /* one that was refused is gone, too */
    return !alone;
}

/* False only if it is certain. */
static bool may_come(const struct store *store, const char *id)
{
    enum ledger_held held = LEDGER_HELD_LIVE;
    struct err ignored = ERR_INIT; /* then it may come */

    return ledger_held(store->dirfd, id, &held, &ignored) < 0 || held == LEDGER_HELD_LIVE ||
           (held == LEDGER_HELD_NOT && others_live(store));
}

int launcher_text_record(const struct store *store, const char *id, struct buf *out,
                         struct err *err)
{
    int r = records_load(store->dirfd, id, out, err);

    if (r != -ENOENT || may_come(store, id)) {
        return r;
    }
    *err = (struct err)ERR_INIT;
    r = records_load(store->dirfd, id, out, err); /* it was written, and then they were gone */
    if (r == -ENOENT) {
        *err = (struct err)ERR_INIT;
        return err_set(err, ERR_HOST, ESRCH,
                       "the machine has no record, and nobody is left to write one");
    }
    return r;
}
