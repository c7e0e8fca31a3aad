/*
 * msg.h - payloads of the frames that are not plain bytes; see docs/protocol.md for the layout.
 *
 * Encoded little-endian, fixed order, strings as u32 length + bytes. Decoders check every count and
 * length against the maxima here before using it, refuse trailing bytes, and copy into the caller's
 * struct. A decoded msg_job owns its memory: free with msg_job_fini().
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#define MSG_ARGS_MAX    1024u   /* argv entries */
#define MSG_PROGRAM_MAX 131072u /* bytes of a program inside a JOB */

/*
 * The guest's clock when its machine is saved: 2020-01-01, hours before any job. What reseeds itself
 * by the clock (OpenSSL's generators) then does so in every machine that goes on from there.
 */
#define MSG_SAVED_CLOCK_S 1577836800

/* The environment of a job without one of its own, and of an interpreter that waits for one. */
#define MSG_BASE_ENV      "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/work", "LANG=C.UTF-8", "OUT=/out"
#define MSG_ENV_MAX       1024u   /* environment entries */
#define MSG_STRINGS_BYTES 786432u /* all strings of a JOB together */
/* Arguments and environment, with NULs, of a job whose interpreter may have waited. */
#define MSG_WARM_STRINGS  16384u
#define MSG_NAME_MAX      255u
#define MSG_ENTROPY_BYTES 64u
#define MSG_TEXT_MAX      512u

/* What the guest needs to know of a job. All sizes in bytes. */
struct msg_job {
    uint8_t entropy[MSG_ENTROPY_BYTES]; /* for RNDADDENTROPY, before anything else */
    uint64_t realtime_ns;               /* host CLOCK_REALTIME when the frame was written */
    uint8_t machine_id[16];
    uint64_t memory_bytes; /* memory.max of the job cgroup */
    uint64_t pids;         /* pids.max of the job cgroup, threads included */
    uint64_t stdout_bytes; /* caps: the agent sizes pipes by them and stops reading past cap + 1 */
    uint64_t stderr_bytes;
    uint64_t output_bytes;
    uint64_t output_files;
    uint64_t inodes; /* free on scratch when the program starts */
    uint32_t output_depth;
    bool has_stdin; /* false: stdin is at end of file at once */
    bool root;      /* the program is the guest's root, with everything that can do */
    bool input;     /* the input device has files for /in, or the program: it is mounted */
    bool rehearsal; /* nothing of it stays: the interpreter that waits forks it, and waits again */
    bool warm;      /* the program is the interpreter that waits; argv and envp are new to it */
    /* Name of the program file in prog/ of the input image, copied to /work; "" = none. */
    char program[MSG_NAME_MAX + 1];
    /* The program's bytes, owned by a decoded job; NULL: it is on the input device. */
    uint8_t *program_data;
    uint32_t program_len;
    char **argv; /* NULL-terminated; argv[0] is the path to execute (searched in PATH if no '/') */
    char **envp; /* NULL-terminated, the whole environment */
};

/* The interpreter that a saved machine has, or has not. */
struct msg_interpreter {
    bool waits;
    uint64_t bytes;    /* memory of it that cannot be reclaimed */
    char why_not[256]; /* one was asked for and none could be started: why; else "" */
};

struct msg_ready {
    uint32_t version;
    uint64_t memory_total_bytes; /* MemTotal */
    uint64_t boot_ns;            /* CLOCK_BOOTTIME at READY */
    struct msg_interpreter interpreter;
};

/* How the program's main process ended, and what the guest counted. Evidence, never a verdict. */
struct msg_exit {
    bool signaled;
    uint32_t code; /* exit code 0..255, or signal number 1..64 */
    uint64_t memory_peak_bytes;
    uint64_t cpu_usec;
    uint32_t pids_peak;    /* 0 where the kernel does not tell */
    uint32_t pids_refused; /* pids.events max */
    uint32_t oom_kills;    /* memory.events oom_kill of the job cgroup */
    bool oom_killed_main;  /* SIGKILL of the main process with oom_kill counted for it */
    uint64_t stdout_bytes; /* bytes the agent forwarded */
    uint64_t stderr_bytes;
    uint64_t scratch_bytes; /* used at the end */
};

enum msg_output_status {
    MSG_OUTPUT_COMPLETE = 0,
    MSG_OUTPUT_BYTES = 1, /* a cap was reached; the stream stops before the entry over it */
    MSG_OUTPUT_FILES = 2,
    MSG_OUTPUT_DEPTH = 3,
    MSG_OUTPUT_ERROR = 4, /* reading /out failed */
};

struct msg_output_end {
    enum msg_output_status status;
    char name[MSG_NAME_MAX + 1]; /* the entry that broke the cap, cut to fit, "" if none */
};

struct msg_failed {
    char phase[32];          /* "mount", "stage", "exec", ... */
    uint32_t errnum;         /* guest errno, 0 if none */
    char text[MSG_TEXT_MAX]; /* for people; hostile, escape before showing */
};

/* Encoders append to out (its max must allow it); they fail only with -ENOBUFS/-ENOMEM. */
must_use int msg_job_encode(const struct msg_job *m, struct buf *out) nonnull_all;
must_use int msg_ready_encode(const struct msg_ready *m, struct buf *out) nonnull_all;
must_use int msg_exit_encode(const struct msg_exit *m, struct buf *out) nonnull_all;
must_use int msg_output_end_encode(const struct msg_output_end *m, struct buf *out) nonnull_all;
must_use int msg_failed_encode(const struct msg_failed *m, struct buf *out) nonnull_all;
must_use int msg_credit_encode(uint32_t bytes, struct buf *out) nonnull_all;

/* Decoders: 0 or ERR_GUEST/-EPROTO with what was wrong; *ret is untouched on failure. */
must_use int msg_job_decode(const uint8_t *data, size_t len, struct msg_job *ret, struct err *err)
    nonnull_args(3, 4);
must_use int msg_ready_decode(const uint8_t *data, size_t len, struct msg_ready *ret,
                              struct err *err) nonnull_args(3, 4);
must_use int msg_exit_decode(const uint8_t *data, size_t len, struct msg_exit *ret, struct err *err)
    nonnull_args(3, 4);
must_use int msg_output_end_decode(const uint8_t *data, size_t len, struct msg_output_end *ret,
                                   struct err *err) nonnull_args(3, 4);
must_use int msg_failed_decode(const uint8_t *data, size_t len, struct msg_failed *ret,
                               struct err *err) nonnull_args(3, 4);
must_use int msg_credit_decode(const uint8_t *data, size_t len, uint32_t *ret, struct err *err)
    nonnull_args(3, 4);

void msg_job_fini(struct msg_job *m) nonnull_all;
