/* inspector.h - what the helper process (sup/helper.h) is used for. */
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "base/err.h"

#include "job/contract.h"
#include "job/outputs.h"
#include "job/unpack.h"

struct inspect_job {
    int stream_fd; /* the output stream of a dead guest */
    uint64_t stream_bytes;
    const struct spec_limits *limits;
    const struct contract *contract; /* kind CONTRACT_NONE: nothing is checked */
    uid_t uid;                       /* of the helper, as root */
};

struct inspection {
    struct outputs outputs;    /* digests included */
    const char *rule;          /* the rule of the contract that they break, or NULL */
    char message[ERR_MSG_MAX]; /* how; may hold any bytes of the guest's */
};

void inspection_fini(struct inspection *in) nonnull_all;
#define auto_inspection on_scope_exit(inspection_fini)

/* Errors as outputs_inspect(), and as helper_run() when the helper itself failed. */
must_use int inspect_outputs(const struct inspect_job *job, struct inspection *ret,
                             struct err *err) nonnull_all;

struct unpack_job {
    int archive_fd; /* read-only */
    uint64_t archive_bytes;
    const struct unpack_budget *budget;
    int tmp_dirfd; /* directory for the unnamed file of data */
    uid_t uid;
};

/*
 * The entries of an archive, and a file (owned) with their data. What is wrong with the archive is
 * ERR_USAGE, also that it brings the helper down: it would do so again.
 */
must_use int inspect_unpack(const struct unpack_job *job, struct unpacked *ret, int *ret_data_fd,
                            struct err *err) nonnull_all;
