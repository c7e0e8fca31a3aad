/* jail-filter.h - the system calls of each monitor, and nothing else. */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "sys/filter.h"

/* QEMU under TCG. It asks about opens O_RDWR, one of which is for its guest's memory. */
must_use int jail_filter_qemu(struct seccomp_filter *ret, struct err *err) nonnull_all;
/* airlock-vmm, which opens nothing. */
must_use int jail_filter_vmm(struct seccomp_filter *ret, struct err *err) nonnull_all;
