/* Too much of it (V14, V16, V17), and a second processor that lies while the first one asks (V12). */
#include "vmm-virtio.h"

/* The most that a chain may ask for; a device of entropy gives what it likes. */
static void rng_huge(void)
{
    struct target t;
    uint32_t len;

    target_begin(&t);
    for (int i = 0; i < 50; i++) {
        desc_set(&t.q, 0, 0x400000, 16u << 20, DESC_WRITE, 0);
        queue_give(&t.q, 0);
        expect(queue_take(&t.q, &len), "a request for 16 MiB is answered");
        expect(len > 0 && len <= 65536, "with a handful");
    }
}

/* Kicks without end; the runner ends it. Number: the queue that is told. */
static void notify_storm(void)
{
    struct target t;

    target_begin(&t);
    say("storm\n");
    for (;;) {
        write32(t.q.window + REG_NOTIFY, guest_number);
    }
}

/* Kicks with a chain each, as fast as they go. */
static void work_storm(void)
{
    struct target t;

    target_begin(&t);
    expect(target_works(&t), "the device works");
    say("storm\n");
    for (;;) {
        queue_give(&t.q, 0);
        while (*(volatile uint16_t *)&t.q.ring->used.idx != t.q.ring->avail.idx) {
        }
    }
}

static void reset_storm(void)
{
    struct target t;

    for (int i = 0; i < 300; i++) {
        target_begin(&t);
        target_ask(&t);
        write32(t.q.window + REG_STATUS, 0);
    }
    target_begin(&t);
    expect(target_works(&t), "the device works after 300 resets");
}

/* Registers of all kinds without end. */
static void register_storm(void)
{
    say("storm\n");
    for (;;) {
        for (uint32_t d = 0; d < WINDOWS; d++) {
            (void)read32(WINDOW(d) + REG_MAGIC);
            (void)in8(PORT_NOBODY);
            (void)read32(ADDRESS_HOLE);
        }
    }
}

/* Nobody reads what it prints. */
static void serial_flood(void)
{
    for (uint32_t i = 0; i < 100000; i++) {
        out8(PORT_SERIAL, 'x');
    }
}

static void serial_storm(void)
{
    say("storm\n");
    for (;;) {
        out8(PORT_SERIAL, 'x');
    }
}

static void serial_registers(void)
{
    for (uint32_t i = 0; i < 8; i++) {
        for (uint32_t value = 0; value < 256; value++) {
            if (i > 0) {
                out8((uint16_t)(PORT_SERIAL + i), (uint8_t)value);
            }
            (void)in8((uint16_t)(PORT_SERIAL + i));
        }
    }
    /* Whatever they were set to (loopback, divisor latch): put back, it prints. */
    out8(PORT_SERIAL + 3, 3);
    out8(PORT_SERIAL + 4, 3);
    say("\nprints\n");
}

static void spin(void)
{
    say("storm\n");
    for (;;) {
    }
}

static void halt(void)
{
    say("storm\n");
    for (;;) {
        __asm__ volatile("cli; hlt");
    }
}

/* Words that the test writes into the memory file of a saved machine, and the pages it then dirties. */
#define WORD_GO    ((volatile uint32_t *)0x2000)
#define WORD_PAGES ((volatile uint32_t *)0x2004)

/* Is saved while it waits; its clones find the word set, leave for the serial port at once, and end. */
static void wait_for_word(void)
{
    say("storm\n");
    while (*WORD_GO == 0) {
    }
    out8(PORT_SERIAL, '!');
    for (uint32_t i = 0; i < *WORD_PAGES; i++) {
        write32(0x400000 + i * 4096, i);
    }
    while (*WORD_GO > 1) {
    }
}

static struct target raced;
static volatile uint32_t races;

/* Good, bad, good, bad: addresses, lengths, flags, next and the header of the request. */
static void race(void)
{
    static const struct desc lies[] = {
        {0xffffffffffffff00ull, 0x200, DESC_NEXT, 1},
        {0x600000, 0xffffffff, 0, 0},
        {0xd0004000u, 64, DESC_WRITE, 0},
        {0x600000, 16, DESC_NEXT | DESC_WRITE, 0xffff},
        {0x600000, 16, DESC_INDIRECT, 0},
        {0x7fffffffffffffffull, 512, DESC_WRITE | DESC_NEXT, 2},
    };
    volatile struct desc *table = raced.q.ring->desc;

    for (uint32_t i = 0;; i++) {
        uint32_t at = i % 3;
        struct desc truth = {table[at].addr, table[at].len, table[at].flags, table[at].next};
        const struct desc *lie = &lies[i / 3 % (sizeof(lies) / sizeof(lies[0]))];
        switch (i % 4) {
        case 0:
            table[at].addr = lie->addr;
            break;
        case 1:
            table[at].len = lie->len;
            break;
        case 2:
            table[at].flags = lie->flags;
            break;
        default:
            table[at].next = lie->next;
        }
        table[at].addr = truth.addr;
        table[at].len = truth.len;
        table[at].flags = truth.flags;
        table[at].next = truth.next;
        races++;
    }
}

/*
 * What is wrong at no moment, but not the same twice: another good address, another length, another
 * sector. Whoever looks twice gets two answers; whoever copied once cannot tell.
 */
static void race_kindly(void)
{
    volatile struct desc *data = &raced.q.ring->desc[raced.first];
    volatile struct blk_header *ask = target_header();
    bool fixed_len = same(guest_target, "control");

    for (uint32_t i = 0;; i++) {
        data->addr = i % 2 == 0 ? 0x400000 : gpa(page_in);
        if (!fixed_len) {
            data->len = i % 3 == 0 ? 4096 : 512;
        }
        ask->sector = i % 5 == 0 ? 0xffffffffffffffffull : i % 7;
        ask->type = i % 2;
        races++;
    }
}

/* Number: how many requests; an odd one: lies that are all good. */
static void second_lies(void)
{
    bool kind = guest_number % 2 == 1;
    uint32_t len;

    target_begin(&raced);
    expect(target_works(&raced), "the device works");
    /* Where the kind one points a control message to. */
    memcpy((void *)(uintptr_t)0x400000, page_out, 8);
    memcpy(page_in, page_out, 8);
    if (!second_start(kind ? race_kindly : race)) {
        say("alone\n");
        return;
    }
    for (uint32_t i = 0; i < guest_number; i++) {
        queue_give(&raced.q, 0);
        expect(queue_take(&raced.q, &len), "a request is answered, whatever it was");
    }
    expect(races > 0, "the second processor lied");
}

static volatile bool second_stop;

static void hammer(void)
{
    while (!second_stop) {
        for (uint32_t d = 0; d < WINDOWS; d++) {
            write32(WINDOW(d) + REG_STATUS, 0);
            write32(WINDOW(d) + REG_QUEUE_SEL, races++ % 8);
            (void)read32(WINDOW(d) + REG_QUEUE_READY);
        }
    }
}

/* One processor resets every device while the other one uses one of them. */
static void second_resets(void)
{
    if (!second_start(hammer)) {
        say("alone\n");
        return;
    }
    for (int i = 0; i < 100; i++) {
        target_begin(&raced);
        target_ask(&raced);
        (void)in8(PORT_NOBODY);
    }
    second_stop = true;
    linger();
    target_begin(&raced);
    expect(target_works(&raced), "the device works when it is let alone");
}

static void crowd(void)
{
    for (;;) {
        for (uint32_t d = 0; d < WINDOWS; d++) {
            (void)read32(WINDOW(d) + REG_INTERRUPT);
            write32(WINDOW(d) + REG_INTERRUPT_ACK, 3);
            write32(WINDOW(d) + REG_NOTIFY, races++ % 6);
            (void)in8(PORT_SERIAL + 5);
            (void)in8(PORT_NOBODY);
        }
    }
}

/* All processors at all devices at once, and one of them has work done. */
static void all_at_once(void)
{
    target_begin(&raced);
    if (!second_start(crowd)) {
        say("alone\n");
        return;
    }
    for (uint32_t i = 0; i < guest_number; i++) {
        expect(target_works(&raced), "the device works for one of many");
    }
}

/* The second one ends the machine while the first one is inside a device. */
static void pull_the_plug(void)
{
    for (int i = 0; i < 200; i++) {
        (void)in8(PORT_NOBODY);
    }
    out8(PORT_RESET, RESET_VALUE);
}

static void second_ends(void)
{
    target_begin(&raced);
    target_ask(&raced);
    if (!second_start(pull_the_plug)) {
        say("alone\n");
        return;
    }
    for (;;) {
        (void)target_works(&raced);
    }
}

const struct attack attacks_storms[] = {
    {"rng-huge", rng_huge},
    {"notify-storm", notify_storm},
    {"work-storm", work_storm},
    {"reset-storm", reset_storm},
    {"register-storm", register_storm},
    {"serial-flood", serial_flood},
    {"serial-storm", serial_storm},
    {"serial-registers", serial_registers},
    {"spin", spin},
    {"halt", halt},
    {"wait", wait_for_word},
    {"second-lies", second_lies},
    {"second-resets", second_resets},
    {"second-ends", second_ends},
    {"all-at-once", all_at_once},
    {NULL, NULL},
};
