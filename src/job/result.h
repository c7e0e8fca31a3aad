/*
 * result.h - the one JSON object that tells what became of a job (contract: docs/result.md).
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "job/outputs.h"
#include "job/spec.h"
#include "job/stage.h"
#include "job/verdict.h"
#include "sys/cgroup.h"
#include "sys/digest.h"

/* Longest result text; jobs whose caps could need more are refused by spec_check(). */
#define RESULT_JSON_MAX (1024 * MIB)

/* Nanoseconds from submission on the host's monotonic clock; 0 = never reached. */
struct result_phases {
    uint64_t admitted, staged, templated, executed, spawned, ready, started, exited, collected,
        killed, inspected, exported, cleaned;
};

struct result_stream {
    const uint8_t *data; /* borrowed; NULL when it was streamed to the caller instead */
    uint64_t bytes;      /* delivered, at most the cap */
    bool truncated;      /* the program wrote more than the cap */
};

#define RESULT_DETAIL_SIZE 256

/* One check of the cleanup proof. */
struct result_check {
    const char *name;
    bool ok;
    char detail[RESULT_DETAIL_SIZE]; /* if not ok: what was found; the host's own words */
};

#define RESULT_CHECKS_MAX 12

/* Everything the result is made of; all pointers borrowed. */
struct result {
    char machine_id[33];   /* hex; "" if no machine was made */
    const char *engine;    /* "tcg"; NULL if none was chosen */
    const char *isolation; /* "emulated", "hardware" */
    const char *monitor;   /* "QEMU 7.2.22 ..." or NULL */
    const char *image;
    const char *kernel_version;
    struct digest kernel, initramfs, root; /* "" when unknown */
    struct digest template;  /* of the saved state the machine started from; "" if none */
    bool template_built;     /* for this job */
    bool pooled;             /* the machine was restored before the job was submitted */
    const char *interpreter; /* "warm": it waited for the job; "fresh"; NULL: not ours, or none */
    const char *interpreter_why; /* fresh: why; NULL */
    const struct spec *spec;
    uint64_t machine_memory_bytes;
    const struct cgroup_report *cgroup;              /* what the host's kernel limits, or NULL */
    const char *(*instead)(enum cgroup_limit limit); /* what binds where it does not; with cgroup */
    const struct stage *stage;                       /* or NULL */
    const struct events *events;
    struct result_phases phases;
    struct result_stream out, err;
    const struct outputs *outputs; /* or NULL */
    bool outputs_exported;
    uint64_t cpu_ns;         /* of the machine, from the program's start */
    uint64_t machine_cpu_ns; /* of the whole machine process */
    uint64_t machine_rss_bytes;
    const struct msg_exit *last_report; /* the agent's word after a limit, or NULL: no exit */
    const char *stop;                   /* "not_asked", "answered", "silent"; NULL: no machine */
    const char *ended_by;               /* "itself", "pidfd", "cgroup"; NULL: no machine */
    const char *left_over;   /* what earlier jobs left and could not be removed yet, or NULL */
    const char *stderr_tail; /* last bytes of stderr for the hint about syntax errors, or NULL */
    struct result_check checks[RESULT_CHECKS_MAX];
    size_t n_checks;
};

/* Appends the object (one line, no newline). 0, -ENOBUFS or -ENOMEM. */
must_use int result_json(const struct result *r, struct buf *out) nonnull_all;

/* The object of a job that no supervisor answers for. limits: those asked for. reason as in the contract. */
must_use int result_rejected_json(const struct spec_limits *limits, enum airlock_verdict v,
                                  const char *reason, const char *message,
                                  struct buf *out) nonnull_all;

/* What its keeper has of a job whose supervisor gave no result (any more). */
struct result_kept {
    struct result_stream out, err; /* data NULL */
    const char *machine_id;        /* of the last machine; "" = none */
};

/* The same of such a job: what the program wrote is not in the object, but told as it was kept. */
must_use int result_kept_json(const struct spec_limits *limits, const struct result_kept *kept,
                              enum airlock_verdict v, const char *reason, const char *message,
                              struct buf *out) nonnull_all;
