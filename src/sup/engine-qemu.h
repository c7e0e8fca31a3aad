/* engine-qemu.h - stock QEMU as monitor; for engine tcg, and for the probe of KVM. */
#pragma once

#include "sup/engine.h"

#define QEMU_NAME    "qemu-system-x86_64"
#define QEMU_PACKAGE "qemu-system-x86"

/* accel: "tcg" or "kvm". */
must_use int qemu_start(const char *accel, const struct machine_config *config, struct machine *ret,
                        struct err *err) nonnull_all;
