/* Queues that are set up wrongly (V7, V8, V10) and rings whose indices lie (V4, V5). */
#include "vmm-virtio.h"

struct bad_queue {
    const char *name;
    uint32_t size;
    uint64_t desc, avail, used; /* OWN: where it should be */
};

#define OWN 0x1ull

/* END and NEAR: the end of RAM, and so near that not all of a ring is in it. */
#define END  0x2ull
#define NEAR 0x3ull

static const struct bad_queue bad_queues[] = {
    {"size-0", 0, OWN, OWN, OWN},
    {"size-3", 3, OWN, OWN, OWN},
    {"size-512", 512, OWN, OWN, OWN},
    {"size-65536", 65536, OWN, OWN, OWN},
    {"size-65552", 65552, OWN, OWN, OWN},
    {"size-all-ones", 0xffffffff, OWN, OWN, OWN},
    {"desc-unaligned", 16, 0x200008, OWN, OWN},
    {"avail-unaligned", 16, OWN, 0x200001, OWN},
    {"used-unaligned", 16, OWN, OWN, 0x200002},
    {"desc-at-end", 16, END, OWN, OWN},
    {"avail-at-end", 16, OWN, END, OWN},
    {"used-at-end", 16, OWN, OWN, END},
    {"desc-across-end", 16, NEAR, OWN, OWN},
    {"avail-across-end", 16, OWN, NEAR, OWN},
    {"used-across-end", 16, OWN, OWN, NEAR},
    {"desc-wraps", 16, 0xfffffffffffffff0ull, OWN, OWN},
    {"avail-wraps", 16, OWN, 0xfffffffffffffffeull, OWN},
    {"used-wraps", 16, OWN, OWN, 0xfffffffffffffffcull},
    {"desc-beyond-4g", 16, 0x100000000ull, OWN, OWN},
    {"desc-in-window", 16, WINDOW(ENTROPY), OWN, OWN},
    {"avail-in-window", 16, OWN, WINDOW(ENTROPY) + REG_NOTIFY, OWN},
    {"used-in-window", 16, OWN, OWN, WINDOW(ENTROPY) + REG_STATUS},
    {"used-in-apic", 16, OWN, OWN, ADDRESS_APIC},
    {"desc-is-avail", 16, 0x200000, 0x200000, OWN},
    {"desc-is-used", 16, 0x200000, OWN, 0x2000f0},
    {"avail-is-used", 16, OWN, 0x200000, 0x200004},
};

static uint64_t place(uint64_t at, uint64_t own)
{
    return at == OWN ? own : at == END ? guest_ram_end : at == NEAR ? guest_ram_end - 32 : at;
}

/* Target: the name of a bad queue; number: which device. */
static void queue_setup(void)
{
    for (unsigned int i = 0; i < sizeof(bad_queues) / sizeof(bad_queues[0]); i++) {
        const struct bad_queue *b = &bad_queues[i];
        if (same(b->name, guest_target)) {
            struct ring *ring = ring_get(0);
            device_begin(guest_number, 0);
            queue_set(guest_number, 0, b->size, place(b->desc, gpa(ring->desc)),
                      place(b->avail, gpa(&ring->avail)), place(b->used, gpa(&ring->used)));
            device_go(guest_number);
            write32(WINDOW(guest_number) + REG_NOTIFY, 0);
            linger();
            return;
        }
    }
    expect(same(guest_target, "list"), "a bad queue of this name");
    for (unsigned int i = 0; i < sizeof(bad_queues) / sizeof(bad_queues[0]); i++) {
        say(bad_queues[i].name);
        say("\n");
    }
}

/* The lowest and highest that are right. */
static void queue_sizes(void)
{
    struct ring *ring = ring_get(4);

    for (uint32_t size = 1; size <= RING_MAX; size *= 2) {
        struct queue q = {.window = WINDOW(ENTROPY), .size = size, .ring = ring};
        uint32_t len;
        device_begin(ENTROPY, 0);
        ring->avail.idx = 0;
        ring->used.idx = 0;
        queue_set(ENTROPY, 0, size, gpa(ring->desc), gpa(&ring->avail), gpa(&ring->used));
        device_go(ENTROPY);
        desc_set(&q, 0, gpa(page_in), 64, DESC_WRITE, 0);
        for (int n = 0; n < 3; n++) {
            queue_give(&q, 0);
            expect(queue_take(&q, &len), "a queue of this size works");
            expect_equal(len, 64, "the bytes of entropy");
        }
    }
}

static const uint32_t selectors[] = {6,     7,          31,         255,        256,       65535,
                                     65536, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};

/* To look at a queue that does not exist is no crime, nor to tell of it in no word of four bytes. */
static void queue_selectors(void)
{
    struct target t;

    target_begin(&t);
    for (unsigned int i = 0; i < sizeof(selectors) / sizeof(selectors[0]); i++) {
        uint32_t w = t.q.window;
        write32(w + REG_QUEUE_SEL, selectors[i]);
        expect_equal(read32(w + REG_QUEUE_MAX), 0, "the size of a queue that does not exist");
        expect_equal(read32(w + REG_QUEUE_READY), 0, "a queue that does not exist");
        write16(w + REG_NOTIFY, (uint16_t)selectors[i]);
        write8(w + REG_NOTIFY, (uint8_t)selectors[i]);
    }
    expect(target_works(&t), "the device works");
}

/* Number: which selector. To write there is. */
static void queue_select(void)
{
    device_begin(ENTROPY, 0);
    queue_set(ENTROPY, selectors[guest_number], 16, 0x300000, 0x301000, 0x302000);
    device_go(ENTROPY);
    linger();
}

/* Whoever takes it, KVM or the monitor: the number is looked at, or not used at all. */
static void notify_beyond(void)
{
    struct target t;

    target_begin(&t);
    for (unsigned int i = 0; i < sizeof(selectors) / sizeof(selectors[0]); i++) {
        write32(t.q.window + REG_NOTIFY, selectors[i]);
    }
    linger();
    expect(target_works(&t), "the device works");
}

/* A kick before DRIVER_OK, or of a queue that nobody made, is nothing. */
static void notify_early(void)
{
    struct target t;
    uint32_t len;

    device_begin(ENTROPY, 0);
    write32(WINDOW(ENTROPY) + REG_NOTIFY, 0);
    queue_make(&t.q, ENTROPY, 0, 4);
    desc_set(&t.q, 0, gpa(page_in), 64, DESC_WRITE, 0);
    queue_give(&t.q, 0);
    linger();
    expect_equal(*(volatile uint16_t *)&t.q.ring->used.idx, 0, "chains used before DRIVER_OK");
    device_go(ENTROPY);
    queue_kick(&t.q);
    expect(queue_take(&t.q, &len), "the chain is used after it");
    device_begin(CONSOLE, 0);
    device_go(CONSOLE);
    for (uint32_t i = 0; i < 4; i++) {
        write32(WINDOW(CONSOLE) + REG_NOTIFY, i);
    }
    linger();
}

/* What belongs to a queue, once it is ready. Number: the register. */
static void change_after_ready(void)
{
    struct target t;
    uint32_t w;

    target_begin(&t);
    w = t.q.window;
    write32(w + REG_QUEUE_SEL, t.q.index);
    write32(w + guest_number, 32);
    linger();
}

/* Not ready any more while chains wait. */
static void unready(void)
{
    struct target t;

    target_begin(&t);
    write32(t.q.window + REG_QUEUE_SEL, t.q.index);
    queue_give(&t.q, 0);
    write32(t.q.window + REG_QUEUE_READY, 0);
    linger();
}

static void avail_jump(void)
{
    struct target t;

    target_begin(&t);
    expect(target_works(&t), "the device works");
    *(volatile uint16_t *)&t.q.ring->avail.idx =
        (uint16_t)(t.q.ring->avail.idx + RING_SIZE + 1 + guest_number);
    queue_kick(&t.q);
    linger();
}

static void avail_backwards(void)
{
    struct target t;

    target_begin(&t);
    expect(target_works(&t), "the device works");
    *(volatile uint16_t *)&t.q.ring->avail.idx = (uint16_t)(t.q.ring->avail.idx - 1);
    queue_kick(&t.q);
    linger();
}

static void head_beyond(void)
{
    struct target t;

    target_begin(&t);
    queue_give(&t.q, (uint16_t)(guest_number == 0 ? RING_SIZE : guest_number));
    linger();
}

/* The console keeps the buffers that it may write to until something comes: given twice is a lie. */
static void head_twice(void)
{
    static struct console_queues c;

    console_begin(&c);
    desc_set(&c.in, 3, gpa(page_in), 64, DESC_WRITE, 0);
    queue_give(&c.in, 3);
    queue_give(&c.in, 3);
    linger();
}

/* The same request a thousand times in a full ring, answered between. */
static void full_ring(void)
{
    struct target t;
    uint32_t len;

    target_begin(&t);
    expect(target_works(&t), "the device works");
    for (int round = 0; round < 20; round++) {
        for (unsigned int i = 0; i < RING_SIZE; i++) {
            queue_put(&t.q, 0);
        }
        queue_kick(&t.q);
        for (unsigned int i = 0; i < RING_SIZE; i++) {
            expect(queue_take(&t.q, &len), "each chain of a full ring is used");
        }
    }
}

/* The device writes into its own rings (V19): entropy over the indices, over the table. */
static void own_ring(void)
{
    struct target t;

    target_begin(&t);
    desc_set(&t.q, 0, gpa(&t.q.ring->used), sizeof(t.q.ring->used), DESC_WRITE | DESC_NEXT, 1);
    desc_set(&t.q, 1, gpa(&t.q.ring->avail), sizeof(t.q.ring->avail), DESC_WRITE | DESC_NEXT, 2);
    desc_set(&t.q, 2, gpa(t.q.ring->desc), sizeof(t.q.ring->desc), DESC_WRITE, 0);
    for (int i = 0; i < 20; i++) {
        queue_give(&t.q, 0);
    }
    linger();
}

/* A disk's sector over the available ring, the table and the used ring, and on it goes. */
static void own_ring_disk(void)
{
    static struct blk_header header;
    struct target t;

    guest_target = "blk";
    target_begin(&t);
    header = (struct blk_header){.type = 0, .sector = guest_number};
    desc_set(&t.q, 0, gpa(&header), sizeof(header), DESC_NEXT, 1);
    desc_set(&t.q, 1, gpa(&t.q.ring->avail), 512, DESC_WRITE | DESC_NEXT, 2);
    desc_set(&t.q, 2, gpa(t.q.ring->desc), 512, DESC_WRITE | DESC_NEXT, 3);
    desc_set(&t.q, 3, gpa(&t.q.ring->used), 512, DESC_WRITE | DESC_NEXT, 4);
    desc_set(&t.q, 4, gpa(&t.q.ring->used.idx), 1, DESC_WRITE, 0);
    for (int i = 0; i < 20; i++) {
        queue_give(&t.q, 0);
    }
    linger();
}

const struct attack attacks_queues[] = {
    {"queue-setup", queue_setup},
    {"queue-sizes", queue_sizes},
    {"queue-selectors", queue_selectors},
    {"queue-select", queue_select},
    {"notify-beyond", notify_beyond},
    {"notify-early", notify_early},
    {"change-after-ready", change_after_ready},
    {"unready", unready},
    {"avail-jump", avail_jump},
    {"avail-backwards", avail_backwards},
    {"head-beyond", head_beyond},
    {"head-twice", head_twice},
    {"full-ring", full_ring},
    {"own-ring", own_ring},
    {"own-ring-disk", own_ring_disk},
    {NULL, NULL},
};
