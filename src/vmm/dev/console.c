#include "vmm/dev/console.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "proto/wire.h"

#define DEVICE_ID   3u
#define F_MULTIPORT (1ull << 1)

/* Configuration space (5.3.4): columns and rows, then the number of ports, which counts port 0. */
#define CONFIG_MAX_PORTS 4
#define CONFIG_SIZE      8
#define MAX_PORTS        2u

/* Queues (5.3.2). Those of port 0 come first. */
enum queue {
    QUEUE_CONTROL_RX = 2,
    QUEUE_CONTROL_TX = 3,
    QUEUE_PORT_RX = 4,
    QUEUE_PORT_TX = 5,
    QUEUES
};

/* A control message: u32 port, u16 event, u16 value (5.3.6.2). */
#define CONTROL_SIZE 8u

enum event {
    EVENT_DEVICE_READY = 0,
    EVENT_PORT_ADD = 1,
    EVENT_PORT_READY = 3,
    EVENT_PORT_OPEN = 6,
    EVENT_PORT_NAME = 7
};

/* Of the saved state. */
#define SAVED_DEVICE_READY 1u
#define SAVED_PORT_READY   2u
#define SAVED_PORT_OPEN    4u

static const uint8_t port_name[] = {'a', 'i', 'r', 'l', 'o', 'c', 'k'}; /* without a NUL */

static struct console *console_of(struct virtio *dev)
{
    return (struct console *)dev;
}

static void tell(struct console *console, enum event event, uint16_t value)
{
    assert(console->n_waiting < CONSOLE_CONTROL_MAX);
    console->waiting[console->n_waiting++] = (struct console_message){(uint16_t)event, value};
}

/* The other end of the channel is gone. */
static void hang_up(struct console *console)
{
    if (!console->closed) {
        console->closed = true;
        if (console->port_ready) {
            tell(console, EVENT_PORT_OPEN, 0);
        }
    }
}

static int unreachable(struct err *err)
{
    return err_guest(err, "a buffer is not in RAM");
}

/* Bytes of a message in data, which has room for the longest. */
static size_t encode(const struct console_message *message, uint8_t *data)
{
    size_t name = message->event == EVENT_PORT_NAME ? sizeof(port_name) : 0;

    wire_put_u32(data, CONSOLE_PORT);
    wire_put_u16(data + 4, message->event);
    wire_put_u16(data + 6, message->value);
    memcpy(data + CONTROL_SIZE, port_name, name);
    return CONTROL_SIZE + name;
}

/* Hands out messages while there are buffers for them. */
static int send_control(struct console *console, struct err *err)
{
    struct virtio *dev = &console->dev;
    struct virtq *q = &dev->queues[QUEUE_CONTROL_RX];
    unsigned int n = 0;
    int r = 0;

    while (n < console->n_waiting && virtio_live(dev, QUEUE_CONTROL_RX)) {
        uint8_t data[CONTROL_SIZE + sizeof(port_name)];
        size_t len = encode(&console->waiting[n], data);
        struct virtq_chain c;

        r = virtq_pop(q, dev->mem, &c, err);
        if (r <= 0) {
            break;
        }
        if (c.n_out > 0 || c.in_bytes < len) {
            return err_guest(err, "a buffer for control messages that holds none");
        }
        if (virtq_chain_write(&c, dev->mem, 0, data, len) != (ssize_t)len) {
            return unreachable(err);
        }
        r = virtq_push(q, dev->mem, c.head, (uint32_t)len, err);
        if (r < 0) {
            return r;
        }
        n++;
    }
    console->n_waiting -= n;
    memmove(console->waiting, console->waiting + n,
            console->n_waiting * sizeof(console->waiting[0]));
    return r < 0 || n == 0 ? r : virtio_interrupt(dev, QUEUE_CONTROL_RX, err);
}

/* What the driver tells of its port. Again is no lie, and nothing new. */
static int heed(struct console *console, uint32_t port, uint16_t event, uint16_t value,
                struct err *err)
{
    if (event == EVENT_DEVICE_READY) {
        if (value == 1 && !console->device_ready) {
            console->device_ready = true;
            tell(console, EVENT_PORT_ADD, 1);
        }
        return 0;
    }
    if (port != CONSOLE_PORT || !console->device_ready ||
        (event != EVENT_PORT_READY && event != EVENT_PORT_OPEN)) {
        return err_guest(err, "control message %u of port %u", event, port);
    }
    if (event == EVENT_PORT_OPEN) {
        console->port_open = value != 0;
    } else if (value == 1 && !console->port_ready) {
        console->port_ready = true;
        tell(console, EVENT_PORT_NAME, 1);
        if (!console->closed) {
            tell(console, EVENT_PORT_OPEN, 1);
        }
    }
    return 0;
}

static int take_control(struct console *console, struct err *err)
{
    struct virtio *dev = &console->dev;
    struct virtq *q = &dev->queues[QUEUE_CONTROL_TX];
    struct virtq_chain c;
    unsigned int n = 0;
    int r = 0;

    while (n < VIRTIO_BUDGET) {
        uint8_t raw[CONTROL_SIZE];

        r = virtq_pop(q, dev->mem, &c, err);
        if (r <= 0) {
            break;
        }
        if (c.n_in > 0 || c.out_bytes != sizeof(raw)) {
            return err_guest(err, "a control message that is none");
        }
        if (virtq_chain_read(&c, dev->mem, 0, raw, sizeof(raw)) != sizeof(raw)) {
            return unreachable(err);
        }
        r = virtq_push(q, dev->mem, c.head, 0, err);
        if (r == 0) {
            r = heed(console, wire_get_u32(raw), wire_get_u16(raw + 4), wire_get_u16(raw + 6), err);
        }
        if (r < 0) {
            return r;
        }
        n++;
    }
    if (r >= 0 && n > 0) {
        r = virtio_interrupt(dev, QUEUE_CONTROL_TX, err);
    }
    return r < 0 ? r : n == VIRTIO_BUDGET;
}

/* 1 if the rest of the chain is in the socket, or went nowhere; 0 if the socket takes no more. */
static int send_partial(struct console *console, struct err *err)
{
    const struct virtq_chain *c = &console->partial;

    while (!console->closed && console->partial_done < c->out_bytes) {
        struct iovec iov[VIRTQ_SIZE_MAX];
        struct msghdr msg = {.msg_iov = iov};
        ssize_t sent = 0;
        int n = virtq_chain_iov(c, console->dev.mem, false, console->partial_done,
                                c->out_bytes - console->partial_done, iov);

        if (n < 0) {
            return unreachable(err);
        }
        msg.msg_iovlen = (size_t)n;
        sent = sendmsg(console->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            console->partial_done += (uint64_t)sent;
        } else if (errno == EAGAIN) {
            return 0;
        } else if (errno == EPIPE || errno == ECONNRESET) {
            hang_up(console);
        } else if (errno != EINTR) {
            return err_sys(err, "the channel: cannot send");
        }
    }
    return 1;
}

static int transmit(struct console *console, struct err *err)
{
    struct virtio *dev = &console->dev;
    struct virtq *q = &dev->queues[QUEUE_PORT_TX];
    unsigned int n = 0;
    int r = 0;

    while (n < VIRTIO_BUDGET) {
        if (!console->has_partial) {
            r = virtq_pop(q, dev->mem, &console->partial, err);
            if (r <= 0) {
                break;
            }
            if (console->partial.n_in > 0) {
                return err_guest(err, "a buffer to send that is one to receive");
            }
            console->has_partial = true;
            console->partial_done = 0;
        }
        r = send_partial(console, err);
        if (r <= 0) {
            break;
        }
        console->has_partial = false;
        r = virtq_push(q, dev->mem, console->partial.head, 0, err);
        if (r < 0) {
            return r;
        }
        n++;
    }
    if (r >= 0 && n > 0) {
        r = virtio_interrupt(dev, QUEUE_PORT_TX, err);
    }
    return r < 0 ? r : n == VIRTIO_BUDGET;
}

/* Bytes that came, straight into the guest's buffers; 0 if there are none now. */
static ssize_t receive_into(struct console *console, const struct virtq_chain *c, struct err *err)
{
    struct iovec iov[VIRTQ_SIZE_MAX];
    struct msghdr msg = {.msg_iov = iov};
    ssize_t got = -1;
    int n = virtq_chain_iov(c, console->dev.mem, true, 0, c->in_bytes, iov);

    if (n < 0) {
        return unreachable(err);
    }
    msg.msg_iovlen = (size_t)n;
    do {
        got = recvmsg(console->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got == 0 || (got < 0 && errno == ECONNRESET)) {
        hang_up(console);
        return 0;
    }
    if (got < 0) {
        return errno == EAGAIN ? 0 : err_sys(err, "the channel: cannot receive");
    }
    return got;
}

static int receive(struct console *console, struct err *err)
{
    struct virtio *dev = &console->dev;
    struct virtq *q = &dev->queues[QUEUE_PORT_RX];
    struct virtq_chain c;
    unsigned int n = 0;
    int r = 0;

    while (n < VIRTIO_BUDGET && console->port_open && !console->closed) {
        ssize_t got = 0;

        r = virtq_pop(q, dev->mem, &c, err);
        if (r <= 0) {
            break;
        }
        if (c.n_out > 0) {
            return err_guest(err, "a buffer to receive that is one to send");
        }
        got = receive_into(console, &c, err);
        if (got <= 0) {
            virtq_unpop(q, c.head);
            r = (int)got;
            break;
        }
        r = virtq_push(q, dev->mem, c.head, (uint32_t)got, err);
        if (r < 0) {
            return r;
        }
        n++;
    }
    if (r >= 0 && n > 0) {
        r = virtio_interrupt(dev, QUEUE_PORT_RX, err);
    }
    return r < 0 ? r : n == VIRTIO_BUDGET;
}

static int console_kick(struct virtio *dev, unsigned int q, struct err *err)
{
    struct console *console = console_of(dev);
    int more = 0;
    int r = 0;

    if (q == QUEUE_CONTROL_TX) {
        more = take_control(console, err);
    } else if (q == QUEUE_PORT_TX) {
        more = transmit(console, err);
    } else if (q == QUEUE_PORT_RX) {
        more = receive(console, err);
    }
    if (more < 0) {
        return more;
    }
    r = send_control(console, err);
    return r < 0 ? r : more;
}

static void console_reset(struct virtio *dev)
{
    struct console *console = console_of(dev);

    console->device_ready = console->port_ready = console->port_open = false;
    console->n_waiting = 0;
    console->has_partial = false;
}

static void console_save(const struct virtio *dev, struct wire_out *out)
{
    const struct console *console = (const struct console *)dev;

    if (!console_idle(console)) {
        out->error = -EBUSY;
    }
    wire_write_u32(out, (console->device_ready ? SAVED_DEVICE_READY : 0) |
                            (console->port_ready ? SAVED_PORT_READY : 0) |
                            (console->port_open ? SAVED_PORT_OPEN : 0));
}

static int console_load(struct virtio *dev, struct wire_in *in, struct err *err)
{
    struct console *console = console_of(dev);
    const uint8_t *at = wire_take(in, 4);
    uint32_t bits = at == NULL ? UINT32_MAX : wire_get_u32(at);

    if (bits > (SAVED_DEVICE_READY | SAVED_PORT_READY | SAVED_PORT_OPEN) ||
        (bits != 0 && (bits & SAVED_DEVICE_READY) == 0)) {
        return err_usage(err, "a port that is in no such state");
    }
    console->device_ready = (bits & SAVED_DEVICE_READY) != 0;
    console->port_ready = (bits & SAVED_PORT_READY) != 0;
    console->port_open = (bits & SAVED_PORT_OPEN) != 0;
    return 0;
}

static const struct virtio_ops ops = {
    .name = "console device",
    .device_id = DEVICE_ID,
    .features = F_MULTIPORT,
    .n_queues = QUEUES,
    .config_size = CONFIG_SIZE,
    .kick = console_kick,
    .reset = console_reset,
    .save = console_save,
    .load = console_load,
};

void console_init(struct console *console, const struct gmem *mem, unsigned int slot, int irq_fd,
                  int fd)
{
    *console = (struct console){.fd = fd};
    virtio_init(&console->dev, &ops, mem, slot, irq_fd);
    wire_put_u32(console->dev.config + CONFIG_MAX_PORTS, MAX_PORTS);
}

static bool waiting(const struct console *console, unsigned int q)
{
    return virtio_live(&console->dev, q) &&
           virtq_waiting(&console->dev.queues[q], console->dev.mem);
}

short console_events(const struct console *console)
{
    short events = 0;

    if (console->closed) {
        return 0;
    }
    if (console->port_open && waiting(console, QUEUE_PORT_RX)) {
        events |= POLLIN;
    }
    if (console->has_partial && virtio_live(&console->dev, QUEUE_PORT_TX)) {
        events |= POLLOUT;
    }
    return events;
}

int console_ready(struct console *console, struct err *err)
{
    int sent = virtio_kick(&console->dev, QUEUE_PORT_TX, err);
    int received = sent < 0 ? sent : virtio_kick(&console->dev, QUEUE_PORT_RX, err);

    return received < 0 ? received : sent | received;
}

bool console_idle(const struct console *console)
{
    return !console->closed && !console->has_partial && console->n_waiting == 0 &&
           !waiting(console, QUEUE_CONTROL_TX) && !waiting(console, QUEUE_PORT_TX);
}
