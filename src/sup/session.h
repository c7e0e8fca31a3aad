/*
 * session.h - the supervisor's side of the channel: one agent, one job, in one fixed order.
 *
 *   BOOT --READY--> START (JOB is sent) --STARTED--> RUN --EXIT--> COLLECT --OUTPUT_END--> DONE
 *
 * A frame out of that order, over its length or beyond a cap is recorded as an event; after a
 * deciding event the session takes no more than the rest of stdout and stderr.  Memory is bounded
 * by the caps of the job; the output stream goes to an unnamed file of bounded size.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "job/spec.h"
#include "job/stage.h"
#include "job/verdict.h"
#include "proto/frame.h"
#include "proto/msg.h"

enum session_state {
    SESSION_BOOT,
    SESSION_START,
    SESSION_RUN,
    SESSION_COLLECT,
    SESSION_DONE
};

/* The phase's name in events and results: "boot", "start", "run", "collect". */
const char *session_phase(enum session_state state);

/* Program output as it comes, at most the cap in total. Returns 0 or -errno. */
struct session_sink {
    int (*write)(void *ctx, bool is_stderr, const uint8_t *data, size_t len);
    void *ctx;
};

struct session_stream {
    uint64_t cap;
    uint64_t bytes; /* delivered to the sink, <= cap */
    bool truncated;
};

#define SESSION_TAIL 2048

struct session {
    enum session_state state;
    int fd; /* borrowed, non-blocking */
    const struct spec *spec;
    const struct stage *stage; /* borrowed; NULL in tests: job-frame.h */
    struct events *events;
    struct session_sink sink;
    struct frame_decoder dec;
    struct buf out; /* frames not yet written */
    /* stdin: a regular or unnamed file, or -1 for none */
    uint64_t stdin_at, stdin_size, stdin_credit;
    struct session_stream streams[2]; /* stdout, stderr */
    uint64_t output_bytes, output_max;
    uint64_t ready_ns, started_ns, exited_ns, collected_ns; /* host, since submission */
    size_t tail_len;
    char tail[SESSION_TAIL + 1]; /* last bytes of stderr */
    bool warm;        /* an interpreter waits in the machine, and the program is to be it */
    bool rehearsal;   /* no job: see job-frame.h */
    bool outputs_cut; /* they went over a cap and nobody wants them: the stream is not complete */
    bool stdin_done;
    bool ended;    /* a deciding event was recorded: no more frames count */
    bool asked;    /* STOP was sent */
    bool answered; /* ... and last_report is the agent's word */
    struct msg_exit last_report;
    bool closed; /* end of file on the channel */
    int stdin_fd;
    int output_fd;      /* borrowed: unnamed file for the output stream */
    uint32_t next_seq;  /* of what we send */
    uint32_t heard_seq; /* of the first frame to come; 0: READY's follower */
};

/* Borrows everything but its own buffers. output_fd and stdin_fd outlive the session. */
must_use int session_init(struct session *s, int fd, const struct spec *spec, struct events *events,
                          struct err *err) nonnull_all;
void session_fini(struct session *s) nonnull_all;

/*
 * The machine goes on from a saved state: the agent's READY was read when it was saved. Sends JOB.
 * Before this, and before the machine runs, nothing must have been read.
 */
must_use int session_restored(struct session *s, uint64_t now_ns, struct err *err) nonnull_all;

/* The channel can be read: takes all that is there. now_ns: since submission, for events. */
must_use int session_read(struct session *s, uint64_t now_ns, struct err *err) nonnull_all;
/* True if session_write() has something to write now. */
must_use bool session_wants_write(const struct session *s) nonnull_all;
must_use int session_write(struct session *s, struct err *err) nonnull_all;

/* A limit ended the job: from now on only stdout and stderr that is still on its way counts. */
void session_end(struct session *s) nonnull_all;

/*
 * After session_end(): asks the agent to kill the program and report (STOP). Its EXIT then becomes
 * last_report, and what it counted becomes told-only events: evidence, never a verdict. False if
 * there is nobody to ask: the program does not run, the channel is closed, or the machine has not
 * taken what was sent before.
 */
must_use bool session_ask(struct session *s) nonnull_all;
