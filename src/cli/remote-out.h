/*
 * remote-out.h - the output files of an ended job, fetched into a directory: all of them or none.
 */
#pragma once

#include <jansson.h>

#include "base/base.h"
#include "base/err.h"

#include "cli/http.h"
#include "job/spec.h"

struct remote_out {
    const char *id;                   /* of the job */
    const json_t *result;             /* docs/result.md: its list of outputs */
    const char *dir;                  /* made if missing */
    const struct spec_limits *limits; /* caps that the list must keep */
    http_turn_fn *turn;               /* as in http_request; may be NULL */
    void *ctx;
};

/*
 * Fetches what the result lists, compares sizes and SHA-256 with it, and puts it below dir as
 * outputs_export() does. The names come from a stranger: they pass the checks that those of a guest
 * pass, and one that fails fails the whole (ERR_HOST/-EPROTO). Directories that hold no file are not
 * in a result, and so not made. What outputs_export() says comes through; ERR_LIMIT/-ENOSPC also if
 * $TMPDIR is full.
 */
must_use int remote_out_fetch(struct http *h, const struct remote_out *out,
                              struct err *err) nonnull_all;
