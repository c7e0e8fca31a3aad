/* evil.h - what the hostile modes of evil-init share. Everything here gives up by freezing. */
#pragma once

#include "base/base.h"

#include "proto/frame.h"
#include "proto/msg.h"

struct evil {
    int port;     /* blocking */
    uint32_t seq; /* of the next frame to the host */
    struct frame_decoder in;
    struct msg_job job;
    char scratch[64]; /* "/dev/vdX" */
};

/* Stays for ever, in one place, without using CPU time. */
void __attribute__((noreturn)) evil_wait(void);

/* Bytes to the host as they are; waits for room. */
void evil_raw(struct evil *e, const void *data, size_t len) nonnull_args(1);

/* A well-formed frame in sequence. */
void evil_frame(struct evil *e, enum frame_type type, const void *data, size_t len) nonnull_args(1);

/* An EXIT frame: an exit code, or the signal. oom: claims a kill for lack of memory. */
void evil_exit(struct evil *e, bool signaled, uint32_t code, bool oom) nonnull_all;

/* OUTPUT_END: complete. */
void evil_output_end(struct evil *e) nonnull_all;

/* EXIT 0 and the lying output stream of that name; false if there is none such. */
bool evil_outputs(struct evil *e, const char *name) nonnull_all;
