/*
 * serial.h - what an early console needs of an 8250: a transmitter that is always empty.
 *
 * Bytes go into a ring of fixed size, from which the I/O thread empties them into the console's
 * pipe; when the ring is full, and so the pipe, they are dropped and counted (V17). Nothing is ever
 * received, there is no interrupt. SIGPIPE must be ignored: a pipe that nobody reads is as full.
 */
#pragma once

#include "base/base.h"

#define SERIAL_RING 4096u

struct serial {
    int fd;      /* borrowed, non-blocking; -1: there is no such device, or nobody reads */
    int wake_fd; /* eventfd of the loop, told when the ring is no longer empty; borrowed */
    unsigned int head, len;
    uint8_t line_control; /* its bit 7 turns registers 0 and 1 into the divisor */
    uint64_t dropped;
    uint8_t ring[SERIAL_RING];
};

void serial_init(struct serial *s, int fd, int wake_fd) nonnull_all;
/* Register 0 to 7. The machine's lock is held. */
must_use uint8_t serial_read(const struct serial *s, unsigned int reg) nonnull_all;
void serial_write(struct serial *s, unsigned int reg, uint8_t value) nonnull_all;
/* Writes what the pipe takes; drops all, for good, if nobody reads it. True if something is left. */
must_use bool serial_flush(struct serial *s) nonnull_all;
