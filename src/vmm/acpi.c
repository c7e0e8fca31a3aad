/*
 * How it works: every table is built in a buffer, its header last, when length and checksum are known;
 * the machine description language (AML) is written by a handful of emitters, whose packages have
 * their length filled in when they end. ACPI 6.4, sections 5.2 (tables) and 20.2 (AML).
 */
#include "vmm/acpi.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"

#include "proto/wire.h"
#include "vmm/layout.h"

#define HEADER_BYTES  36u
#define RSDP_BYTES    36u
#define RSDP_V1_BYTES 20u
#define FADT_BYTES    276u
#define TABLE_ALIGN   16u
#define SPACE_IO      1u
#define OEM_REVISION  1u

#define FADT_WBINVD           (1u << 0)
#define FADT_RESET_SUPPORTED  (1u << 10)
#define FADT_HW_REDUCED       (1u << 20)
#define FADT_BOOT_NO_VGA      (1u << 2)
#define FADT_BOOT_NO_MSI      (1u << 3)
#define FADT_BOOT_NO_ASPM     (1u << 4)
#define FADT_BOOT_NO_CMOS_RTC (1u << 5)

/* Bytes of AML. */
#define AML_ZERO        0x00u
#define AML_NAME        0x08u
#define AML_BYTE        0x0au
#define AML_DWORD       0x0cu
#define AML_STRING      0x0du
#define AML_SCOPE       0x10u
#define AML_BUFFER      0x11u
#define AML_PACKAGE     0x12u
#define AML_EXT         0x5bu
#define AML_DEVICE      0x82u
#define RES_MEMORY32    0x86u /* 6.4.3.4: fixed memory range */
#define RES_INTERRUPT   0x89u /* 6.4.3.6: extended interrupt */
#define RES_END         0x79u
#define INTERRUPT_FLAGS 0x03u /* consumer, edge, active high, exclusive */

static void put_u8(struct wire_out *out, unsigned int v)
{
    wire_write_u8(out, (uint8_t)v);
}

static void put_u16(struct wire_out *out, unsigned int v)
{
    put_u8(out, v & 0xffu);
    put_u8(out, v >> 8);
}

static void put_zeros(struct wire_out *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        put_u8(out, 0);
    }
}

/* 5.2.3.2: an 8-bit register among the I/O ports. */
static void put_port(struct wire_out *out, uint64_t port)
{
    put_u8(out, SPACE_IO);
    put_u8(out, 8);
    put_u8(out, 0);
    put_u8(out, 1);
    wire_write_u64(out, port);
}

/* --- AML --- */

/* A package of at most 4095 bytes: its length in two bytes, filled in by aml_end(). */
static size_t aml_begin(struct wire_out *out)
{
    size_t at = out->buf->len;

    put_u16(out, 0);
    return at;
}

static void aml_end(struct wire_out *out, size_t at)
{
    if (out->error < 0) {
        return;
    }
    size_t len = out->buf->len - at;
    if (len > 0xfff) {
        out->error = -E2BIG;
        return;
    }
    out->buf->data[at] = (uint8_t)(0x40u | (len & 0xfu));
    out->buf->data[at + 1] = (uint8_t)(len >> 4);
}

static void aml_name(struct wire_out *out, const char name[static 5])
{
    put_u8(out, AML_NAME);
    wire_write(out, name, 4);
}

static void aml_byte(struct wire_out *out, unsigned int v)
{
    put_u8(out, AML_BYTE);
    put_u8(out, v);
}

/* Where a device is and how it interrupts: one buffer of resource descriptors. */
static void aml_resources(struct wire_out *out, unsigned int slot)
{
    size_t at = 0;

    aml_name(out, "_CRS");
    put_u8(out, AML_BUFFER);
    at = aml_begin(out);
    aml_byte(out, 12 + 9 + 2);
    put_u8(out, RES_MEMORY32);
    put_u16(out, 9);
    put_u8(out, 1); /* may be written */
    wire_write_u32(out, (uint32_t)layout_mmio(slot));
    wire_write_u32(out, (uint32_t)LAYOUT_MMIO_STRIDE);
    put_u8(out, RES_INTERRUPT);
    put_u16(out, 6);
    put_u8(out, INTERRUPT_FLAGS);
    put_u8(out, 1);
    wire_write_u32(out, layout_gsi(slot));
    put_u8(out, RES_END);
    put_u8(out, 0); /* no checksum */
    aml_end(out, at);
}

static void aml_device(struct wire_out *out, unsigned int slot)
{
    static const char hid[] = "LNRO0005"; /* what Linux' virtio_mmio answers to */
    const char name[5] = {'V', 'I', 'O', (char)('0' + slot), 0};
    size_t at = 0;

    put_u8(out, AML_EXT);
    put_u8(out, AML_DEVICE);
    at = aml_begin(out);
    wire_write(out, name, 4);
    aml_name(out, "_HID");
    put_u8(out, AML_STRING);
    wire_write(out, hid, sizeof(hid));
    aml_name(out, "_UID");
    aml_byte(out, slot);
    aml_resources(out, slot);
    aml_end(out, at);
}

static void put_dsdt(struct wire_out *out, uint32_t slots)
{
    size_t at = 0;

    aml_name(out, "_S5_");
    put_u8(out, AML_PACKAGE);
    at = aml_begin(out);
    put_u8(out, 4);
    aml_byte(out, LAYOUT_SLEEP_TYPE);
    for (unsigned int i = 0; i < 3; i++) {
        put_u8(out, AML_ZERO);
    }
    aml_end(out, at);

    put_u8(out, AML_SCOPE);
    at = aml_begin(out);
    wire_write(out, "\\_SB_", 5);
    for (unsigned int slot = 0; slot < LAYOUT_DEVICES; slot++) {
        if ((slots & (1u << slot)) != 0) {
            aml_device(out, slot);
        }
    }
    aml_end(out, at);
}

/* --- tables --- */

/* 5.2.9; dsdt is an address. */
static void put_fadt(struct wire_out *out, uint64_t dsdt)
{
    size_t start = out->buf->len - HEADER_BYTES;

    put_zeros(out, 109 - HEADER_BYTES); /* no FACS, no old registers at all */
    put_u16(out, FADT_BOOT_NO_VGA | FADT_BOOT_NO_MSI | FADT_BOOT_NO_ASPM | FADT_BOOT_NO_CMOS_RTC);
    put_u8(out, 0);
    wire_write_u32(out, FADT_WBINVD | FADT_RESET_SUPPORTED | FADT_HW_REDUCED);
    put_port(out, LAYOUT_PORT_RESET);
    put_u8(out, LAYOUT_RESET_VALUE);
    put_u16(out, 0);
    put_u8(out, 4); /* minor version: 6.4 */
    put_zeros(out, 8);
    wire_write_u64(out, dsdt);
    put_zeros(out, 8 * 12); /* the old registers' long forms */
    put_port(out, LAYOUT_PORT_SLEEP);
    put_port(out, LAYOUT_PORT_SLEEP + 1);
    put_zeros(out, 8); /* hypervisor */
    if (out->error == 0 && out->buf->len - start != FADT_BYTES) {
        out->error = -EPROTO;
    }
}

/* 5.2.12 */
static void put_madt(struct wire_out *out, unsigned int vcpus)
{
    wire_write_u32(out, LAYOUT_LAPIC_BASE);
    wire_write_u32(out, 0); /* no PICs */
    for (unsigned int i = 0; i < vcpus; i++) {
        put_u8(out, 0); /* local APIC */
        put_u8(out, 8);
        put_u8(out, i);
        put_u8(out, i);
        wire_write_u32(out, 1); /* enabled */
    }
    put_u8(out, 1); /* IO-APIC */
    put_u8(out, 12);
    put_u16(out, 0);
    wire_write_u32(out, LAYOUT_IOAPIC_BASE);
    wire_write_u32(out, 0); /* its first interrupt */
}

static uint8_t checksum(const uint8_t *data, size_t len)
{
    unsigned int sum = 0;

    for (size_t i = 0; i < len; i++) {
        sum += data[i];
    }
    return (uint8_t)(0u - sum);
}

/* Room for a table's header at a multiple of TABLE_ALIGN; returns where it begins. */
static size_t table_begin(struct wire_out *out)
{
    while (out->error == 0 && out->buf->len % TABLE_ALIGN != 0) {
        put_u8(out, 0);
    }
    size_t at = out->buf->len;
    put_zeros(out, HEADER_BYTES);
    return at;
}

static void table_end(struct wire_out *out, size_t at, const char *signature, uint8_t revision)
{
    if (out->error < 0) {
        return;
    }
    uint8_t *h = out->buf->data + at;
    size_t len = out->buf->len - at;

    memcpy(h, signature, 4);
    wire_put_u32(h + 4, (uint32_t)len);
    h[8] = revision;
    memcpy(h + 10, "ALOCK ", 6);
    memcpy(h + 16, "AIRLOCK ", 8);
    wire_put_u32(h + 24, OEM_REVISION);
    memcpy(h + 28, "ALCK", 4);
    wire_put_u32(h + 32, OEM_REVISION);
    h[9] = checksum(h, len);
}

static void fill_rsdp(uint8_t *at, uint64_t xsdt)
{
    memcpy(at, "RSD PTR ", 8);
    memcpy(at + 9, "ALOCK ", 6);
    at[15] = 2;
    wire_put_u32(at + 20, RSDP_BYTES);
    wire_put_u64(at + 24, xsdt);
    at[8] = checksum(at, RSDP_V1_BYTES);
    at[32] = checksum(at, RSDP_BYTES);
}

int acpi_write(const struct gmem *mem, unsigned int vcpus, uint32_t slots, uint64_t *ret_rsdp,
               struct err *err)
{
    auto_buf struct buf buf = BUF_INIT(LAYOUT_ACPI_END - LAYOUT_ACPI);
    struct wire_out out = wire_out_start(&buf);

    put_zeros(&out, RSDP_BYTES);
    size_t dsdt = table_begin(&out);
    put_dsdt(&out, slots);
    table_end(&out, dsdt, "DSDT", 2);
    size_t fadt = table_begin(&out);
    put_fadt(&out, LAYOUT_ACPI + dsdt);
    table_end(&out, fadt, "FACP", 6);
    size_t madt = table_begin(&out);
    put_madt(&out, vcpus);
    table_end(&out, madt, "APIC", 5);
    size_t xsdt = table_begin(&out);
    wire_write_u64(&out, LAYOUT_ACPI + fadt);
    wire_write_u64(&out, LAYOUT_ACPI + madt);
    table_end(&out, xsdt, "XSDT", 1);
    if (wire_out_end(&out) < 0) {
        return err_sys_num(err, -out.error, "ACPI tables of %u processors", vcpus);
    }
    fill_rsdp(buf.data, LAYOUT_ACPI + xsdt);
    *ret_rsdp = LAYOUT_ACPI;
    if (gmem_write(mem, LAYOUT_ACPI, buf.data, buf.len) < 0) {
        return err_set(err, ERR_HOST, EFAULT, "ACPI tables: no memory at %#llx", LAYOUT_ACPI);
    }
    return 0;
}
