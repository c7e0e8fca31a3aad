/* jail-filter.h - the system calls of QEMU under TCG or KVM, and nothing else. */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "sys/filter.h"

/* Compiles the list of jail-filter.c. The caller owns *ret. */
must_use int jail_filter_qemu_tcg(struct seccomp_filter *ret, struct err *err) nonnull_all;
/* The same and KVM's ioctls. It asks about every open O_RDWR, one of which is for /dev/kvm. */
must_use int jail_filter_qemu_kvm(struct seccomp_filter *ret, struct err *err) nonnull_all;
