#include "sup/template-build.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

#include "job/scratch.h"
#include "job/stage.h"
#include "proto/frame.h"
#include "proto/msg.h"
#include "sup/template-internal.h"
#include "sup/template-scratch.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define TURN_MS    50
#define LAST_TURNS 64 /* of a KiB */
#define LAST_MS    1000

struct build {
    const struct template_request *q;
    struct machine machine;
    struct frame_decoder dec;
    uint64_t begin_ns;
    struct msg_ready ready;
    bool is_ready;
    bool is_saved;
};

int template_empty_input(int tmpfd, int *ret, struct err *err)
{
    auto_fd int fd = -1;
    int r = fd_open_tmp(tmpfd, &fd, err);

    if (r == 0 && ftruncate(fd, (off_t)STAGE_INPUT_DEVICE_BYTES) < 0) {
        return err_sys(err, "size an empty disk");
    }
    return r < 0 ? r : fd_reopen(fd, O_RDONLY, ret, err);
}

void template_hear_console(const struct template_request *q, struct machine *m)
{
    char chunk[1024];
    ssize_t n = read(m->console_fd, chunk, sizeof(chunk));

    if (n > 0) {
        q->console(q->ctx, chunk, (size_t)n);
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
        fd_close_p(&m->console_fd);
    }
}

int template_check_time(const struct template_request *q, uint64_t begin_ns, const char *what,
                        struct err *err)
{
    uint64_t most = q->boot_ns == 0 ? TEMPLATE_DEADLINE_NS : q->boot_ns;

    if (q->stop != NULL && q->stop(q->ctx)) {
        return err_set(err, ERR_LIMIT, ECANCELED, "stopped while a template was built");
    }
    if (clock_mono_ns() - begin_ns > most) {
        return err_set(err, ERR_HOST, ETIMEDOUT,
                       "%s in %" PRIu64 " s; if this host is only slow or busy: airlock template "
                       "build --patience 10m",
                       what, (uint64_t)(most / NS_PER_S));
    }
    return 0;
}

static int on_frame(struct build *b, const struct frame *f, struct err *err)
{
    int r = 0;

    if (f->type == FRAME_FAILED) {
        return err_set(err, ERR_HOST, EPROTO, "the guest's agent could not do its part");
    }
    if (f->type != FRAME_READY) {
        return err_guest(err, "frame type %d before READY", (int)f->type);
    }
    r = msg_ready_decode(f->data, f->len, &b->ready, err);
    if (r == 0 && b->ready.version != PROTO_VERSION) {
        return err_set(err, ERR_HOST, EPROTO, "the agent speaks another version of the protocol");
    }
    b->is_ready = r == 0;
    return r;
}

static int read_channel(struct build *b, struct err *err)
{
    struct frame frame = {0};
    uint8_t *at = NULL;
    size_t room = 0;
    ssize_t n = 0;
    int r = frame_decoder_space(&b->dec, &at, &room, err);

    if (r < 0) {
        return r;
    }
    n = read(b->machine.channel_fd, at, room);
    if (n < 0 && errno == EINTR) {
        return 0;
    }
    if (n <= 0) {
        return err_set(err, ERR_HOST, EPIPE, "the machine ended before its agent was ready");
    }
    frame_decoder_fed(&b->dec, (size_t)n);
    r = frame_decoder_next(&b->dec, &frame, err);
    return r == 1 ? on_frame(b, &frame, err) : r;
}

static int read_control(struct build *b, struct err *err)
{
    int r = b->q->engine->control(&b->machine, err);

    b->is_saved = r == 1;
    return r < 0 ? r : 0;
}

/* Serves the machine until *done. */
static int serve_until(struct build *b, const bool *done, struct err *err)
{
    while (!*done) {
        struct pollfd p[] = {
            {.fd = b->is_ready ? -1 : b->machine.channel_fd, .events = POLLIN},
            {.fd = b->machine.control_fd, .events = POLLIN},
            {.fd = b->machine.console_fd, .events = POLLIN},
        };
        int r = 0;

        if (poll(p, ARRAY_LEN(p), TURN_MS) < 0 && errno != EINTR) {
            return err_sys(err, "poll");
        }
        if (p[2].revents != 0) {
            template_hear_console(b->q, &b->machine);
        }
        if (p[0].revents != 0) {
            r = read_channel(b, err);
        }
        if (r == 0 && p[1].revents != 0) {
            r = read_control(b, err);
        }
        if (r < 0) {
            return r;
        }
        r = *done ? 0
                  : template_check_time(b->q, b->begin_ns, "the machine was not ready to be saved",
                                        err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

/* The offset belongs to the open file: the monitor's descriptor starts behind the memory. */
static int save(struct build *b, int file, uint64_t offset, struct err *err)
{
    auto_fd int fd = -1;
    int r = template_open_at(file, O_RDWR, offset, &fd, err);

    if (b->q->progress != NULL) {
        b->q->progress(b->q->ctx, TEMPLATE_STEP_SAVE);
    }
    if (r == 0) {
        r = b->q->engine->save(&b->machine, fd, err);
    }
    return r < 0 ? r : serve_until(b, &b->is_saved, err);
}

/* Empty, or with the filesystem that the guest mounts before it is saved. */
static int make_scratch(const struct machine_config *config, int tmpfd, int *ret, struct err *err)
{
    const struct spec_limits limits = {.disk_bytes = config->mounted_bytes,
                                       .inodes = config->mounted_inodes};
    auto_scratch struct scratch scratch = SCRATCH_INIT;
    int r = scratch_open(tmpfd, ret, err);

    if (r < 0 || config->mounted_bytes == 0) {
        return r;
    }
    r = scratch_start(&limits, *ret, &scratch, err);
    return r < 0 ? r : scratch_finish(&scratch, err);
}

static int boot_and_save(struct build *b, int file, struct template_footer *ret, struct err *err)
{
    struct machine_config config = b->q->config;
    auto_fd int input = -1;
    auto_fd int scratch = -1;
    int tmpfd = b->q->store->tmpfd;
    int r = template_empty_input(tmpfd, &input, err);

    if (r == 0) {
        r = make_scratch(&config, tmpfd, &scratch, err);
    }
    if (r < 0) {
        return r;
    }
    config.input_fd = input;
    config.scratch_fd = scratch;
    config.memory_fd = file;
    config.state_fd = -1;
    config.group = NULL;
    config.scratch_bytes = config.memory_bytes + TEMPLATE_STATE_MAX;
    b->begin_ns = clock_mono_ns();
    r = b->q->engine->start(&config, &b->machine, err);
    if (r == 0) {
        r = serve_until(b, &b->is_ready, err);
    }
    if (r == 0) {
        r = save(b, file, config.memory_bytes, err);
    }
    if (r < 0 || config.mounted_bytes == 0) {
        return r;
    }
    machine_fini(&b->machine); /* saved, and stopped: nothing comes to its disk any more */
    b->machine = (struct machine)MACHINE_INIT;
    return template_scratch_save(scratch, config.mounted_bytes, file, &ret->scratch_bytes, err);
}

/* What a machine that failed had still to say: its console ends with the monitor. */
static void hear_last_words(struct build *b)
{
    struct pollfd p = {.fd = b->machine.console_fd, .events = POLLIN};

    if (b->machine.proc.pid > 0) {
        proc_kill(&b->machine.proc);
    }
    for (int turns = 0; turns < LAST_TURNS && p.fd >= 0 && poll(&p, 1, LAST_MS) == 1; turns++) {
        template_hear_console(b->q, &b->machine);
        p.fd = b->machine.console_fd;
    }
}

int template_boot_and_save(const struct template_request *q, int file, struct template_footer *ret,
                           struct err *err)
{
    auto_free struct build *b = calloc(1, sizeof(*b));
    int r = 0;

    if (b == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    b->q = q;
    b->machine = (struct machine)MACHINE_INIT;
    frame_decoder_init(&b->dec, FRAME_TO_HOST);
    r = boot_and_save(b, file, ret, err);
    if (r < 0) {
        hear_last_words(b);
    } else {
        ret->interpreter = b->ready.interpreter;
    }
    machine_fini(&b->machine);
    frame_decoder_fini(&b->dec);
    return r;
}
