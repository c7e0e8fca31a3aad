/*
 * How it works: poll() over a fixed set of descriptors, the same for every machine, so that starting
 * one costs no system call. A kick is noted for all queues of its device; each round serves every
 * noted queue once, within its budget, and then looks at everything else: no device starves another.
 * The lock is held for a round and never while waiting.
 */
#include "vmm/loop.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "sys/clock.h"
#include "vmm/control.h"

enum watch {
    WATCH_STOP,
    WATCH_CHANNEL,
    WATCH_CONTROL,
    WATCH_SERIAL,
    WATCH_KICKS,
    WATCHES = WATCH_KICKS + LAYOUT_DEVICES
};

#define ALL_QUEUES ((1u << VIRTIO_QUEUES_MAX) - 1)

struct loop {
    struct pollfd fds[WATCHES];
    uint32_t kicked[LAYOUT_DEVICES]; /* bit N: queue N is to be served */
    bool has_control, serial_left, again;
};

static void watch(struct loop *loop, unsigned int i, int fd, short events)
{
    loop->fds[i] = (struct pollfd){.fd = events != 0 ? fd : -1, .events = events};
}

static void init(struct loop *loop, const struct machine *m)
{
    *loop = (struct loop){.has_control = m->options->memory_file};
    watch(loop, WATCH_STOP, m->stop_fd, POLLIN);
    for (unsigned int slot = 0; slot < LAYOUT_DEVICES; slot++) {
        watch(loop, WATCH_KICKS + slot, m->kick_fds[slot], POLLIN);
        /* What the saved machine's driver had kicked when it was stopped. */
        loop->kicked[slot] = m->options->restore ? ALL_QUEUES : 0;
    }
}

static int serve_queues(struct machine *m, struct loop *loop, struct err *err)
{
    for (unsigned int slot = 0; slot < LAYOUT_DEVICES; slot++) {
        struct virtio *dev = m->devices[slot];

        if (dev == NULL) {
            continue;
        }
        for (unsigned int q = 0; q < dev->ops->n_queues; q++) {
            if ((loop->kicked[slot] & (1u << q)) == 0) {
                continue;
            }
            int r = virtio_kick(dev, q, err);
            if (r < 0) {
                return r;
            }
            loop->again = loop->again || r > 0;
            loop->kicked[slot] &= r > 0 ? ALL_QUEUES : ~(1u << q);
        }
    }
    return 0;
}

/* A device whose driver lied ends the run. */
static bool find_broken(const struct machine *m, struct err *ret_why)
{
    for (unsigned int slot = 0; slot < LAYOUT_DEVICES; slot++) {
        if (m->devices[slot] != NULL && m->devices[slot]->broken) {
            *ret_why = m->devices[slot]->why;
            return true;
        }
    }
    return false;
}

static void take_kicks(struct machine *m, struct loop *loop)
{
    eventfd_t n = 0;

    if (loop->fds[WATCH_STOP].revents != 0) {
        (void)eventfd_read(m->stop_fd, &n);
    }
    for (unsigned int slot = 0; slot < LAYOUT_DEVICES; slot++) {
        if (loop->fds[WATCH_KICKS + slot].revents != 0) {
            (void)eventfd_read(m->kick_fds[slot], &n);
            loop->kicked[slot] = ALL_QUEUES;
        }
    }
}

/* One round over everything that is ready; the lock is held. */
static int serve(struct machine *m, struct loop *loop, struct err *err)
{
    loop->again = false;
    take_kicks(m, loop);
    int r = serve_queues(m, loop, err);
    if (r == 0 && loop->fds[WATCH_CHANNEL].revents != 0) {
        r = console_ready(&m->console, err);
    }
    if (m->serial.fd >= 0) {
        loop->serial_left = serial_flush(&m->serial);
    }
    return r < 0 ? r : 0;
}

static int wait_ready(struct loop *loop, int timeout_ms, struct err *err)
{
    if (poll(loop->fds, WATCHES, timeout_ms) < 0) {
        if (errno != EINTR) {
            return err_sys(err, "poll");
        }
        for (unsigned int i = 0; i < WATCHES; i++) {
            loop->fds[i].revents = 0;
        }
    }
    return 0;
}

/* A round under the lock: 1 if the end has come. */
static int round_locked(struct machine *m, struct loop *loop, struct err *err)
{
    struct err why = ERR_INIT;

    (void)pthread_mutex_lock(&m->lock);
    int r = serve(m, loop, err);
    bool broken = r == 0 && find_broken(m, &why);
    bool ended = m->end != MACHINE_RUNS;
    watch(loop, WATCH_CHANNEL, m->console.fd, console_events(&m->console));
    (void)pthread_mutex_unlock(&m->lock);
    if (broken) {
        machine_stop(m, MACHINE_GUEST, &why);
    }
    return r < 0 ? r : broken || ended;
}

int loop_run(struct machine *m, struct err *err)
{
    struct loop loop;

    init(&loop, m);
    for (;;) {
        int r = round_locked(m, &loop, err);
        if (r != 0) {
            return r < 0 ? r : 0;
        }
        watch(&loop, WATCH_CONTROL, START_FD_CONTROL, loop.has_control ? POLLIN : 0);
        watch(&loop, WATCH_SERIAL, m->serial.fd, loop.serial_left ? POLLOUT : 0);
        r = wait_ready(&loop, loop.again ? 0 : -1, err);
        if (r == 0 && loop.fds[WATCH_CONTROL].revents != 0) {
            r = control_serve(m, err);
            loop.has_control = r == 0;
        }
        if (r < 0) {
            return r;
        }
    }
}

int loop_drain(struct machine *m, struct err *err)
{
    uint64_t end_ns = clock_mono_ns() + LOOP_DRAIN_NS;
    struct loop loop;

    init(&loop, m);
    for (unsigned int slot = 0; slot < LAYOUT_DEVICES; slot++) {
        loop.kicked[slot] = ALL_QUEUES;
    }
    do {
        int r = round_locked(m, &loop, err);
        if (r != 0) {
            return r < 0 ? r : err_set(err, ERR_HOST, ESRCH, "the machine came to its end first");
        }
        (void)pthread_mutex_lock(&m->lock);
        bool idle = !loop.again && console_idle(&m->console);
        (void)pthread_mutex_unlock(&m->lock);
        if (idle) {
            return 0;
        }
        r = wait_ready(&loop, loop.again ? 0 : 100, err);
        if (r < 0) {
            return r;
        }
    } while (clock_mono_ns() < end_ns);
    return err_set(err, ERR_HOST, ETIMEDOUT,
                   "what the guest wrote to the channel is not read within %llu s",
                   (unsigned long long)(LOOP_DRAIN_NS / NS_PER_S));
}
