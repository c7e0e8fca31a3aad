/*
 * handover.h - a job on its way to a supervisor that waits for one.
 *
 * On the socket between the two go up to three messages, each with one descriptor: stdin, if it is
 * one; the caller's working directory, since paths in a spec are the caller's; and an unnamed file
 * of memory with the encoded spec.  The last one completes it.  Values of the environment are in
 * that file only, which is overwritten once it was read.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "job/spec.h"

struct handover {
    struct spec spec;      /* owned; stdin_fd included */
    int dir_fd;            /* the caller's working directory, owned */
    uint64_t submitted_ns; /* host monotonic */
    bool streaming;
};

#define HANDOVER_INIT                           \
    {                                           \
        .spec = {.stdin_fd = -1}, .dir_fd = -1, \
    }
void handover_fini(struct handover *h) nonnull_all;
#define auto_handover on_scope_exit(handover_fini)

/* Never blocks. ERR_HOST/-EPIPE if nobody is there. */
must_use int handover_send(int sock, const struct spec *spec, bool streaming, uint64_t submitted_ns,
                           struct err *err) nonnull_all;

/* Waits for it. ERR_HOST/-EPIPE at the end of file. */
must_use int handover_receive(int sock, struct handover *ret, struct err *err) nonnull_all;
