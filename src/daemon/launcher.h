/*
 * launcher.h - the privileged half of airlockd: a process of few words.
 *
 * airlockd forks it while it still is root (it works without, as `airlock run` does), then becomes its own user for good.  The launcher starts
 * supervisors (sup.h), keeps the pool, and tells of images, records and capacity.  It never sees
 * HTTP or JSON of a client, opens no path that anybody named, and takes only specifications whose
 * bytes are all inline.  Requests are fixed structs on a SOCK_SEQPACKET pair, descriptors with them;
 * each is answered in order, or the launcher ends, and airlockd with it.
 *
 * A supervisor's socket goes to the front half, which so hears its events and whose death cancels
 * the job (sup.h); the launcher keeps the process and reaps it.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "job/spec.h"
#include "sup/ledger.h"
#include "sup/sup.h"

/* Asked and not yet answered, at most; one more is refused with ERR_LIMIT/-EAGAIN. */
#define LAUNCHER_ASKED_MAX 64u
/* Of one text answer. */
#define LAUNCHER_TEXT_MAX (4 * MIB)

/* The front half's end. */
struct launcher;

struct launcher_config {
    const char *state;               /* --state; NULL = default */
    const char *user;                /* whom the front half becomes; NULL: it stays who it is */
    unsigned int pool;               /* machines held ready together; 0 = none */
    unsigned int pool_percent;       /* pool.h: restore_percent */
    struct ledger_capacity capacity; /* 0 = by the host, as in ledger.h */
};

/*
 * Forks the launcher with the calling process's privileges: call it before
 * launcher_drop_privileges(), and before anything is opened that the launcher shall not have. The
 * caller may be moved into a control group of its own (cgroup_prepare()). The caller owns *ret. The
 * launcher ends when *ret is freed or its owner dies, after letting go of the pool and, for at most
 * 20 s, of the jobs. ERR_USAGE: the state directory or the user is not as it must be.
 */
must_use int launcher_start(const struct launcher_config *config, struct launcher **ret,
                            struct err *err) nonnull_all;
/* Lets the launcher go and waits for its end, 40 s at most. NULL is fine. */
void launcher_free(struct launcher *l);

/*
 * Becomes user and its group for good: no capability, no way back, no_new_privs, not dumpable.
 * Proven by trying to come back. NULL, or who isn't root: only checked (user must be the caller),
 * and closed the same way. ERR_USAGE for a user that does not exist or is root, ERR_HOST else.
 */
must_use int launcher_drop_privileges(const char *user, struct err *err) nonnull_args(2);

/*
 * After launcher_drop_privileges(): closes the system calls that nobody needs who serves clients, for
 * good, for this process and all its threads to come. No new process and no other program above all
 * (SIGSYS). Threads, files and sockets of the unix and IP families stay. ERR_HOST.
 */
must_use int launcher_confine(struct err *err) nonnull_all;

/* Readable when launcher_answer() has something; also at its death. Borrowed. */
must_use int launcher_fd(const struct launcher *l) nonnull_all;

/*
 * Asks for a machine. spec_fd: the encoded specification (job/spec-wire.h), a regular file or memfd
 * that is read once, from its beginning; out_dirfd: a directory of the front half's user that the
 * outputs go into as "out", as that user's own (-1: none are wanted). Both are borrowed. Never
 * blocks; the answer comes with the same number. Numbers are the caller's, but for 0. A
 * specification with a path of the host in it fails with ERR_USAGE/-EPERM.
 */
must_use int launcher_ask_start(struct launcher *l, uint64_t number, int spec_fd, int out_dirfd,
                                struct err *err) nonnull_all;
/*
 * What the pool shall hold: specifications as in pool_plan(), most wanted first, the same pointer
 * several times for several machines; what they run, and with which inputs, does not go along. No
 * answer, but it counts as asked until it was read. At most POOL_MEMBERS_MAX; nothing without pool.
 */
must_use int launcher_plan(struct launcher *l, const struct spec *const *specs, size_t n,
                           struct err *err) nonnull_args(1, 4);

/* Text answers (JSON of ours): images, capacity and pool, one record by its id, the doctor. */
enum launcher_text {
    LAUNCHER_IMAGES = 1, /* [{"name","digest","bytes","created","packages"}] */
    LAUNCHER_CAPACITY,   /* ledger, pool, engine: see launcher-text.c */
    /* records_load(): -ENOENT if there is none of that id yet, -ESRCH if none can come any more */
    LAUNCHER_RECORD,
};

must_use int launcher_ask_text(struct launcher *l, uint64_t number, enum launcher_text what,
                               const char *id, struct err *err) nonnull_args(1, 5);

struct launcher_answer {
    uint64_t number;
    int failed;           /* 0, or a positive errno; why then says it */
    enum err_class class; /* of the failure: ERR_USAGE is the specification's fault */
    struct sup sup;       /* of launcher_ask_start(): as of sup_adopt(); use sup_try_next() */
    bool pooled;          /* it had been waiting */
    struct buf text;      /* of launcher_ask_text() */
    char why[ERR_MSG_MAX];
};

void launcher_answer_fini(struct launcher_answer *a) nonnull_all;

/* 1 and *ret (owned), 0 if there is nothing yet, -EPIPE (ERR_HOST) when the launcher is gone. */
must_use int launcher_answer(struct launcher *l, struct launcher_answer *ret,
                             struct err *err) nonnull_all;
