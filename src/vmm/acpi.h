/*
 * acpi.h - the tables by which a kernel finds what is in the machine (ACPI 6.4, hardware-reduced).
 *
 * RSDP, XSDT, FADT (reset and sleep registers, no other hardware), MADT (local APICs, IO-APIC), DSDT
 * (\_S5, and one device LNRO0005 with window and interrupt for each virtio-mmio slot). Debian's
 * kernel knows no virtio_mmio.device= parameter: this is how it finds its disks.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "vmm/gmem.h"

/*
 * Writes them at LAYOUT_ACPI, the RSDP first. slots: bit N = the machine has slot N. ERR_HOST if they
 * do not fit (they do, for every machine that options.h allows).
 */
must_use int acpi_write(const struct gmem *mem, unsigned int vcpus, uint32_t slots,
                        struct err *err) nonnull_all;
