/*
 * rig.h - a machine of machine_make() on the fake KVM, with the descriptors of start.h, for tests. The
 * processors' guest is a function of the test (fake_kvm_on_run()); system call filters are off: they
 * would be the test's own.
 */
#pragma once

#include <sys/types.h>

#include "vmm/machine.h"

struct rig {
    struct machine_options options;
    struct machine machine;
    struct err served;             /* what machine_serve() said in rig_go() */
    int channel, control, console; /* the supervisor's ends */
    /* By number of start.h: ours, and what the test's caller had there (-1: nothing). */
    bool given[START_FD_KVM + 1];
    int before[START_FD_KVM + 1];
};

/* fd at a number that start.h does not use; for what a test opens before rig_setup(). */
int rig_out_of_the_way(int fd);
/* The machine is made; disks, memory file and control socket as the options say. */
void rig_setup(struct rig *rig, const struct machine_options *options) nonnull_all;
/* The descriptors alone, for tests in which making it fails. */
void rig_open(struct rig *rig, const struct machine_options *options) nonnull_all;
void rig_close(struct rig *rig) nonnull_all;

/* machine_run() with machine_serve() as the I/O thread; what the latter said, or why it did not run. */
must_use int rig_go(struct rig *rig, struct err *err) nonnull_all;

/* 128 MiB, one processor, an early console. */
extern const struct machine_options rig_plain;

/* A processor's run page, by its descriptor. */
struct kvm_run *rig_run(struct rig *rig, int fd) nonnull_all;

/* What a guest does: each fills the run page and returns what KVM_RUN returns. */
int rig_port(struct kvm_run *run, uint16_t port, uint8_t value) nonnull_all;
int rig_exit(struct kvm_run *run, uint32_t reason) nonnull_all;
/* Runs until the monitor wants it back, as a guest that does nothing. */
int rig_spin(struct kvm_run *run) nonnull_all;
