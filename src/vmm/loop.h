/* loop.h - what the I/O thread does: waits for the devices' and the supervisor's descriptors. */
#pragma once

#include "vmm/machine.h"

/* Serves them until machine.end is set. ERR_HOST. */
must_use int loop_run(struct machine *m, struct err *err) nonnull_all;

/*
 * With every processor standing still: all that the guest asked of its devices is done, and what it
 * wrote to the channel is in the socket. ERR_HOST if that takes longer than LOOP_DRAIN_NS.
 */
must_use int loop_drain(struct machine *m, struct err *err) nonnull_all;
#define LOOP_DRAIN_NS (5 * NS_PER_S)
