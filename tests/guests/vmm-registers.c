/* Registers, ports and addresses: V9, V10, V11, and what is no device at all. */
#include "vmm-virtio.h"

#define MAGIC 0x74726976u

static const uint32_t device_ids[WINDOWS] = {2, 2, 2, 3, 4};

static void check_identity(void)
{
    for (unsigned int d = 0; d < WINDOWS; d++) {
        expect_equal(read32(WINDOW(d) + REG_MAGIC), MAGIC, "the magic number");
        expect_equal(read32(WINDOW(d) + REG_VERSION), 2, "the version");
        expect_equal(read32(WINDOW(d) + REG_DEVICE), device_ids[d], "the device's kind");
        expect_equal(read32(WINDOW(d) + REG_STATUS), 0, "the status");
        write32(WINDOW(d) + REG_QUEUE_SEL, 0);
        expect_equal(read32(WINDOW(d) + REG_QUEUE_READY), 0, "a queue that nobody made");
        expect_equal(read32(WINDOW(d) + REG_INTERRUPT), 0, "the interrupt status");
    }
}

/* Outside the configuration space there is nothing but aligned accesses of four bytes. */
static void odd_reads(void)
{
    for (unsigned int d = 0; d < WINDOWS; d++) {
        for (uint32_t at = WINDOW(d); at < WINDOW(d) + REG_CONFIG - 8; at++) {
            expect_equal(read8(at), 0, "one byte of a register");
            expect_equal(read16(at), 0, "two bytes of a register");
            if (at % 4 != 0) {
                expect_equal(read32(at), 0, "four bytes across registers");
            }
        }
    }
    check_identity();
}

static void odd_writes(void)
{
    for (unsigned int d = 0; d < WINDOWS; d++) {
        for (uint32_t at = WINDOW(d); at < WINDOW(d) + REG_CONFIG - 4; at++) {
            write8(at, 0xff);
            write16(at, 0xffff);
            if (at % 4 != 0) {
                write32(at, 0x01010101);
            }
        }
    }
    check_identity();
}

/* Eight bytes, at every offset: a read and a write each. */
static void wide(void)
{
    for (unsigned int d = 0; d < WINDOWS; d++) {
        for (uint32_t at = WINDOW(d); at < WINDOW(d) + REG_CONFIG - 8; at++) {
            (void)exchange64(at, 0x0101010101010101ull);
        }
        (void)exchange64(WINDOW(d) + REG_NOTIFY, ~0ull);
    }
    check_identity();
}

static void string_instructions(void)
{
    uint32_t at = WINDOW(ROOT), n = 1024, to = (uint32_t)(uintptr_t)page_in;

    __asm__ volatile("rep movsl" : "+S"(at), "+D"(to), "+c"(n) : : "memory");
    expect_equal(*(uint32_t *)(void *)page_in, MAGIC, "the first register of a string");
    at = WINDOW(ROOT);
    n = REG_CONFIG;
    __asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(0xff) : "memory");
    check_identity();
}

/* Reads in any width and at any place end somewhere; what is there is the same for a second reader. */
static void config_space(void)
{
    static const uint32_t edges[] = {REG_CONFIG, REG_CONFIG + 20, REG_CONFIG + 60, 0x200, 0xff0};

    for (unsigned int d = 0; d < WINDOWS; d++) {
        for (unsigned int e = 0; e < sizeof(edges) / sizeof(edges[0]); e++) {
            for (uint32_t at = WINDOW(d) + edges[e]; at < WINDOW(d) + edges[e] + 13; at++) {
                expect_equal(read8(at), read8(at), "a byte of the configuration");
                write8(at, 0xa5);
                write16(at, 0xa5a5);
                write32(at, 0xa5a5a5a5);
                (void)read16(at);
                (void)read32(at);
                (void)exchange64(at, 0xa5a5a5a5a5a5a5a5ull);
            }
        }
        expect_equal(read8(WINDOW(d) + 0xfff), 0, "the last byte of a window");
    }
    expect(read32(WINDOW(SCRATCH) + REG_CONFIG) != 0xa5a5a5a5,
           "a capacity that a driver can't write");
    check_identity();
}

/* Everything that a register does not know, in every register, with a device that begins again. */
static void garbage(void)
{
    for (int i = 0; i < 4000; i++) {
        uint32_t r = roll();
        uint32_t at = WINDOW(r % WINDOWS) + (r >> 8) % REG_CONFIG / 4 * 4;
        uint32_t value = roll();
        if (r & 1u << 31) {
            value &= 15;
        }
        write32(at, value);
        (void)read32(at);
    }
}

static void edges(void)
{
    static const uint32_t places[] = {ADDRESS_HOLE,
                                      WINDOW(ROOT) - 4,
                                      WINDOW(ROOT) - 2,
                                      WINDOW(WINDOWS),
                                      WINDOW(WINDOWS) + 0xffc,
                                      WINDOW(INPUT) - 2,
                                      WINDOW(WINDOWS) - 1,
                                      ADDRESS_IOAPIC + 0x1000,
                                      ADDRESS_IOAPIC - 1,
                                      ADDRESS_APIC - 3,
                                      0xfffffffc};
    uint32_t last = guest_ram_end - 2;

    for (unsigned int i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        (void)read8(places[i]);
        (void)read16(places[i]);
        (void)read32(places[i]);
        (void)exchange64(places[i], ~0ull);
        write8(places[i], 0);
        write16(places[i], 0);
        write32(places[i], 0x42424242);
    }
    expect_equal(read32(ADDRESS_HOLE), 0xffffffff, "four bytes where nothing is");
    expect_equal(read8(WINDOW(WINDOWS)), 0xff, "a byte behind the last window");
    expect_equal(read32(guest_ram_end), 0xffffffff, "four bytes behind the RAM");
    write16(last, 0x1234);
    expect_equal(read32(last), 0xffff1234, "four bytes across the end of RAM");
    write32(last, 0x55667788);
    expect_equal(read16(last), 0x7788, "the half of a write that is in RAM");
    check_identity();
}

static bool is_chip(uint32_t port)
{
    return port == 0x20 || port == 0x21 || port == 0xa0 || port == 0xa1 || port == 0x4d0 ||
           port == 0x4d1 || (port >= 0x40 && port <= 0x43) || port == 0x61;
}

/* Nothing but the serial port answers, and nothing but the right value ends the machine. */
static void ports(void)
{
    for (uint32_t port = 0; port < 0x10000; port += port < 0x800 ? 1 : 61) {
        if (is_chip(port)) {
            continue;
        }
        uint8_t seen = in8((uint16_t)port);
        if (port < PORT_SERIAL || (port > PORT_SERIAL + 7 && port < PORT_SLEEP) ||
            port > PORT_RESET) {
            expect_equal(seen, 0xff, "a port where nothing is");
        }
        (void)in16((uint16_t)port);
        (void)in32((uint16_t)port);
        if (port < PORT_SERIAL || port > PORT_SERIAL + 7) {
            out8((uint16_t)port, 0x81);
        }
        if (port + 3 < PORT_SERIAL || (port > PORT_SERIAL + 7 && port + 3 < PORT_SLEEP) ||
            port > PORT_RESET) {
            out16((uint16_t)port, 0xffff);
            out32((uint16_t)port, 0xffffffff);
        }
    }
    out32(0xffff, 0);
    (void)in32(0xfffe);
    check_identity();
}

/* Many values with one instruction: KVM hands them over together. */
static void port_strings(void)
{
    uint32_t n = 2000, at = (uint32_t)(uintptr_t)page_in;

    __asm__ volatile("rep insb" : "+D"(at), "+c"(n) : "d"(PORT_NOBODY) : "memory");
    expect_equal(page_in[0], 0xff, "the first of many bytes from a port");
    expect_equal(page_in[1999], 0xff, "the last of many bytes from a port");
    n = 1000;
    at = (uint32_t)(uintptr_t)page_in;
    __asm__ volatile("rep insl" : "+D"(at), "+c"(n) : "d"(PORT_NOBODY) : "memory");
    expect_equal(page_in[3999], 0xff, "the last of many words from a port");
    memset(page_out, 'x', sizeof(page_out));
    n = 4000;
    at = (uint32_t)(uintptr_t)page_out;
    __asm__ volatile("rep outsl" : "+S"(at), "+c"(n) : "d"(0x3000) : "memory");
    n = 100;
    at = (uint32_t)(uintptr_t)page_out;
    __asm__ volatile("rep outsb" : "+S"(at), "+c"(n) : "d"(PORT_SERIAL) : "memory");
    say("\n");
}

static void sleep_off(void)
{
    out8(PORT_SLEEP, 5 << 2 | 1 << 5);
    linger();
    expect(false, "a machine that is off");
}

static void triple_fault(void)
{
    static const struct {
        uint16_t limit;
        uint32_t base;
    } __attribute__((packed)) none = {0, 0};

    __asm__ volatile("lidtl %0; ud2" : : "m"(none));
}

static void run_nowhere(void)
{
    __asm__ volatile("jmp *%0" : : "r"(ADDRESS_HOLE));
}

static void run_device(void)
{
    __asm__ volatile("jmp *%0" : : "r"(WINDOW(ROOT)));
}

/* Both controllers are KVM's, in the host's kernel: they are not ours to break, but we must live on. */
static void interrupt_controllers(void)
{
    for (int i = 0; i < 3000; i++) {
        uint32_t r = roll(), value = roll();
        uint32_t at =
            r & 1 ? ADDRESS_IOAPIC + (r >> 8) % 0x44 : ADDRESS_APIC + (r >> 8) % 0x400 / 16 * 16;
        /* No command that could send an INIT or a start-up to ourselves: that is another attack. */
        if (at - ADDRESS_APIC != 0x300) {
            write32(at, value);
        }
        (void)read32(at);
    }
    check_identity();
}

static void interrupt_commands(void)
{
    for (uint32_t i = 0; i < 200; i++) {
        write32(ADDRESS_APIC + 0x310, roll() & 0xff000000);
        /* To all but ourselves. */
        write32(ADDRESS_APIC + 0x300, (roll() & 0xcfff) | 3u << 18);
    }
}

static void status_order(void)
{
    uint32_t w = WINDOW(ENTROPY);

    /* Ready before it was spoken to at all; no features; bits taken back; bits that do not exist. */
    static const uint32_t orders[][4] = {
        {STATUS_OK, 0, 0, 0},
        {STATUS_ACKNOWLEDGE | STATUS_DRIVER | STATUS_OK, 0, 0, 0},
        {STATUS_FEATURES_OK, STATUS_OK, STATUS_ACKNOWLEDGE, STATUS_DRIVER},
        {0xffffff00, 0x100, 0x80000000, STATUS_DRIVER},
        {STATUS_FAILED, 15, STATUS_FAILED | 15, 15},
        {STATUS_NEEDS_RESET, 15 | STATUS_NEEDS_RESET, 15, 0xff},
    };

    write32(w + REG_STATUS, 0);
    if (guest_number < sizeof(orders) / sizeof(orders[0])) {
        for (unsigned int i = 0; i < 4; i++) {
            write32(w + REG_STATUS, orders[guest_number][i]);
            (void)read32(w + REG_STATUS);
            write32(w + REG_NOTIFY, 0);
        }
    }
    linger();
}

static void features_not_offered(void)
{
    for (unsigned int d = 0; d < WINDOWS; d++) {
        for (unsigned int bit = 0; bit < 64; bit++) {
            uint32_t w = WINDOW(d);
            write32(w + REG_FEATURES_SEL, bit / 32);
            if (!(read32(w + REG_FEATURES) >> bit % 32 & 1)) {
                expect(!(device_begin(d, 1ull << bit) & STATUS_FEATURES_OK),
                       "a feature that is not offered is refused");
            }
        }
        /* None at all: not even VERSION_1. */
        write32(WINDOW(d) + REG_STATUS, 0);
        write32(WINDOW(d) + REG_STATUS, STATUS_ACKNOWLEDGE | STATUS_DRIVER);
        write32(WINDOW(d) + REG_STATUS, STATUS_ACKNOWLEDGE | STATUS_DRIVER | STATUS_FEATURES_OK);
        expect(!(read32(WINDOW(d) + REG_STATUS) & STATUS_FEATURES_OK),
               "a driver without VERSION_1 is refused");
        write32(WINDOW(d) + REG_STATUS, 0);
    }
}

static void feature_selectors(void)
{
    static const uint32_t selectors[] = {2, 3, 31, 32, 64, 0x7fffffff, 0x80000000, 0xffffffff};
    uint32_t w = WINDOW(SCRATCH);

    for (unsigned int i = 0; i < sizeof(selectors) / sizeof(selectors[0]); i++) {
        write32(w + REG_FEATURES_SEL, selectors[i]);
        expect_equal(read32(w + REG_FEATURES), 0, "features beyond bit 63");
        write32(w + REG_DRIVER_FEATURES_SEL, selectors[i]);
        write32(w + REG_DRIVER_FEATURES, 0);
    }
    guest_target = "blk";
    struct target t;
    target_begin(&t);
    expect(target_works(&t), "the disk works");
}

static void features_beyond(void)
{
    write32(WINDOW(SCRATCH) + REG_DRIVER_FEATURES_SEL, guest_number);
    write32(WINDOW(SCRATCH) + REG_DRIVER_FEATURES, 0xffffffff);
    linger();
}

/* Once they are settled they stay. */
static void features_late(void)
{
    struct target t;

    target_begin(&t);
    write32(t.q.window + REG_DRIVER_FEATURES_SEL, 0);
    write32(t.q.window + REG_DRIVER_FEATURES, 0xffffffff);
    linger();
}

const struct attack attacks_registers[] = {
    {"odd-reads", odd_reads},
    {"odd-writes", odd_writes},
    {"wide", wide},
    {"string-instructions", string_instructions},
    {"config-space", config_space},
    {"garbage", garbage},
    {"edges", edges},
    {"ports", ports},
    {"port-strings", port_strings},
    {"sleep", sleep_off},
    {"triple-fault", triple_fault},
    {"run-nowhere", run_nowhere},
    {"run-device", run_device},
    {"interrupt-controllers", interrupt_controllers},
    {"interrupt-commands", interrupt_commands},
    {"status-order", status_order},
    {"features-not-offered", features_not_offered},
    {"feature-selectors", feature_selectors},
    {"features-beyond", features_beyond},
    {"features-late", features_late},
    {NULL, NULL},
};
