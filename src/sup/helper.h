/*
 * helper.h - a process that can do nothing but compute, for parsing what strangers wrote.
 *
 * It is a copy of the caller without an exec, in the jail (sup/jail.h): namespaces, an empty root,
 * its own uid or user namespace, no capabilities, no_new_privs, at most four descriptors beside
 * /dev/null, and a filter that allows reading and writing those, memory and the end. It has a
 * memory and a CPU limit, and the caller kills it at a deadline. Its answer comes through a pipe,
 * bounded in size; whoever decodes it believes nothing, as the helper may have been taken over.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

/* The helper's descriptors. */
enum {
    HELPER_IN = 3,     /* what is to be parsed */
    HELPER_ANSWER = 4, /* the pipe */
    HELPER_DATA = 5,   /* a file for bulk data, if there is one */
};

#define HELPER_MEMORY_BYTES (768 * MIB) /* on top of what the caller's copy has */
#define HELPER_CPU_S        60u
#define HELPER_DEADLINE_NS  (90 * NS_PER_S)

struct helper_spec {
    const char *name; /* "inspector", for messages */
    /*
     * Runs in the helper; what it puts into answer comes out of helper_run(). An error comes out
     * with its class, errno and text. Must not open anything or rely on open descriptors but those.
     */
    int (*work)(void *ctx, struct buf *answer, struct err *err);
    void *ctx;
    int in_fd;            /* borrowed, becomes HELPER_IN; open it for reading only */
    int data_fd;          /* borrowed, becomes HELPER_DATA; -1 = none */
    uid_t uid;            /* as root: one that nothing else uses now; otherwise unused */
    uint64_t fsize_bytes; /* most bytes in HELPER_DATA */
    size_t answer_max;
    uint64_t deadline_ns; /* for all of it; 0 = HELPER_DEADLINE_NS */
};

/*
 * Runs it to its end. What the work reported, or ERR_HOST: -ECHILD when it was killed (by its filter
 * or a limit) or crashed, -ETIMEDOUT at the deadline, -EPROTO for an answer that is none. Text
 * that the helper reported is as hostile as what it read: escape it before it is shown.
 */
must_use int helper_run(const struct helper_spec *spec, struct buf *answer,
                        struct err *err) nonnull_all;
