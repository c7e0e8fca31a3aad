#include "sup/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"

#include "proto/outar.h"
#include "sup/job-frame.h"
#include "sys/fd.h"

/* What one call to session_read() takes at most before others get their turn. */
#define SESSION_READ_TURN (4 * MIB)

/* Frames waiting to be written: one JOB, or stdin in pieces. */
#define SESSION_OUT_MAX ((size_t)FRAME_JOB_MAX + (size_t)4 * (FRAME_DATA_MAX + FRAME_HEADER_SIZE))

const char *session_phase(enum session_state state)
{
    switch (state) {
    case SESSION_BOOT:
        return "boot";
    case SESSION_START:
        return "start";
    case SESSION_RUN:
        return "run";
    case SESSION_COLLECT:
    case SESSION_DONE:
        break;
    }
    return "collect";
}

int session_init(struct session *s, int fd, const struct spec *spec, struct events *events,
                 struct err *err)
{
    const struct spec_limits *l = &spec->limits;

    memset(s, 0, sizeof(*s));
    s->fd = fd;
    s->spec = spec;
    s->events = events;
    s->stdin_fd = -1;
    s->output_fd = -1;
    s->out.max = SESSION_OUT_MAX;
    s->streams[0].cap = l->stdout_bytes;
    s->streams[1].cap = l->stderr_bytes;
    /* Data and one record with the longest path for each entry, and the end record. */
    if (__builtin_mul_overflow(l->output_files + 1, (uint64_t)OUTAR_HEADER_SIZE + OUTAR_PATH_MAX,
                               &s->output_max) ||
        __builtin_add_overflow(s->output_max, l->output_bytes, &s->output_max)) {
        return err_usage(err, "the limits on outputs are too large together");
    }
    frame_decoder_init(&s->dec, FRAME_TO_HOST);
    return fd_set_nonblock(fd, err);
}

void session_fini(struct session *s)
{
    frame_decoder_fini(&s->dec);
    buf_fini(&s->out);
}

void session_end(struct session *s)
{
    s->ended = true;
}

static void decide(struct session *s, enum event_kind kind, uint64_t now_ns, const char *detail)
{
    events_add(s->events, kind, now_ns, session_phase(s->state), detail);
    s->ended = true;
}

static int send_frame(struct session *s, enum frame_type type, const void *data, size_t len,
                      struct err *err)
{
    uint8_t header[FRAME_HEADER_SIZE];

    frame_header_encode(header, type, (uint32_t)len, s->next_seq++);
    if (buf_put(&s->out, header, sizeof(header)) < 0 ||
        (len > 0 && buf_put(&s->out, data, len) < 0)) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory for the channel");
    }
    return 0;
}

static int send_job(struct session *s, uint64_t now_ns, struct err *err)
{
    auto_buf struct buf job = BUF_INIT(FRAME_JOB_MAX);
    int r = 0;

    s->ready_ns = now_ns;
    s->state = SESSION_START;
    r = job_frame_build(&(struct job_frame){.spec = s->spec,
                                            .stage = s->stage,
                                            .has_stdin = s->stdin_fd >= 0 || s->rehearsal,
                                            .warm = s->warm,
                                            .rehearsal = s->rehearsal},
                        &job, err);
    return r < 0 ? r : send_frame(s, FRAME_JOB, job.data, job.len, err);
}

int session_restored(struct session *s, uint64_t now_ns, struct err *err)
{
    s->dec.next_seq = s->heard_seq != 0 ? s->heard_seq : 1; /* READY was the first frame */
    return send_job(s, now_ns, err);
}

static int on_ready(struct session *s, const struct frame *f, uint64_t now_ns, struct err *err)
{
    struct msg_ready ready = {0};
    struct err bad = ERR_INIT;

    if (msg_ready_decode(f->data, f->len, &ready, &bad) < 0) {
        decide(s, EVENT_PROTOCOL, now_ns, bad.msg);
        return 0;
    }
    if (ready.version != PROTO_VERSION) {
        decide(s, EVENT_PROTOCOL, now_ns, "the agent speaks another version of the protocol");
        return 0;
    }
    return send_job(s, now_ns, err);
}

/* Hands the part within the cap on; one byte more ends the job. */
static int on_stream(struct session *s, const struct frame *f, bool is_stderr, uint64_t now_ns,
                     struct err *err)
{
    struct session_stream *st = &s->streams[is_stderr];
    uint64_t room = st->cap - st->bytes;
    size_t take = f->len < room ? f->len : (size_t)room;
    int r = 0;

    if (is_stderr && take > 0) {
        size_t keep = take < SESSION_TAIL ? take : SESSION_TAIL;
        size_t old = s->tail_len < SESSION_TAIL - keep ? s->tail_len : SESSION_TAIL - keep;

        memmove(s->tail, s->tail + (s->tail_len - old), old);
        memcpy(s->tail + old, f->data + (take - keep), keep);
        s->tail_len = old + keep;
        s->tail[s->tail_len] = '\0';
    }
    if (take > 0) {
        r = s->sink.write(s->sink.ctx, is_stderr, f->data, take);
        if (r < 0) {
            return err_sys_num(err, -r, "keep the program's output");
        }
        st->bytes += take;
    }
    if (f->len > take && !st->truncated) {
        st->truncated = true;
        if (!s->ended) {
            decide(s, is_stderr ? EVENT_STDERR_CAP : EVENT_STDOUT_CAP, now_ns, NULL);
        }
    }
    return 0;
}

/* What the guest's kernel counted: told, never deciding. */
static void tell_counts(struct session *s, const struct msg_exit *e, uint64_t now_ns)
{
    char text[160];

    if (e->oom_kills > 0) {
        (void)snprintf(text, sizeof(text), "%u of the program's processes killed for memory%s",
                       (unsigned int)e->oom_kills,
                       e->oom_killed_main ? ", the main one among them" : ", not the main one");
        events_add(s->events, EVENT_OOM_KILL, now_ns, NULL, text);
    }
    if (e->pids_refused > 0) {
        (void)snprintf(text, sizeof(text), "%u new processes or threads refused at the pids limit",
                       (unsigned int)e->pids_refused);
        events_add(s->events, EVENT_PIDS_REFUSED, now_ns, NULL, text);
    }
}

static void on_exit_report(struct session *s, const struct frame *f, uint64_t now_ns)
{
    struct err bad = ERR_INIT;

    if (msg_exit_decode(f->data, f->len, &s->events->exit, &bad) < 0) {
        decide(s, EVENT_PROTOCOL, now_ns, bad.msg);
        return;
    }
    s->events->has_exit = true;
    s->exited_ns = now_ns;
    s->state = SESSION_COLLECT;
    tell_counts(s, &s->events->exit, now_ns);
    events_add(s->events, EVENT_EXIT, now_ns, NULL, NULL);
}

/* The answer to STOP. Everything is decided: one that makes no sense is only not believed. */
static void on_last_report(struct session *s, const struct frame *f, uint64_t now_ns)
{
    struct err bad = ERR_INIT;

    if (msg_exit_decode(f->data, f->len, &s->last_report, &bad) < 0) {
        s->closed = true; /* whoever sends this is asked nothing more */
        return;
    }
    s->answered = true;
    tell_counts(s, &s->last_report, now_ns);
}

static int on_output(struct session *s, const struct frame *f, uint64_t now_ns, struct err *err)
{
    if (f->len > s->output_max - s->output_bytes) {
        decide(s, EVENT_PROTOCOL, now_ns, "the output stream is longer than the caps allow");
        return 0;
    }
    s->output_bytes += f->len;
    return fd_write_full(s->output_fd, f->data, f->len, err);
}

/* Decides, or if nobody wants the outputs says that none is listed (docs/decisions/0024). */
static void over_cap(struct session *s, enum event_kind kind, uint64_t now_ns, const char *where)
{
    if (spec_wants_outputs(s->spec)) {
        decide(s, kind, now_ns, where);
        return;
    }
    s->outputs_cut = true;
    events_add(s->events, EVENT_OUTPUT_DROPPED, now_ns, event_name(kind), where);
}

static void on_output_end(struct session *s, const struct frame *f, uint64_t now_ns)
{
    struct msg_output_end end = {0};
    auto_buf struct buf shown = BUF_INIT(EVENT_DETAIL_MAX);
    struct err bad = ERR_INIT;

    if (msg_output_end_decode(f->data, f->len, &end, &bad) < 0) {
        decide(s, EVENT_PROTOCOL, now_ns, bad.msg);
        return;
    }
    s->collected_ns = now_ns;
    s->state = SESSION_DONE;
    if (end.name[0] != '\0') {
        (void)!buf_printf(&shown, "at '");
        (void)!str_escape(&shown, end.name, strlen(end.name), false);
        (void)!buf_printf(&shown, "'");
    }
    switch (end.status) {
    case MSG_OUTPUT_COMPLETE:
        break;
    case MSG_OUTPUT_BYTES:
        over_cap(s, EVENT_OUTPUT_BYTES_CAP, now_ns, (const char *)shown.data);
        break;
    case MSG_OUTPUT_FILES:
        over_cap(s, EVENT_OUTPUT_FILES_CAP, now_ns, (const char *)shown.data);
        break;
    case MSG_OUTPUT_DEPTH:
        over_cap(s, EVENT_OUTPUT_DEPTH_CAP, now_ns, (const char *)shown.data);
        break;
    case MSG_OUTPUT_ERROR:
        decide(s, EVENT_AGENT_FAILED, now_ns, "the agent could not read the output directory");
        break;
    }
}

static void on_failed(struct session *s, const struct frame *f, uint64_t now_ns)
{
    struct msg_failed m = {0};
    char e[128];
    const char *reason = NULL;
    auto_buf struct buf text = BUF_INIT(4096);
    struct err bad = ERR_INIT;

    if (msg_failed_decode(f->data, f->len, &m, &bad) < 0) {
        decide(s, EVENT_PROTOCOL, now_ns, bad.msg);
        return;
    }
    reason = strerror_r(m.errnum < 4096 ? (int)m.errnum : 0, e, sizeof(e));
    (void)!str_escape(&text, m.text, strlen(m.text), false);
    if (m.errnum > 0 && m.errnum < 4096 && strstr(m.text, reason) == NULL) {
        (void)!buf_printf(&text, ": %s", reason);
    }
    if (s->state == SESSION_START && strcmp(m.phase, "exec") == 0) {
        /* The agent did its part: what the caller wants to run is not in the image. */
        (void)!buf_printf(&text, "; the command must be an executable of the image");
        events_add(s->events, EVENT_REJECTED, now_ns, "command", (const char *)text.data);
        s->ended = true;
        return;
    }
    (void)!buf_printf(&text, " (the guest's agent, phase '");
    (void)!str_escape(&text, m.phase, strlen(m.phase), false);
    (void)!buf_printf(&text, "')");
    decide(s, EVENT_AGENT_FAILED, now_ns, (const char *)text.data);
}

static void on_credit(struct session *s, const struct frame *f, uint64_t now_ns)
{
    struct err bad = ERR_INIT;
    uint32_t bytes = 0;

    if (msg_credit_decode(f->data, f->len, &bytes, &bad) < 0) {
        decide(s, EVENT_PROTOCOL, now_ns, bad.msg);
        return;
    }
    /* Saturates: what is left of stdin is the most that can ever be used. */
    if (__builtin_add_overflow(s->stdin_credit, (uint64_t)bytes, &s->stdin_credit)) {
        s->stdin_credit = UINT64_MAX;
    }
}

/* True if a frame of this type may come in this state. */
static bool in_order(const struct session *s, enum frame_type type)
{
    switch ((int)type) {
    case FRAME_READY:
        return s->state == SESSION_BOOT;
    case FRAME_STARTED:
        return s->state == SESSION_START;
    case FRAME_STDOUT:
    case FRAME_STDERR:
    case FRAME_EXIT:
        return s->state == SESSION_RUN;
    case FRAME_CREDIT:
        return s->state == SESSION_START || s->state == SESSION_RUN;
    case FRAME_OUTPUT:
    case FRAME_OUTPUT_END:
        return s->state == SESSION_COLLECT;
    case FRAME_FAILED:
        return s->state != SESSION_DONE;
    default:
        return false;
    }
}

static int on_frame(struct session *s, const struct frame *f, uint64_t now_ns, struct err *err)
{
    bool stream = f->type == FRAME_STDOUT || f->type == FRAME_STDERR;

    if (s->ended) { /* decided: only the program's last words still count, and what was asked for */
        if (s->state != SESSION_RUN || s->answered) {
            return 0;
        }
        if (s->asked && f->type == FRAME_EXIT) {
            on_last_report(s, f, now_ns);
        }
        if (!stream) {
            return 0;
        }
    }
    if (!in_order(s, f->type)) {
        char text[96];

        (void)snprintf(text, sizeof(text), "frame type %d out of order", (int)f->type);
        decide(s, EVENT_PROTOCOL, now_ns, text);
        return 0;
    }
    switch ((int)f->type) {
    case FRAME_READY:
        return on_ready(s, f, now_ns, err);
    case FRAME_STARTED:
        s->started_ns = now_ns;
        s->state = SESSION_RUN;
        return 0;
    case FRAME_STDOUT:
    case FRAME_STDERR:
        return on_stream(s, f, f->type == FRAME_STDERR, now_ns, err);
    case FRAME_CREDIT:
        on_credit(s, f, now_ns);
        return 0;
    case FRAME_EXIT:
        on_exit_report(s, f, now_ns);
        return 0;
    case FRAME_OUTPUT:
        return on_output(s, f, now_ns, err);
    case FRAME_OUTPUT_END:
        on_output_end(s, f, now_ns);
        return 0;
    default:
        on_failed(s, f, now_ns);
        return 0;
    }
}

static int take_frames(struct session *s, uint64_t now_ns, struct err *err)
{
    for (;;) {
        struct err bad = ERR_INIT;
        struct frame f = {0};
        int r = frame_decoder_next(&s->dec, &f, &bad);

        if (r == 0) {
            return 0;
        }
        if (r < 0) {
            if (!s->ended) {
                decide(s, EVENT_PROTOCOL, now_ns, bad.msg);
            }
            s->closed = true; /* nothing behind a broken frame can be understood */
            return 0;
        }
        r = on_frame(s, &f, now_ns, err);
        if (r < 0) {
            return r;
        }
    }
}

int session_read(struct session *s, uint64_t now_ns, struct err *err)
{
    uint64_t total = 0;

    while (!s->closed && total < SESSION_READ_TURN) {
        uint8_t *at = NULL;
        size_t room = 0;
        ssize_t n = 0;
        int r = frame_decoder_space(&s->dec, &at, &room, err);

        if (r < 0) {
            return r;
        }
        n = recv(s->fd, at, room, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            return 0;
        }
        if (n <= 0) {
            s->closed = true; /* ECONNRESET is an end of file, too */
            return 0;
        }
        total += (uint64_t)n;
        frame_decoder_fed(&s->dec, (size_t)n);
        r = take_frames(s, now_ns, err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

static bool stdin_pending(const struct session *s)
{
    if (s->stdin_fd < 0 || s->stdin_done || s->state != SESSION_RUN || s->ended) {
        return false;
    }
    return s->stdin_at == s->stdin_size || s->stdin_credit > 0;
}

bool session_wants_write(const struct session *s)
{
    return !s->closed && (s->out.len > 0 || stdin_pending(s));
}

/* Queues the next piece of stdin within the credit, or its end. */
static int queue_stdin(struct session *s, struct err *err)
{
    uint8_t data[16384];
    uint64_t left = s->stdin_size - s->stdin_at;
    size_t want = left < sizeof(data) ? (size_t)left : sizeof(data);
    size_t got = 0;
    int r = 0;

    if (left == 0) {
        s->stdin_done = true;
        return send_frame(s, FRAME_STDIN_EOF, NULL, 0, err);
    }
    if (want > s->stdin_credit) {
        want = (size_t)s->stdin_credit;
    }
    r = fd_pread_full(s->stdin_fd, data, want, s->stdin_at, &got, err);
    if (r < 0) {
        return r;
    }
    if (got < want) {
        return err_set(err, ERR_HOST, EIO, "the stored stdin became shorter");
    }
    s->stdin_at += got;
    s->stdin_credit -= got;
    return send_frame(s, FRAME_STDIN, data, got, err);
}

int session_write(struct session *s, struct err *err)
{
    while (stdin_pending(s) && s->out.len < FRAME_DATA_MAX) {
        int r = queue_stdin(s, err);

        if (r < 0) {
            return r;
        }
    }
    while (s->out.len > 0) {
        ssize_t n = send(s->fd, s->out.data, s->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            return 0;
        }
        if (n < 0) {
            buf_consume(&s->out, s->out.len); /* the machine is gone; its end is seen elsewhere */
            return 0;
        }
        buf_consume(&s->out, (size_t)n);
    }
    return 0;
}

bool session_ask(struct session *s)
{
    struct err err = ERR_INIT;

    if (!s->ended || s->state != SESSION_RUN || s->closed || s->asked || s->out.len > 0) {
        return false;
    }
    if (send_frame(s, FRAME_STOP, NULL, 0, &err) < 0 || session_write(s, &err) < 0) {
        return false;
    }
    s->asked = s->out.len == 0;
    return s->asked;
}
