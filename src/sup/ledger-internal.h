/* ledger-internal.h - slot files and locks, shared by ledger.c and ledger-slot.c. */
#pragma once

#include "sup/ledger.h"

#define LEDGER_TEXT_SIZE 512 /* of a slot file, with the NUL */

/* STATE/slots, open and with its lock held. Closing gives the lock back. */
struct ledger_dir {
    int fd;
    int lock_fd;
    uint64_t tag; /* of the directory: device and inode, mixed */
};

#define LEDGER_DIR_INIT         \
    {                           \
        .fd = -1, .lock_fd = -1 \
    }

void ledger_dir_fini(struct ledger_dir *dir) nonnull_all;
#define auto_ledger_dir on_scope_exit(ledger_dir_fini)

must_use int ledger_dir_open(int store_fd, uint64_t timeout_ns, struct ledger_dir *ret,
                             struct err *err) nonnull_all;

/* flock(LOCK_EX) with a deadline. -errno, -ETIMEDOUT. */
must_use int ledger_lock(int fd, uint64_t timeout_ns);

enum ledger_state {
    LEDGER_MISSING,
    LEDGER_FREE,  /* empty and not locked */
    LEDGER_LIVE,  /* locked */
    LEDGER_STALE, /* not locked, not empty */
};

/*
 * Looks at slot file N. entry is filled for LIVE and STALE (a LIVE one that is empty is about to be
 * released and takes nothing). Call with the lock held. ERR_HOST if the file can't be opened.
 */
must_use int ledger_look(const struct ledger_dir *dir, unsigned int number,
                         enum ledger_state *ret_state, struct ledger_entry *ret,
                         struct err *err) nonnull_all;

/* Calls fn for every slot file, in no order, with the lock held as the caller holds it. */
typedef int ledger_each_fn(void *arg, enum ledger_state state, const struct ledger_entry *entry,
                           struct err *err);
must_use int ledger_each(const struct ledger_dir *dir, ledger_each_fn *fn, void *arg,
                         struct err *err) nonnull_all;

/* Writes what entry says into an open slot file, by one pwrite(). -errno. */
must_use int ledger_put(int fd, const struct ledger_entry *entry) nonnull_all;

void ledger_group_name(uint64_t tag, const char *machine_id,
                       char ret[CGROUP_NAME_SIZE]) nonnull_all;
uid_t ledger_uid(uint64_t tag, unsigned int number);
must_use bool ledger_id_ok(const char *id) nonnull_all;

/* Field 22 of /proc/PID/stat; 0 if there is no such process. */
uint64_t ledger_start_ticks(pid_t pid);
