/*
 * fake-kvm.h - a KVM for unit tests: kvm_call() without a kernel.
 *
 * It keeps what is set and gives it back when asked (regs, sregs, MSRs, LAPIC, irqchip, clock ...),
 * counts every call, and can fail one of them.
 */
#pragma once

#include "base/base.h"

/* Forgets everything; call first in each case. */
void fake_kvm_reset(void);
/* Number of calls so far. */
unsigned int fake_kvm_calls(void);
/* The nth call from now on (1 = the next) fails with errnum, once. 0: none. */
void fake_kvm_fail(unsigned int nth, int errnum);
/* Number of calls of one request. */
unsigned int fake_kvm_count(unsigned long request);
