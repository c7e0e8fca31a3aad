/* Chains of descriptors that lie: V1, V2, V3, V6. Each against each device ("TARGET"). */
#include "vmm-virtio.h"

/* One descriptor behind what the device wants to see first, and a kick. */
static void strike(uint64_t addr, uint32_t len, uint16_t flags, uint16_t next)
{
    struct target t;

    target_begin(&t);
    desc_set(&t.q, t.first, addr, len, (uint16_t)(t.flag | flags), next);
    queue_give(&t.q, 0);
    linger();
}

static void outside(void)
{
    strike(guest_ram_end, 16, 0, 0);
}

static void across_end(void)
{
    strike(guest_ram_end - 8, 16, 0, 0);
}

static void far_outside(void)
{
    strike(0x4000000000000000ull, 16, 0, 0);
}

static void wraps(void)
{
    strike(0xfffffffffffffff8ull, 16, 0, 0);
}

/* The sum is a good address again. */
static void wraps_into_ram(void)
{
    strike(0xfffffffffffff000ull, 0x200000, 0, 0);
}

static void all_memory(void)
{
    strike(0, 0xffffffff, 0, 0);
}

static void in_hole(void)
{
    strike(ADDRESS_HOLE, 16, 0, 0);
}

/* Both sides of the hole are RAM in a machine of more than 3 GiB; one buffer must not be in both. */
static void across_hole(void)
{
    strike(ADDRESS_HOLE - 8, 0x40000010, 0, 0);
}

static void before_high(void)
{
    strike(ADDRESS_HIGH - 8, 16, 0, 0);
}

static void after_high(void)
{
    strike(ADDRESS_HIGH + (1ull << 30) - 8, 16, 0, 0);
}

static void in_window(void)
{
    strike(WINDOW(ENTROPY) + REG_NOTIFY, 4, 0, 0);
}

static void in_apic(void)
{
    strike(ADDRESS_APIC + 0x300, 4, 0, 0);
}

static void next_beyond(void)
{
    strike(gpa(page_in), 16, DESC_NEXT, RING_SIZE);
}

static void next_far_beyond(void)
{
    strike(gpa(page_in), 16, DESC_NEXT, 0xffff);
}

static void indirect(void)
{
    strike(gpa(page_in), 16, DESC_INDIRECT, 0);
}

static void indirect_and_next(void)
{
    strike(gpa(page_in), 48, DESC_INDIRECT | DESC_NEXT, 2);
}

static void loop_one(void)
{
    struct target t;

    target_begin(&t);
    desc_set(&t.q, t.first, gpa(page_in), 16, (uint16_t)(t.flag | DESC_NEXT), t.first);
    queue_give(&t.q, 0);
    linger();
}

static void loop_two(void)
{
    struct target t;

    target_begin(&t);
    desc_set(&t.q, t.first, gpa(page_in), 16, (uint16_t)(t.flag | DESC_NEXT), 9);
    desc_set(&t.q, 9, gpa(page_in), 16, (uint16_t)(t.flag | DESC_NEXT), t.first);
    queue_give(&t.q, 0);
    linger();
}

/* Many descriptors of the same good memory: more together than any machine would ask for. */
static void too_many_bytes(void)
{
    struct target t;

    target_begin(&t);
    for (uint16_t i = t.first; i < RING_SIZE; i++) {
        desc_set(&t.q, i, 0x400000, 4u << 20,
                 (uint16_t)(t.flag | (i + 1u < RING_SIZE ? DESC_NEXT : 0)), (uint16_t)(i + 1));
    }
    queue_give(&t.q, 0);
    linger();
}

static void out_after_in(void)
{
    struct target t;

    target_begin(&t);
    desc_set(&t.q, t.first, gpa(page_in), 512, DESC_WRITE | DESC_NEXT, 2);
    desc_set(&t.q, 2, gpa(page_out), 512, DESC_NEXT, 3);
    desc_set(&t.q, 3, gpa(page_in + 512), 1, DESC_WRITE, 0);
    queue_give(&t.q, 0);
    linger();
}

/* Memory to read where the device wants to write, and the other way round. */
static void wrong_way(void)
{
    struct target t;
    uint16_t flag;

    target_begin(&t);
    flag = t.flag ^ DESC_WRITE;
    desc_set(&t.q, 0, gpa(page_in), 16, (uint16_t)(flag | DESC_NEXT), 1);
    desc_set(&t.q, 1, gpa(page_in), 512, flag, 0);
    queue_give(&t.q, 0);
    linger();
}

static void no_bytes(void)
{
    strike(gpa(page_in), 0, 0, 0);
}

static void no_bytes_outside(void)
{
    strike(0xfffffffffffffff0ull, 0, 0, 0);
}

static void many_without_bytes(void)
{
    struct target t;

    target_begin(&t);
    for (uint16_t i = t.first; i < RING_SIZE; i++) {
        desc_set(&t.q, i, gpa(page_in), 0,
                 (uint16_t)(t.flag | (i + 1u < RING_SIZE ? DESC_NEXT : 0)), (uint16_t)(i + 1));
    }
    queue_give(&t.q, 0);
    linger();
}

static void unknown_flags(void)
{
    strike(gpa(page_in), 16, 0xfff8, 0);
}

/* Any table, any ring, again and again: whatever comes, it ends. */
static void random_tables(void)
{
    struct target t;

    target_begin(&t);
    for (int round = 0; round < 300; round++) {
        for (uint16_t i = 0; i < RING_SIZE; i++) {
            uint32_t r = roll();
            uint64_t addr = r & 1 ? gpa(page_in) + r % 4096 : (uint64_t)roll() << (r >> 3 & 31);
            desc_set(&t.q, i, addr, roll() >> (r >> 8 & 31), (uint16_t)(r >> 16 & 7),
                     (uint16_t)(r >> 24 & 15));
        }
        queue_give(&t.q, (uint16_t)(roll() % RING_SIZE));
        if (read32(t.q.window + REG_STATUS) & STATUS_NEEDS_RESET) {
            return;
        }
    }
}

const struct attack attacks_chains[] = {
    {"outside", outside},
    {"across-end", across_end},
    {"far-outside", far_outside},
    {"wraps", wraps},
    {"wraps-into-ram", wraps_into_ram},
    {"all-memory", all_memory},
    {"in-hole", in_hole},
    {"across-hole", across_hole},
    {"before-high", before_high},
    {"after-high", after_high},
    {"in-window", in_window},
    {"in-apic", in_apic},
    {"next-beyond", next_beyond},
    {"next-far-beyond", next_far_beyond},
    {"indirect", indirect},
    {"indirect-and-next", indirect_and_next},
    {"loop-one", loop_one},
    {"loop-two", loop_two},
    {"too-many-bytes", too_many_bytes},
    {"out-after-in", out_after_in},
    {"wrong-way", wrong_way},
    {"no-bytes", no_bytes},
    {"no-bytes-outside", no_bytes_outside},
    {"many-without-bytes", many_without_bytes},
    {"unknown-flags", unknown_flags},
    {"random-tables", random_tables},
    {NULL, NULL},
};
