/* engine-qemu.h - stock QEMU, which emulates the processor: the monitor of engine tcg. */
#pragma once

#define QEMU_NAME    "qemu-system-x86_64"
#define QEMU_PACKAGE "qemu-system-x86"
