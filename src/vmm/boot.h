/*
 * boot.h - puts a Linux kernel into a machine's memory and its first processor at its entry.
 *
 * Two forms: a bzImage as Debian ships it (Documentation/arch/x86/boot.rst, protocol 2.12 or later
 * with a 64-bit entry), entered in long mode; and an ELF with a PVH note (Xen's x86/HVM direct boot
 * ABI, XEN_ELFNOTE_PHYS32_ENTRY), entered in 32-bit protected mode. The files are our own store's,
 * but every offset, size and address in them is checked against the file and the memory all the same.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "vmm/gmem.h"

#define BOOT_KERNEL_MAX    (128 * MIB)
#define BOOT_INITRAMFS_MAX (256 * MIB)

enum boot_mode {
    BOOT_LONG, /* 64-bit, paging on, rsi = zero page */
    BOOT_PVH   /* 32-bit protected mode, paging off, ebx = start info */
};

struct boot_entry {
    enum boot_mode mode;
    uint64_t ip;
    uint64_t info; /* zero page or start info */
};

/*
 * Loads kernel_fd (START_FD_KERNEL), initramfs_fd (-1: none) and the command line, writes memory map,
 * page tables and GDT. The ACPI tables are at LAYOUT_ACPI. ERR_USAGE names what is wrong with the
 * file.
 */
must_use int boot_load(const struct gmem *mem, int kernel_fd, int initramfs_fd, const char *cmdline,
                       struct boot_entry *ret, struct err *err) nonnull_all;

/* One range of the memory map: RAM, or reserved. The same for both forms of boot. */
struct boot_range {
    uint64_t start, len;
    bool ram;
};

#define BOOT_RANGES_MAX 8u
/* The number of ranges. */
unsigned int boot_map(const struct gmem *mem, struct boot_range ret[BOOT_RANGES_MAX]) nonnull_all;

/* Sets the registers of vCPU 0 for an entry; the others wait for their INIT as KVM made them. */
must_use int boot_enter(int vcpu_fd, const struct boot_entry *entry, struct err *err) nonnull_all;
