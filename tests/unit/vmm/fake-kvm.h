/*
 * fake-kvm.h - a KVM for unit tests: kvm_call() without a kernel.
 *
 * It keeps what is set and gives it back when asked (regs, sregs, MSRs, LAPIC, irqchip, clock ...), by
 * descriptor, counts every call, and can fail one of them. Descriptors that it makes are real ones (a
 * vCPU's can be mapped); any number that a test makes up is a machine or a processor as well.
 */
#pragma once

#include <linux/kvm.h>

#include "base/base.h"

#define FAKE_KVM_RUN_SIZE 12288u

/* Forgets everything; call first in each case. */
void fake_kvm_reset(void);
/* Number of calls so far. */
unsigned int fake_kvm_calls(void);
/* The nth call from now on (1 = the next) fails with errnum, once. 0: none. */
void fake_kvm_fail(unsigned int nth, int errnum);
/* Number of calls of one request. */
unsigned int fake_kvm_count(unsigned long request);
/* The request of the nth call since fake_kvm_reset(), from 0; 0 if there was none. */
unsigned long fake_kvm_request(unsigned int nth);
/* What KVM_CHECK_EXTENSION says of a capability; 1 for those that were not set. */
void fake_kvm_extension(unsigned int capability, int value);
/* What KVM_GET_TSC_KHZ says; 2000000 at first. */
void fake_kvm_tsc_khz(unsigned int khz);
/* This MSR is listed, but cannot be read, or can be read, but not set. */
void fake_kvm_refuse_msr(uint32_t index, bool reads, bool writes);
/* The value of an MSR of that processor; 0 if it was never set. */
uint64_t fake_kvm_msr(int fd, uint32_t index);
/* What KVM_GET_SUPPORTED_CPUID says instead of a small Intel processor; borrowed. */
void fake_kvm_cpuid(const struct kvm_cpuid_entry2 *entries, size_t n);
/*
 * What a processor does in KVM_RUN, with its descriptor; its result is the ioctl's. NULL, as after
 * fake_kvm_reset(): -EINTR at once. Called by the processor's thread, without any lock.
 */
void fake_kvm_on_run(int (*run)(int fd));
void fake_kvm_set_msr(int fd, uint32_t index, uint64_t value);
