/* fake-launcher.h - stands in for launcher.c: a case speaks as the supervisors that the service asked for. */
#pragma once

#include "daemon/launcher.h"
#include "sup/client.h"

#define FAKE_STARTS  8u
#define FAKE_ANSWERS 64u

struct fake_start {
    struct client client; /* the supervisor's end */
    bool open;
    struct buf spec; /* what it was asked to run */
};

struct launcher {
    int fd; /* eventfd: there are answers */
    struct fake_start starts[FAKE_STARTS];
    size_t n_starts;
    struct launcher_answer answers[FAKE_ANSWERS];
    size_t n_answers;
    int record_failed; /* errno of each answer about a record; 0: record_text */
    const char *record_text;
    size_t records_asked;
    int start_failed; /* errno of each start */
};

void fake_launcher_init(struct launcher *l);
void fake_launcher_fini(struct launcher *l);

/* The n-th supervisor says something; then what it said is on its way. */
void fake_say(struct launcher *l, size_t n, enum sup_event_kind kind, const void *data, size_t len);
/* It dies. */
void fake_die(struct launcher *l, size_t n);
