/*
 * How it works: every table is built in a buffer, its header last, when length and checksum are known.
 * What is in the machine's description language (AML) is the same for every machine but for a few
 * numbers, so it is here as it is. ACPI 6.4, sections 5.2 (tables) and 20.2 (AML).
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

#define FADT_WBINVD           (1u << 0)
#define FADT_RESET_SUPPORTED  (1u << 10)
#define FADT_HW_REDUCED       (1u << 20)
#define FADT_BOOT_NO_VGA      (1u << 2)
#define FADT_BOOT_NO_MSI      (1u << 3)
#define FADT_BOOT_NO_ASPM     (1u << 4)
#define FADT_BOOT_NO_CMOS_RTC (1u << 5)

/* \_S5: Package (4) {LAYOUT_SLEEP_TYPE, 0, 0, 0} (20.2.5.1, 20.2.5.4). */
static const uint8_t aml_s5[] = {0x08, '_', 'S', '5', '_', 0x12, 7, 4, 0x0a, LAYOUT_SLEEP_TYPE,
                                 0,    0,   0};

/*
 * Device (VIO0) {_HID "LNRO0005" (what Linux' virtio_mmio answers to), _UID, _CRS}: a window of
 * 32-bit addresses that may be written (6.4.3.4), and an interrupt: consumer, edge, active high,
 * exclusive (6.4.3.6). What differs from slot to slot is filled in at the offsets below.
 */
static const uint8_t aml_device[] = {
    0x5b, 0x82, 59,  'V', 'I', 'O',  '0',                                         /* Device */
    0x08, '_',  'H', 'I', 'D', 0x0d, 'L', 'N',  'R', 'O',  '0', '0', '0', '5', 0, /* _HID */
    0x08, '_',  'U', 'I', 'D', 0x0a, 0,                                           /* _UID */
    0x08, '_',  'C', 'R', 'S', 0x11, 26,  0x0a, 23,                               /* _CRS */
    0x86, 9,    0,   1,   0,   0,    0,   0,    0,   0x10, 0,   0,                /* memory */
    0x89, 6,    0,   3,   1,   0,    0,   0,    0,                                /* interrupt */
    0x79, 0};
#define DEVICE_NAME      6u
#define DEVICE_UID       28u
#define DEVICE_WINDOW    42u
#define DEVICE_INTERRUPT 55u
#define AML_SCOPE        0x10u

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

static void put_device(struct wire_out *out, unsigned int slot)
{
    uint8_t aml[sizeof(aml_device)];

    memcpy(aml, aml_device, sizeof(aml));
    aml[DEVICE_NAME] = (uint8_t)('0' + slot);
    aml[DEVICE_UID] = (uint8_t)slot;
    wire_put_u32(aml + DEVICE_WINDOW, (uint32_t)layout_mmio(slot));
    wire_put_u32(aml + DEVICE_INTERRUPT, layout_gsi(slot));
    wire_write(out, aml, sizeof(aml));
}

static void put_dsdt(struct wire_out *out, uint32_t slots)
{
    unsigned int devices = (unsigned int)__builtin_popcount(slots);
    size_t len = 2 + 5 + devices * sizeof(aml_device); /* of the scope, from these two bytes on */

    wire_write(out, aml_s5, sizeof(aml_s5));
    put_u8(out, AML_SCOPE);
    put_u8(out,
           0x40u | (unsigned int)(len & 0xfu)); /* 20.2.4: four bits here, eight in the next byte */
    put_u8(out, (unsigned int)(len >> 4));
    wire_write(out, "\\_SB_", 5);
    for (unsigned int slot = 0; slot < LAYOUT_DEVICES; slot++) {
        if ((slots & (1u << slot)) != 0) {
            put_device(out, slot);
        }
    }
}

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
    put_zeros(out, 96); /* the old registers' long forms, 8 x 12 */
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

static void table_end(struct wire_out *out, size_t at, const char signature[static 5],
                      uint8_t revision)
{
    static const uint8_t maker[] = {'A', 'L', 'O', 'C', 'K', ' ', 'A', 'I', 'R', 'L', 'O', 'C', 'K',
                                    ' ', 1,   0,   0,   0,   'A', 'L', 'C', 'K', 1,   0,   0,   0};
    if (out->error < 0) {
        return;
    }
    uint8_t *h = out->buf->data + at;
    size_t len = out->buf->len - at;

    memcpy(h, signature, 4); /* NOLINT(bugprone-not-null-terminated-result): as it shall be */
    wire_put_u32(h + 4, (uint32_t)len);
    h[8] = revision;
    memcpy(h + 10, maker, sizeof(maker));
    h[9] = checksum(h, len);
}

static void fill_rsdp(uint8_t *at, uint64_t xsdt)
{
    static const uint8_t begin[] = {'R', 'S', 'D', ' ', 'P', 'T', 'R', ' ',
                                    0,   'A', 'L', 'O', 'C', 'K', ' ', 2};

    memcpy(at, begin, sizeof(begin));
    wire_put_u32(at + 20, RSDP_BYTES);
    wire_put_u64(at + 24, xsdt);
    at[8] = checksum(at, RSDP_V1_BYTES);
    at[32] = checksum(at, RSDP_BYTES);
}

int acpi_write(const struct gmem *mem, unsigned int vcpus, uint32_t slots, struct err *err)
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
    if (gmem_write(mem, LAYOUT_ACPI, buf.data, buf.len) < 0) {
        return err_set(err, ERR_HOST, EFAULT, "ACPI tables: no memory at %#llx", LAYOUT_ACPI);
    }
    return 0;
}
