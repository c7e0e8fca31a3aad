/*
 * doctor.h - what this host can do, what is missing, and how to mend it.
 *
 * Every check is one line for a person: what was found and, unless all is well, a remedy.
 */
#pragma once

#include "base/base.h"

#define DOCTOR_CHECKS_MAX 40u
#define DOCTOR_TEXT_MAX   600u

enum doctor_state {
    DOCTOR_OK,
    DOCTOR_WARN,    /* jobs run, but worse than they could */
    DOCTOR_MISSING, /* jobs can't run until this is mended */
};

struct doctor_check {
    const char *id; /* stable: "kvm", "memory", "package:mmdebstrap", ... */
    enum doctor_state state;
    char text[DOCTOR_TEXT_MAX];
    char fix[DOCTOR_TEXT_MAX]; /* "" if there is nothing to do */
};

struct doctor_report {
    struct doctor_check checks[DOCTOR_CHECKS_MAX];
    size_t n;
    bool ready;         /* nothing is DOCTOR_MISSING */
    const char *engine; /* what `auto` takes, or NULL */
};

/* state_dir NULL = the default. Boots guests as probes: takes some seconds. */
void doctor_examine(const char *state_dir, struct doctor_report *ret) nonnull_args(2);
