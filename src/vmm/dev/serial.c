#include "vmm/dev/serial.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

/* Registers of an 8250. */
#define REG_DATA         0u
#define REG_LINE_CONTROL 3u
#define REG_LINE_STATUS  5u

#define LINE_CONTROL_DIVISOR 0x80u /* registers 0 and 1 are the divisor's low and high byte */
#define LINE_STATUS_EMPTY    0x60u /* transmitter and its holding register */
#define DIVISOR_LOW          1u    /* 115200 bits/s: the kernel's boot code divides by it */

void serial_init(struct serial *s, int fd, int wake_fd)
{
    s->fd = fd;
    s->wake_fd = wake_fd;
    s->head = 0;
    s->len = 0; /* of the ring nothing is read that was not written */
    s->line_control = 0;
    s->dropped = 0;
}

/* Registers that read as zero make Linux's driver proper, which wants interrupts, stay away. */
uint8_t serial_read(const struct serial *s, unsigned int reg)
{
    switch (reg) {
    case REG_DATA:
        return (s->line_control & LINE_CONTROL_DIVISOR) != 0 ? DIVISOR_LOW : 0;
    case REG_LINE_CONTROL:
        return s->line_control;
    case REG_LINE_STATUS:
        return LINE_STATUS_EMPTY;
    default:
        return 0;
    }
}

void serial_write(struct serial *s, unsigned int reg, uint8_t value)
{
    if (reg == REG_LINE_CONTROL) {
        s->line_control = value;
        return;
    }
    if (reg != REG_DATA || (s->line_control & LINE_CONTROL_DIVISOR) != 0 || s->fd < 0) {
        return;
    }
    if (s->len == SERIAL_RING) {
        s->dropped++;
        return;
    }
    s->ring[(s->head + s->len) % SERIAL_RING] = value;
    s->len++;
    if (s->len == 1) {
        /* A counter that is full wakes the loop as well. */
        (void)eventfd_write(s->wake_fd, 1);
    }
}

bool serial_flush(struct serial *s)
{
    while (s->len > 0) {
        unsigned int first = SERIAL_RING - s->head < s->len ? SERIAL_RING - s->head : s->len;
        struct iovec iov[] = {{s->ring + s->head, first}, {s->ring, s->len - first}};
        ssize_t n = writev(s->fd, iov, ARRAY_LEN(iov));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            return true;
        }
        if (n <= 0) {
            s->fd = -1;
            s->dropped += s->len;
            n = (ssize_t)s->len;
        }
        s->head = (s->head + (unsigned int)n) % SERIAL_RING;
        s->len -= (unsigned int)n;
    }
    return false;
}
