/*
 * console.h - console device (virtio 1.2, section 5.3) with one port, number 1, named "airlock":
 * the agent's channel.
 *
 * Port 0, which every such device has, is not announced, and its queues are never looked at. What
 * the guest writes goes to the channel's socket; if that takes no more, the chain waits and so does
 * the guest (no growing buffer). What comes from the socket goes into buffers that the driver has
 * posted, once the guest has opened the port; before, it stays in the socket. Control messages of
 * the driver are read whole and bounded; ours wait in a small ring that cannot run over, since each
 * is sent once: port added; name and open; closed.
 */
#pragma once

#include "vmm/virtio.h"

#define CONSOLE_PORT        1u
#define CONSOLE_CONTROL_MAX 4u /* messages to the driver that wait for a buffer */

struct console_message {
    uint16_t event, value;
};

struct console {
    struct virtio dev;                        /* first */
    int fd;                                   /* borrowed: the channel, a stream socket */
    bool device_ready, port_ready, port_open; /* what the driver told */
    struct console_message waiting[CONSOLE_CONTROL_MAX]; /* to the driver, oldest first */
    unsigned int n_waiting;
    /* A chain that the socket did not take all of. */
    bool has_partial;
    struct virtq_chain partial;
    uint64_t partial_done;
    bool closed; /* the other end is gone: written to nowhere, nothing more comes */
};

void console_init(struct console *console, const struct gmem *mem, unsigned int slot, int irq_fd,
                  int fd) nonnull_all;

/*
 * What the event loop shall wait for on fd now: POLLIN, POLLOUT, both, or 0: nothing, not even that
 * it was hung up, which could be so for long. Changes with every call of this or a virtio function.
 */
must_use short console_events(const struct console *console) nonnull_all;
/* fd is ready for some of it. As virtio_kick(): 0, 1 (more is there) or ERR_HOST. */
must_use int console_ready(struct console *console, struct err *err) nonnull_all;
/*
 * True when everything the guest wrote is in the socket, every message of either side is taken and
 * the channel is not closed: only then may the machine be saved.
 */
must_use bool console_idle(const struct console *console) nonnull_all;
