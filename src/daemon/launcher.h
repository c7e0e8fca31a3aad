/*
 * launcher.h - the privileged half of airlockd: a process of few words.
 *
 * airlockd forks it while it still is root, then becomes its own user for good.  The launcher starts
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
#include "sup/sup.h"

/* The front half's end. */
struct launcher;

struct launcher_config {
    const char *state;         /* --state; NULL = default */
    unsigned int pool;         /* machines held ready together; 0 = none */
    unsigned int pool_percent; /* pool.h: restore_percent */
};

/*
 * Forks the launcher with the calling process's privileges. The caller owns *ret. It ends when
 * *ret is freed or its owner dies, after letting go of the pool.
 */
must_use int launcher_start(const struct launcher_config *config, struct launcher **ret,
                            struct err *err) nonnull_all;
void launcher_free(struct launcher *l);

/* Becomes user and group for good: no capability, no way back, no_new_privs. */
must_use int launcher_drop_privileges(const char *user, struct err *err) nonnull_all;

/* Readable when launcher_answer() has something; also at its death. Borrowed. */
must_use int launcher_fd(const struct launcher *l) nonnull_all;

/*
 * Asks for a machine. spec_fd: the encoded specification (job/spec-wire.h), a regular file or memfd
 * that is read once; out_dirfd: a directory that the outputs go into as "out", owned by whom they
 * shall be (-1: none are wanted). Never blocks; the answer comes with the same number.
 */
must_use int launcher_ask_start(struct launcher *l, uint64_t number, int spec_fd, int out_dirfd,
                                struct err *err) nonnull_all;
/* What the pool shall hold: specifications as in pool_plan(), most wanted first. No answer. */
must_use int launcher_plan(struct launcher *l, const struct spec *const *specs, size_t n,
                           struct err *err) nonnull_args(1, 4);

/* Text answers (JSON of ours): images, capacity and pool, one record by its id, the doctor. */
enum launcher_text {
    LAUNCHER_IMAGES = 1, /* [{"name","digest","bytes","created","packages"}] */
    LAUNCHER_CAPACITY,   /* ledger and pool: {"machines","memory_bytes",...,"pool":{...}} */
    LAUNCHER_RECORD,     /* records_load() */
};

must_use int launcher_ask_text(struct launcher *l, uint64_t number, enum launcher_text what,
                               const char *id, struct err *err) nonnull_args(1, 5);

struct launcher_answer {
    uint64_t number;
    int failed; /* 0, or a positive errno; text then says why, class how to tell it */
    enum err_class class;
    struct sup sup;  /* of launcher_ask_start(): fd alone, the process is the launcher's */
    bool pooled;     /* it had been waiting */
    struct buf text; /* of launcher_ask_text() */
    char why[ERR_MSG_MAX];
};

void launcher_answer_fini(struct launcher_answer *a) nonnull_all;

/* 1 and *ret (owned), 0 if there is nothing yet, -EPIPE (ERR_HOST) when the launcher is gone. */
must_use int launcher_answer(struct launcher *l, struct launcher_answer *ret,
                             struct err *err) nonnull_all;
