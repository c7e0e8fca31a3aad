/*
 * machine.h - the machine: memory, interrupt controllers, processors, devices, and the threads that
 * run it.
 *
 * Threads: each processor has one (vcpu.h), the first one that which made the machine; the I/O thread
 * (machine_serve()) polls over kicks, channel, console and control. One lock guards every device; a
 * vCPU thread takes it for a register access, the I/O thread for a batch of requests, nobody while
 * it waits.
 */
#pragma once

#include <pthread.h>

#include "base/base.h"
#include "base/err.h"

#include "vmm/cpuid.h"
#include "vmm/dev/blk.h"
#include "vmm/dev/console.h"
#include "vmm/dev/rng.h"
#include "vmm/dev/serial.h"
#include "vmm/gmem.h"
#include "vmm/kvm.h"
#include "vmm/layout.h"
#include "vmm/start.h"
#include "vmm/vcpu.h"

/* As the arguments say; checked when parsed (options.h). */
struct machine_options {
    uint64_t memory_bytes;
    unsigned int vcpus;
    bool disks, restore, console;
    bool memory_file; /* START_FD_MEMORY and START_FD_CONTROL are there; no argument says so */
    bool writes;      /* START_FD_WRITES is there, too */
    const char *cmdline;
};

/* Why a machine came to its end; the first one counts. */
enum machine_end {
    MACHINE_RUNS,
    MACHINE_OFF,   /* the guest switched off, restarted or shut down, or was saved */
    MACHINE_GUEST, /* it did what ends its run: a broken device, an exit that none may cause */
    MACHINE_HOST,  /* the host failed us */
};

struct machine {
    const struct machine_options *options; /* borrowed */
    struct kvm_host kvm;
    /* What its processors are: this host's, until snapshot_restore() puts the saved one here. */
    struct cpuid_table cpuid;
    int vm_fd;
    struct gmem mem;
    unsigned int n_vcpus;
    struct vcpu vcpus[LAYOUT_VCPUS_MAX];

    pthread_cond_t turn;  /* a processor's order or state changed */
    pthread_mutex_t lock; /* of everything below, and of the processors' state */
    struct blk root, input, scratch;
    struct console console;
    struct rng rng;
    struct serial serial;
    struct virtio *devices[LAYOUT_DEVICES]; /* by slot; NULL: not in this machine */
    int irq_fds[LAYOUT_DEVICES];
    int kick_fds[LAYOUT_DEVICES]; /* ioeventfds on QueueNotify; one for all queues of a device */
    uint8_t sleep_control;

    int stop_fd; /* eventfd: the end was decided, or the ring of the serial port is not empty */
    enum machine_end end;
    struct err why;
};

/*
 * Makes the machine that the options and descriptors describe, up to before its first instruction:
 * its memory, KVM's side of it, devices. Then either boot_load() or snapshot_restore() fills it.
 * *ret is zeros, or was freed.
 */
must_use int machine_make(const struct machine_options *options, struct machine *ret,
                          struct err *err) nonnull_all;
void machine_free(struct machine *m) nonnull_all;
/* Bit N: it has a device in slot N. */
uint32_t machine_slots(const struct machine *m) nonnull_all;

/*
 * Starts all threads. io(m) is the I/O thread's life: it calls machine_serve() and ends the process, or
 * returns. The caller becomes processor 0, behind its filter; 0 when all threads have ended. ERR_HOST:
 * nothing runs.
 */
must_use int machine_run(struct machine *m, void *(*io)(void *), struct err *err) nonnull_all;
/* Serves the processors until all have ended. ERR_GUEST or ERR_HOST; 0: MACHINE_OFF. */
must_use int machine_serve(struct machine *m, struct err *err) nonnull_all;
/* A thread with a small stack; what names it in the error. ERR_HOST. */
must_use int machine_thread(void *(*run)(void *), void *arg, pthread_t *ret,
                            struct err *err) nonnull_all;

/*
 * The end, from any thread that does not hold the lock; the first one counts. why may be NULL for
 * MACHINE_OFF.
 */
void machine_stop(struct machine *m, enum machine_end end, const struct err *why) nonnull_args(1);

/*
 * What the guest asked of the world outside RAM; called by vCPU threads without the lock.
 * is_write: data is what it wrote; else data gets what it reads (all ones where nothing is).
 */
void machine_mmio(struct machine *m, uint64_t gpa, bool is_write, uint8_t *data,
                  unsigned int size) nonnull_all;
void machine_port(struct machine *m, uint16_t port, bool is_write, uint8_t *data,
                  unsigned int size) nonnull_all;

/*
 * Every processor stands still between two instructions, for good. I/O thread; ERR_HOST, also if the machine has come to its end meanwhile.
 */
must_use int machine_pause(struct machine *m, struct err *err) nonnull_all;
/* KVM no longer hears the devices' interrupts; those that were raised have arrived. ERR_HOST. */
must_use int machine_mute(struct machine *m, struct err *err) nonnull_all;
