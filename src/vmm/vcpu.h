/*
 * vcpu.h - one virtual processor: its thread, its run loop, its exits.
 *
 * A processor leaves KVM_RUN for a port, for an address that is no RAM, because it is told to
 * (vcpu_kick(): a signal, with immediate_exit set first, so that none is lost), or for good. What an
 * exit names is bounded by KVM's own structure, which lies in memory that the guest cannot reach.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"
#include "base/err.h"

#include "vmm/kvm.h"

struct machine;

/* What a vCPU thread is asked to do when it next leaves the guest. */
enum vcpu_order {
    VCPU_GO,
    VCPU_PAUSE, /* wait until the order changes */
    VCPU_END
};

struct vcpu {
    struct machine *machine;
    unsigned int index; /* also its APIC id */
    int fd;             /* -1: none */
    struct kvm_run *run;
    size_t run_size;
    pthread_t thread;
    bool started;
    atomic_int order; /* enum vcpu_order */
    atomic_bool paused;
};

/* KVM's part of processor index, with its CPUID (cpuid.h). Released by vcpu_fini(). */
must_use int vcpu_make(struct machine *m, unsigned int index, struct vcpu *ret,
                       struct err *err) nonnull_all;
void vcpu_fini(struct vcpu *v) nonnull_all;

/* Starts its thread (which first enters its system call filter). ERR_HOST. */
must_use int vcpu_start(struct vcpu *v, struct err *err) nonnull_all;
/* Makes it leave the guest, from any thread. */
void vcpu_kick(struct vcpu *v) nonnull_all;
/* Its thread has ended. The order must be VCPU_END. */
void vcpu_join(struct vcpu *v) nonnull_all;
