/*
 * vcpu.h - one virtual processor: its run loop, its exits, its thread.
 *
 * A processor leaves KVM_RUN for a port, for an address that is no RAM, because it is told to
 * (vcpu_kick(): a signal, with immediate_exit set first, so that none is lost), or for good. What an
 * exit names is bounded by KVM's own structure, which lies in memory that the guest cannot reach.
 */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/base.h"
#include "base/err.h"

#include "vmm/kvm.h"

struct machine;

/* What a vCPU thread is asked to do when it next leaves the guest. */
enum vcpu_order {
    VCPU_GO,
    VCPU_PAUSE, /* stand still until the order changes */
    VCPU_END
};

struct vcpu {
    struct machine *machine;
    unsigned int index; /* also its APIC id */
    int fd;             /* -1: none */
    struct kvm_run *run;
    size_t run_size;
    pthread_t thread;
    bool started;     /* it has a thread */
    atomic_int order; /* enum vcpu_order */
    bool paused;      /* it stands still, or has ended; the machine's lock */
};

/* The signal that vcpu_kick() sends; vcpu_prepare() installs its empty handler, once a process. */
#define VCPU_SIGNAL SIGUSR1
must_use int vcpu_prepare(struct err *err) nonnull_all;

/* KVM's part of processor index, without a CPUID. Released by vcpu_fini(). */
must_use int vcpu_make(struct machine *m, unsigned int index, struct vcpu *ret,
                       struct err *err) nonnull_all;
void vcpu_fini(struct vcpu *v) nonnull_all;

/* Tells KVM what it is: machine.cpuid, and its APIC id. Before it runs; ERR_HOST. */
must_use int vcpu_set_cpuid(struct vcpu *v, struct err *err) nonnull_all;

/* Enters the filter of the processors' threads, then runs the guest until the end. */
void vcpu_run(struct vcpu *v) nonnull_all;
/* Starts a thread that does so. ERR_HOST. */
must_use int vcpu_start(struct vcpu *v, struct err *err) nonnull_all;
/* The calling thread will do so. */
void vcpu_adopt(struct vcpu *v) nonnull_all;
/* Gives an order and makes it leave the guest to see it, from any other thread. */
void vcpu_kick(struct vcpu *v, enum vcpu_order order) nonnull_all;
/* The thread of vcpu_start() has ended, if there is one. The order must be VCPU_END. */
void vcpu_join(struct vcpu *v) nonnull_all;
