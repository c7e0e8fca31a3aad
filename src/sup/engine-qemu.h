/* engine-qemu.h - stock QEMU as monitor: of engine tcg, and of engine kvm until we have our own. */
#pragma once

#define QEMU_NAME    "qemu-system-x86_64"
#define QEMU_PACKAGE "qemu-system-x86"
