/*
 * launcher-internal.h - what goes between the two halves, for launcher.c (the front's end),
 * launcher-child.c (the privileged process), launcher-text.c (its answers in JSON) and their tests.
 *
 * Every message has one fixed size and at most one descriptor. An answer has the number of its
 * question, and they come in the order of the questions. Whoever asks for a machine with outputs
 * sends ASK_OUT before ASK_START, with the same number. Both ends are one program.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "daemon/job.h"
#include "daemon/launcher.h"
#include "image/store.h"
#include "sup/pool.h"

enum ask_kind {
    ASK_OUT = 1, /* the directory for outputs; no answer */
    ASK_START,   /* the encoded specification */
    ASK_PLAN,    /* a file of struct plan_wire, each with an encoded specification behind it */
    ASK_TEXT,    /* aux: enum launcher_text; the answer's descriptor is a file with it */
};

struct ask_wire {
    uint32_t kind;
    uint32_t aux;
    uint64_t number;
    char id[JOB_ID_SIZE]; /* of a record */
    char zero[7];
};

struct tell_wire {
    uint64_t number;
    uint32_t failed; /* errno */
    uint32_t class;
    uint32_t pooled;
    uint32_t zero;
    char why[ERR_MSG_MAX];
};

/* One specification of a plan. */
struct plan_wire {
    uint32_t times;
    uint32_t len;
};

/* What stays of a specification in a plan is short: an image's name and numbers. */
#define PLAN_SPEC_MAX (4 * KIB)
#define PLAN_MAX      (POOL_MEMBERS_MAX * (sizeof(struct plan_wire) + PLAN_SPEC_MAX))

/* What the child is made of. */
struct launcher_half {
    const struct launcher_config *config;
    struct store *store;
    int sock;    /* non-blocking */
    uid_t owner; /* of directories that outputs may go into */
};

/* The life of the privileged process, until its socket ends. */
_Noreturn void launcher_child(const struct launcher_half *half) nonnull_all;

/* Appends the JSON. pool may be NULL. */
must_use int launcher_text_images(const struct store *store, struct buf *out,
                                  struct err *err) nonnull_all;
must_use int launcher_text_capacity(const struct store *store,
                                    const struct ledger_capacity *capacity, const struct pool *pool,
                                    struct buf *out, struct err *err) nonnull_args(1, 2, 4, 5);

/* launcher-record.c: once, before the first supervisor is forked. */
void launcher_kin_begin(const struct store *store) nonnull_all;
/* As records_load(), but -ESRCH if there is none and no process is left that could write it. */
must_use int launcher_text_record(const struct store *store, const char *id, struct buf *out,
                                  struct err *err) nonnull_all;
