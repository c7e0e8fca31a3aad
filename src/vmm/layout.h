/*
 * layout.h - where things are in the machine: guest physical addresses, interrupts, descriptors.
 *
 * The machine is always the same: RAM below 3 GiB and, if there is more, from 4 GiB on; virtio-mmio
 * windows in between; nothing else but the local APICs and the IO-APIC of KVM.
 */
#pragma once

#include "base/base.h"

/* RAM: [0, min(size, 3 GiB)) and, for the rest, [4 GiB, ...). The file that backs it has no hole. */
#define LAYOUT_LOW_MAX   0xc0000000ull
#define LAYOUT_HIGH_BASE 0x100000000ull
#define LAYOUT_RAM_MIN   (32 * MIB)
#define LAYOUT_RAM_MAX   (256 * GIB)
#define LAYOUT_VCPUS_MAX 8u

/*
 * virtio-mmio windows, one page each, and their interrupts: GSI = IO-APIC pin, edge, active high.
 * From 16 on KVM's own routing leads to the IO-APIC alone, never to the old interrupt controllers,
 * which nobody sets up.
 */
#define LAYOUT_MMIO_BASE   0xd0000000ull
#define LAYOUT_MMIO_STRIDE 0x1000ull
#define LAYOUT_GSI_BASE    16u
#define LAYOUT_IOAPIC_BASE 0xfec00000u
#define LAYOUT_LAPIC_BASE  0xfee00000u
/* Four pages that KVM on Intel wants of the guest's address space for real mode; no RAM there. */
#define LAYOUT_IDENTITY_MAP 0xfeffc000ull
#define LAYOUT_TSS          0xfeffd000ull

/* In this order in the windows; a machine without disks (a probe) has the last two alone. */
enum layout_device {
    LAYOUT_ROOT,    /* block, read-only */
    LAYOUT_INPUT,   /* block, read-only */
    LAYOUT_SCRATCH, /* block */
    LAYOUT_CONSOLE,
    LAYOUT_ENTROPY,
    LAYOUT_DEVICES
};

/* Ports. Everything else reads as all ones and is written to nowhere. */
#define LAYOUT_PORT_SERIAL 0x3f8u /* 8 bytes; early console, if the machine has one */
#define LAYOUT_PORT_SLEEP  0x600u /* ACPI sleep control and status registers, 2 bytes */
#define LAYOUT_PORT_RESET \
    0x604u /* ACPI reset register: LAYOUT_RESET_VALUE restarts, that is, ends */
#define LAYOUT_RESET_VALUE 0x42u
#define LAYOUT_SLEEP_TYPE  5u /* of S5 in SLP_TYP; SLP_EN is bit 5 */

/* Low memory of a boot. The kernel goes where it asks to be, at 1 MiB or above. */
#define LAYOUT_GDT        0x500ull
#define LAYOUT_PVH_INFO   0x6000ull /* struct hvm_start_info, module list, memory map */
#define LAYOUT_ZERO_PAGE  0x7000ull /* struct boot_params */
#define LAYOUT_BOOT_STACK 0x8ff0ull
#define LAYOUT_PAGE_TABLES \
    0x9000ull /* PML4, PDPT, 4 x PD: the first 4 GiB, identity, 2 MiB pages */
#define LAYOUT_CMDLINE     0x20000ull
#define LAYOUT_CMDLINE_MAX 2048u
#define LAYOUT_ACPI        0xe0000ull /* RSDP first; reserved in the memory map */
#define LAYOUT_ACPI_END    0x100000ull
#define LAYOUT_KERNEL_MIN  0x100000ull

static inline uint64_t layout_mmio(unsigned int device)
{
    return LAYOUT_MMIO_BASE + device * LAYOUT_MMIO_STRIDE;
}

static inline uint32_t layout_gsi(unsigned int device)
{
    return LAYOUT_GSI_BASE + device;
}
