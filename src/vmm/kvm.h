/*
 * kvm.h - the one door to KVM: ioctls by name, with the error's words.
 *
 * Everything that asks KVM goes through kvm_call(), so that a test can stand in for it (tests link
 * another kvm-call.c) and every call can be made to fail once.
 */
#pragma once

#include <linux/kvm.h>

#include "base/base.h"
#include "base/err.h"

/* ioctl(2), repeated when interrupted (but for KVM_RUN): its result, or -errno. In kvm-call.c. */
must_use int kvm_call(int fd, unsigned long request, void *arg);

/* The same with ERR_HOST and the request's name in its text. */
must_use int kvm_do(int fd, unsigned long request, void *arg, const char *name, struct err *err)
    nonnull_args(4, 5);
#define KVM_DO(fd, request, arg, err) kvm_do((fd), (request), (arg), #request, (err))
/* For ioctls whose argument is a number. */
#define KVM_DO_NUM(fd, request, number, err) \
    kvm_do((fd), (request), (void *)(uintptr_t)(number), #request, (err))

/* What this host's KVM has; asked once at the start. */
struct kvm_host {
    int fd;            /* /dev/kvm, borrowed */
    size_t run_size;   /* KVM_GET_VCPU_MMAP_SIZE */
    size_t xsave_size; /* bytes of struct kvm_xsave, >= 4096; 0: no XSAVE, the FPU alone */
    bool has_tsc_control, has_tsc_deadline, has_xcrs;
};

/* ERR_USAGE with the reason and the remedy if this KVM cannot carry a machine. */
must_use int kvm_host_ask(int fd, struct kvm_host *ret, struct err *err) nonnull_all;
