/*
 * acpi-check.h - reads a machine's ACPI tables as strictly as no kernel does: signatures, lengths and
 * checksums, every byte of AML, and that they say what the machine has and nothing else.
 */
#pragma once

#include <string.h>

#include "proto/wire.h"
#include "vmm/acpi.h"
#include "vmm/layout.h"

struct acpi_check {
    const struct gmem *mem;
    const char *wrong; /* the first complaint; NULL: none */
};

static inline void acpi_expect(struct acpi_check *c, bool holds, const char *what)
{
    if (!holds && c->wrong == NULL) {
        c->wrong = what;
    }
}

static inline bool acpi_sums_to_zero(const uint8_t *data, size_t len)
{
    unsigned int sum = 0;

    for (size_t i = 0; i < len; i++) {
        sum += data[i];
    }
    return (sum & 0xffu) == 0;
}

/* The table at gpa, whole; its length, or 0. */
static inline uint32_t acpi_table(struct acpi_check *c, uint64_t gpa, const char *signature,
                                  uint8_t ret[8192])
{
    uint32_t len = 0;

    acpi_expect(c, gpa >= LAYOUT_ACPI && gpa < LAYOUT_ACPI_END && gpa % 16 == 0, "address");
    if (c->wrong != NULL || gmem_read(c->mem, gpa, ret, 36) < 0) {
        acpi_expect(c, false, "header");
        return 0;
    }
    len = wire_get_u32(ret + 4);
    acpi_expect(c, memcmp(ret, signature, 4) == 0, "signature");
    acpi_expect(c, len >= 36 && len <= 8192 && gpa + len <= LAYOUT_ACPI_END, "length");
    if (c->wrong != NULL || gmem_read(c->mem, gpa, ret, len) < 0) {
        acpi_expect(c, false, "table");
        return 0;
    }
    acpi_expect(c, acpi_sums_to_zero(ret, len), "checksum");
    return len;
}

/* The next bytes of AML must be these. */
static inline void aml_expect(struct acpi_check *c, struct wire_in *in, const void *want,
                              size_t len)
{
    const uint8_t *is = wire_take(in, len);

    acpi_expect(c, is != NULL && memcmp(is, want, len) == 0, "AML");
}

/* A package: what is in it, and it is taken from in. */
static inline struct wire_in aml_package(struct acpi_check *c, struct wire_in *in)
{
    const uint8_t *head = wire_take(in, 1);
    size_t more = head == NULL ? 0 : head[0] >> 6;
    size_t len = 0;
    const uint8_t *rest = wire_take(in, more);

    acpi_expect(c, head != NULL && rest != NULL && more <= 1, "AML package length");
    if (c->wrong != NULL) {
        return (struct wire_in){.left = 0};
    }
    len = more == 0 ? head[0] : (head[0] & 0xfu) | (size_t)rest[0] << 4;
    acpi_expect(c, len >= 1 + more && len - 1 - more <= in->left, "AML package end");
    if (c->wrong != NULL) {
        return (struct wire_in){.left = 0};
    }
    len -= 1 + more;
    return (struct wire_in){.at = wire_take(in, len), .left = len};
}

static inline void acpi_check_device(struct acpi_check *c, struct wire_in *in, unsigned int slot)
{
    uint8_t want[64] = "\x08_CRS\x11";
    struct wire_in body = {.left = 0}, resources = {.left = 0};
    const uint8_t *name = NULL;

    aml_expect(c, in, "\x5b\x82", 2);
    body = aml_package(c, in);
    name = wire_take(&body, 4);
    acpi_expect(c, name != NULL && memcmp(name, "VIO", 3) == 0 && name[3] == '0' + (int)slot,
                "device name");
    aml_expect(c, &body, "\x08_HID\x0dLNRO0005", 15);
    aml_expect(c, &body, "\x08_UID\x0a", 6);
    want[60] = (uint8_t)slot;
    aml_expect(c, &body, want + 60, 1);
    aml_expect(c, &body, want, 6);
    resources = aml_package(c, &body);
    acpi_expect(c, body.left == 0, "rest of a device");
    memcpy(want, "\x0a\x17\x86\x09\x00\x01", 6);
    wire_put_u32(want + 6, (uint32_t)(LAYOUT_MMIO_BASE + slot * LAYOUT_MMIO_STRIDE));
    wire_put_u32(want + 10, 0x1000);
    memcpy(want + 14, "\x89\x06\x00\x03\x01", 5);
    wire_put_u32(want + 19, LAYOUT_GSI_BASE + slot);
    memcpy(want + 23, "\x79\x00", 2);
    aml_expect(c, &resources, want, 25);
    acpi_expect(c, resources.left == 0, "rest of resources");
}

static inline void acpi_check_dsdt(struct acpi_check *c, uint64_t gpa, uint32_t slots)
{
    uint8_t table[8192];
    uint32_t len = acpi_table(c, gpa, "DSDT", table);
    struct wire_in in = {.at = table + 36, .left = len == 0 ? 0 : len - 36};
    struct wire_in body = {.left = 0};

    aml_expect(c, &in, "\x08_S5_\x12", 6);
    body = aml_package(c, &in);
    aml_expect(c, &body, "\x04\x0a\x05\x00\x00\x00", 6);
    acpi_expect(c, body.left == 0, "rest of _S5");
    aml_expect(c, &in, "\x10", 1);
    body = aml_package(c, &in);
    aml_expect(c, &body, "\\_SB_", 5);
    for (unsigned int slot = 0; slot < 32; slot++) {
        if ((slots & (1u << slot)) != 0 && slot < LAYOUT_DEVICES) {
            acpi_check_device(c, &body, slot);
        }
    }
    acpi_expect(c, body.left == 0 && in.left == 0, "rest of the DSDT");
}

static inline void acpi_check_fadt(struct acpi_check *c, uint64_t gpa, uint32_t slots)
{
    uint8_t t[8192];
    uint32_t len = acpi_table(c, gpa, "FACP", t);

    if (len != 276) {
        acpi_expect(c, false, "FADT length");
        return;
    }
    acpi_expect(c, t[8] == 6 && t[131] == 4, "FADT revision");
    acpi_expect(c, (wire_get_u32(t + 112) & (1u << 20 | 1u << 10)) == (1u << 20 | 1u << 10),
                "FADT flags");
    acpi_expect(c, t[116] == 1 && t[117] == 8 && wire_get_u64(t + 120) == LAYOUT_PORT_RESET,
                "reset register");
    acpi_expect(c, t[128] == LAYOUT_RESET_VALUE, "reset value");
    acpi_expect(c, t[244] == 1 && wire_get_u64(t + 248) == LAYOUT_PORT_SLEEP, "sleep control");
    acpi_expect(c, t[256] == 1 && wire_get_u64(t + 260) == LAYOUT_PORT_SLEEP + 1, "sleep status");
    acpi_expect(c, wire_get_u32(t + 36) == 0 && wire_get_u64(t + 132) == 0, "FACS");
    acpi_check_dsdt(c, wire_get_u64(t + 140), slots);
}

static inline void acpi_check_madt(struct acpi_check *c, uint64_t gpa, unsigned int vcpus)
{
    uint8_t t[8192];
    uint32_t len = acpi_table(c, gpa, "APIC", t);
    const uint8_t *at = t + 44;

    if (len != 44 + 8 * vcpus + 12) {
        acpi_expect(c, false, "MADT length");
        return;
    }
    acpi_expect(c, wire_get_u32(t + 36) == 0xfee00000 && wire_get_u32(t + 40) == 0, "local APICs");
    for (unsigned int i = 0; i < vcpus; i++, at += 8) {
        acpi_expect(
            c, at[0] == 0 && at[1] == 8 && at[2] == i && at[3] == i && wire_get_u32(at + 4) == 1,
            "processor");
    }
    acpi_expect(c,
                at[0] == 1 && at[1] == 12 && wire_get_u32(at + 4) == 0xfec00000 &&
                    wire_get_u32(at + 8) == 0,
                "IO-APIC");
}

/* NULL, or what is wrong with what acpi_write() wrote for such a machine. */
static inline const char *acpi_complaint(const struct gmem *mem, unsigned int vcpus, uint32_t slots)
{
    struct acpi_check c = {.mem = mem};
    uint8_t t[8192];

    if (gmem_read(mem, LAYOUT_ACPI, t, 36) < 0 || memcmp(t, "RSD PTR ", 8) != 0) {
        return "RSDP";
    }
    acpi_expect(&c, acpi_sums_to_zero(t, 20) && acpi_sums_to_zero(t, 36), "RSDP checksum");
    acpi_expect(&c, t[15] == 2 && wire_get_u32(t + 20) == 36, "RSDP revision");
    if (acpi_table(&c, wire_get_u64(t + 24), "XSDT", t) != 36 + 2 * 8) {
        return c.wrong != NULL ? c.wrong : "XSDT length";
    }
    acpi_check_fadt(&c, wire_get_u64(t + 36), slots);
    acpi_check_madt(&c, wire_get_u64(t + 44), vcpus);
    return c.wrong;
}
