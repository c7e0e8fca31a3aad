/* doctor-internal.h - what the files of the doctor share. */
#pragma once

#include "base/buf.h"

#include "image/store.h"
#include "sup/doctor-parse.h"
#include "sup/doctor.h"
#include "sup/engine.h"

/* Appends a check; fix NULL or "" = nothing to do. The returned check may still be written to. */
void doctor_add(struct doctor_report *rep, const char *id, enum doctor_state state, const char *fix,
                const char *fmt, ...) printf_like(5, 6) nonnull_args(1, 2, 5);

/* The text of a small file of the kernel's or "" if it can't be read; NUL-terminated. */
const char *doctor_read(const char *path, struct buf *buf) nonnull_all;

/* The engine's monitor and its version. */
void doctor_monitor(const struct engine *engine, const struct store *store,
                    char ret[DOCTOR_WORD_MAX]) nonnull_all;

/* doctor-kvm.c: hardware virtualization, as far as it can be told without booting a guest. */
struct doctor_kvm {
    struct doctor_cpu cpu;
    bool openable;
};

void doctor_look_at_cpu(struct doctor_report *rep, struct doctor_kvm *ret) nonnull_all;
/* store NULL or no kernel in it: nothing can be booted yet. */
void doctor_look_at_kvm(struct doctor_report *rep, struct doctor_kvm *kvm,
                        const struct store *store, bool can_boot) nonnull_args(1, 2);
