/*
 * snapshot.h - the state of a machine beside its RAM: one small file, written once, read many times.
 *
 *    0  magic "ALKVMST1"    8 bytes
 *    8  u32 version         SNAPSHOT_VERSION
 *   12  u32 length          bytes of what follows the header
 *   16  u64 checksum        snapshot_sum() of what follows (damage, not malice: the template's digest is for that)
 *   24  sections            u32 tag, u32 length, bytes; in this order, each exactly once, no others
 *
 * Sections: MACH (memory bytes, vCPUs, slots, sleep register), CPUI (the table the guest saw), one
 * VCPU per processor in order, CHIP (3 x struct kvm_irqchip), CLCK, one DEVI per slot in order. The
 * interrupt controllers come after the processors: what the IO-APIC injects when it is set must not be
 * overwritten with a LAPIC. Every count and length is bounded before it is used, every section must
 * be used to its end, and the machine must be made like the one that was saved.
 */
#pragma once

#include "base/buf.h"

#include "vmm/machine.h"

#define SNAPSHOT_VERSION   3u
#define SNAPSHOT_BYTES_MAX (1 * MIB)

/* All processors must be paused, every device idle. Writes to fd at its offset, whole. */
must_use int snapshot_save(struct machine *m, int fd, struct err *err) nonnull_all;

/*
 * Reads fd from its offset, as many bytes as the header says, and fills a machine that machine_make()
 * made for it. ERR_USAGE: damaged, another version, another machine, or a CPU that cannot carry it, in words.
 */
must_use int snapshot_restore(struct machine *m, int fd, struct err *err) nonnull_all;

/* The parts, for tests and fuzzing: nothing of KVM in them. */
/* In words, since a clone waits for it. */
uint64_t snapshot_sum(const uint8_t *data, size_t len) nonnull_all;
/* Header and checksum: 0 and what follows, or ERR_USAGE. data outlives *ret. */
must_use int snapshot_open(const uint8_t *data, size_t len, struct wire_in *ret, struct err *err)
    nonnull_args(3, 4);
/* The next section, which must have this tag. ERR_USAGE. */
must_use int snapshot_next(struct wire_in *in, uint32_t tag, struct wire_in *ret_body,
                           struct err *err) nonnull_all;

/* vcpu-state.c: all of a processor's state, in the order in which KVM wants it back. */
must_use int vcpu_save(const struct vcpu *v, struct wire_out *out, struct err *err) nonnull_all;
must_use int vcpu_restore(struct vcpu *v, struct wire_in *in, struct err *err) nonnull_all;
