#include "sup/rehearsal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job/scratch.h"
#include "sup/session.h"
#include "sup/template-build.h"
#include "sup/template-internal.h"
#include "sup/template-scratch.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define TURN_MS 50
#define SAYS    "rehearsed\n"

struct rehearsal {
    const struct template_request *q;
    struct spec spec;
    struct stage stage;
    struct machine machine;
    struct session session;
    struct events events;
    int sink; /* for what it leaves in /out: nothing */
    bool restored;
    bool session_made;
    uint64_t begin_ns;
    size_t heard; /* bytes of SAYS on its stdout */
    bool garbled; /* it said something else */
};

static int hear(void *ctx, bool is_stderr, const uint8_t *data, size_t len)
{
    struct rehearsal *r = ctx;

    if (is_stderr || len > strlen(SAYS) - r->heard || memcmp(&SAYS[r->heard], data, len) != 0) {
        r->garbled = true;
    } else {
        r->heard += len;
    }
    return 0;
}

/* The monitor says when its machine runs: only then a job may be sent. */
static int hear_control(struct rehearsal *r, struct err *err)
{
    int n = r->q->engine->control(&r->machine, err);

    if (n == 1) {
        r->restored = true;
        n = session_restored(&r->session, clock_mono_ns() - r->begin_ns, err);
    }
    return n;
}

static int hear_channel(struct rehearsal *r, struct err *err)
{
    int n = session_read(&r->session, clock_mono_ns() - r->begin_ns, err);

    n = n < 0 ? n : session_write(&r->session, err);
    if (n == 0 && r->session.closed && !r->session.ended && r->session.state != SESSION_DONE) {
        return err_set(err, ERR_HOST, EPIPE, "the machine ended before its program's report");
    }
    return n;
}

static int serve(struct rehearsal *r, struct err *err)
{
    int n = 0;

    while (n >= 0 && r->session.state != SESSION_DONE && !r->session.ended) {
        bool writes = r->restored && session_wants_write(&r->session);
        struct pollfd p[] = {
            {.fd = r->restored ? r->machine.channel_fd : -1,
             .events = (short)(POLLIN | (writes ? POLLOUT : 0))},
            {.fd = r->machine.control_fd, .events = POLLIN},
            {.fd = r->machine.console_fd, .events = POLLIN},
        };

        if (poll(p, ARRAY_LEN(p), TURN_MS) < 0 && errno != EINTR) {
            return err_sys(err, "poll");
        }
        if (p[2].revents != 0) {
            template_hear_console(r->q, &r->machine);
        }
        n = p[1].revents != 0 ? hear_control(r, err) : 0;
        if (n >= 0 && p[0].revents != 0) {
            n = hear_channel(r, err);
        }
        n = n < 0
                ? n
                : template_check_time(r->q, r->begin_ns, "a program of one line did not end", err);
    }
    return n < 0 ? n : 0;
}

/* Its disks as a job without inputs has them, with the saved scratch filesystem. */
static int make_disks(struct rehearsal *r, int file, const struct template_footer *f,
                      struct err *err)
{
    int tmpfd = r->q->store->tmpfd;
    struct template t = {.memory_fd = file, .scratch_bytes = f->scratch_bytes};
    off_t end = lseek(file, 0, SEEK_END);
    int n = template_empty_input(tmpfd, &r->stage.input_fd, err);

    if (n == 0 && end < (off_t)f->scratch_bytes) {
        return err_sys(err, "lseek");
    }
    t.scratch_at = (uint64_t)end - f->scratch_bytes; /* it is the last */
    n = n < 0 ? n : scratch_open(tmpfd, &r->stage.scratch_fd, err);
    n = n < 0 ? n : template_scratch_fill(&t, r->q->config.mounted_bytes, r->stage.scratch_fd, err);
    return n < 0 ? n : fd_open_tmp(tmpfd, &r->sink, err);
}

static int start(struct rehearsal *r, int file, const struct template_footer *f, struct err *err)
{
    struct machine_config config = r->q->config;
    auto_fd int memory = -1;
    auto_fd int state = -1;
    int n = make_disks(r, file, f, err);

    n = n < 0 ? n : fd_reopen(file, O_RDONLY, &memory, err);
    n = n < 0 ? n : template_open_at(file, O_RDONLY, f->memory_bytes, &state, err);
    if (n < 0) {
        return n;
    }
    config.input_fd = r->stage.input_fd;
    config.scratch_fd = r->stage.scratch_fd;
    config.memory_fd = memory;
    config.state_fd = state;
    config.scratch_bytes = config.mounted_bytes;
    n = r->q->engine->start(&config, &r->machine, err);
    return n < 0 ? n : fd_set_nonblock(r->machine.console_fd, err);
}

static int begin(struct rehearsal *r, struct err *err)
{
    static const char python[] = "print('rehearsed')\n";
    static const char node[] = "console.log('rehearsed')\n";
    const char *program = r->spec.language == SPEC_PYTHON ? python : node;
    int n = 0;

    if (buf_put(&r->stage.program_data, program, strlen(program)) < 0) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    n = session_init(&r->session, r->machine.channel_fd, &r->spec, &r->events, err);
    if (n < 0) {
        return n;
    }
    r->session_made = true;
    r->session.sink = (struct session_sink){.write = hear, .ctx = r};
    r->session.output_fd = r->sink;
    r->session.stage = &r->stage;
    r->session.warm = true;
    return 0;
}

int rehearse(const struct template_request *q, int file, const struct template_footer *footer,
             struct rehearsal **ret, struct err *err)
{
    auto_rehearsal struct rehearsal *r = calloc(1, sizeof(*r));
    struct verdict verdict = {.reason = NULL};
    int n = 0;

    if (r == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    r->q = q;
    r->spec = *q->model; /* shallow; without what is a job's own */
    r->spec.n_args = r->spec.n_env = 0;
    r->stage = (struct stage)STAGE_INIT;
    r->machine = (struct machine)MACHINE_INIT;
    r->sink = -1;
    r->begin_ns = clock_mono_ns();
    n = start(r, file, footer, err);
    n = n < 0 ? n : begin(r, err);
    n = n < 0 ? n : serve(r, err);
    if (n < 0) {
        return n;
    }
    if (r->session.state != SESSION_DONE || r->garbled || r->heard != strlen(SAYS)) {
        verdict = verdict_decide(&r->events);
        return err_set(err, ERR_HOST, EPROTO, "it did not do what it should: %s",
                       verdict.decided_by != NULL ? verdict.decided_by->detail : "no word of it");
    }
    *ret = r;
    r = NULL;
    return 0;
}

pid_t rehearsal_pid(const struct rehearsal *r)
{
    return r->machine.proc.pid;
}

void rehearsal_free(struct rehearsal *r)
{
    if (r == NULL) {
        return;
    }
    if (r->session_made) {
        session_fini(&r->session);
    }
    machine_fini(&r->machine);
    fd_close_p(&r->sink);
    stage_fini(&r->stage);
    free(r);
}
