/*
 * A hostile driver and a channel in any state: full, empty, closed. Messages to the driver stay few,
 * and a console that is idle has nothing in flight.
 */
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest.h"
#include "sys/fd.h"
#include "vmm/dev/console.h"

static void check(const struct console *console)
{
    guest_check(&console->dev);
    fuzz_check((console_events(console) & ~(POLLIN | POLLOUT)) == 0);
    fuzz_check(console->n_waiting <= CONSOLE_CONTROL_MAX);
}

static void check_idle(const struct console *console)
{
    auto_buf struct buf saved = BUF_INIT(4096);
    struct wire_out out = wire_out_start(&saved);

    if (console_idle(console) && !console->dev.broken) {
        virtio_save(&console->dev, &out);
        fuzz_check(wire_out_end(&out) == 0);
    }
}

static void peer_reads(int peer)
{
    uint8_t data[4096];
    ssize_t n = recv(peer, data, sizeof(data), MSG_DONTWAIT);

    if (n > 0) {
        fuzz_touch(data, (size_t)n);
    }
}

static void step(struct console *console, int *peer, const struct gmem *mem, struct wire_in *script)
{
    static const uint8_t data[300] = "what the supervisor says";
    struct err err = ERR_INIT;
    uint32_t op = script_take(script, 1);
    int r = 0;

    switch (op % 8) {
    case 0:
        guest_kick(&console->dev, op / 8 % 8);
        break;
    case 1:
        r = console_ready(console, &err);
        fuzz_check(r == 0 || r == 1);
        break;
    case 2:
        (void)send(*peer, data, script_take(script, 1) + 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        break;
    case 3:
        peer_reads(*peer);
        break;
    case 4:
        if (op / 8 % 4 == 0) {
            fd_close_p(peer);
        } else if (op / 8 % 4 == 1) {
            guest_start(&console->dev);
        }
        break;
    default:
        guest_meddle(mem, script);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_fd int irq_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    auto_fd int channel = -1;
    auto_fd int peer = -1;
    struct gmem mem;
    struct wire_in script = guest_load(data, size, &mem);
    struct console console;
    int fds[2];

    fuzz_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    channel = fds[0];
    peer = fds[1];
    console_init(&console, &mem, 0, irq_fd, channel);
    guest_start(&console.dev);
    for (unsigned int q = 0; q < VIRTIO_QUEUES_MAX; q++) {
        guest_kick(&console.dev, q);
        check(&console);
    }
    for (unsigned int ops = 0; ops < GUEST_OPS_MAX && script.left > 0; ops++) {
        step(&console, &peer, &mem, &script);
        check(&console);
    }
    check_idle(&console);
    return 0;
}
