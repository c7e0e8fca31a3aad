#include "vmm-virtio.h"

static struct ring rings[6];
uint8_t page_out[4096] __attribute__((aligned(4096)));
uint8_t page_in[4096] __attribute__((aligned(4096)));
static struct blk_header header;
static struct console_queues console;

/* The queue's memory, not the processor's: x86 keeps stores in order, the compiler need not. */
#define BARRIER() __asm__ volatile("" : : : "memory")

static void write64(uint32_t at, uint64_t value)
{
    write32(at, (uint32_t)value);
    write32(at + 4, (uint32_t)(value >> 32));
}

struct ring *ring_get(unsigned int number)
{
    return &rings[number];
}

uint32_t device_begin(unsigned int device, uint64_t features)
{
    uint32_t w = WINDOW(device);

    features |= FEATURE_VERSION_1;
    write32(w + REG_STATUS, 0);
    write32(w + REG_STATUS, STATUS_ACKNOWLEDGE);
    write32(w + REG_STATUS, STATUS_ACKNOWLEDGE | STATUS_DRIVER);
    for (uint32_t half = 0; half < 2; half++) {
        write32(w + REG_DRIVER_FEATURES_SEL, half);
        write32(w + REG_DRIVER_FEATURES, (uint32_t)(features >> 32 * half));
    }
    write32(w + REG_STATUS, STATUS_ACKNOWLEDGE | STATUS_DRIVER | STATUS_FEATURES_OK);
    return read32(w + REG_STATUS);
}

void device_go(unsigned int device)
{
    write32(WINDOW(device) + REG_STATUS,
            STATUS_ACKNOWLEDGE | STATUS_DRIVER | STATUS_FEATURES_OK | STATUS_OK);
}

void queue_set(unsigned int device, unsigned int index, uint32_t size, uint64_t desc,
               uint64_t avail, uint64_t used)
{
    uint32_t w = WINDOW(device);

    write32(w + REG_QUEUE_SEL, index);
    write32(w + REG_QUEUE_SIZE, size);
    write64(w + REG_DESC, desc);
    write64(w + REG_AVAIL, avail);
    write64(w + REG_USED, used);
    write32(w + REG_QUEUE_READY, 1);
}

void queue_make(struct queue *q, unsigned int device, unsigned int index, unsigned int ring)
{
    *q = (struct queue){
        .window = WINDOW(device), .index = index, .size = RING_SIZE, .ring = &rings[ring]};
    rings[ring].avail.idx = 0;
    rings[ring].used.idx = 0;
    queue_set(device, index, q->size, gpa(q->ring->desc), gpa(&q->ring->avail),
              gpa(&q->ring->used));
}

void desc_set(struct queue *q, unsigned int at, uint64_t addr, uint32_t len, uint16_t flags,
              uint16_t next)
{
    q->ring->desc[at] = (struct desc){.addr = addr, .len = len, .flags = flags, .next = next};
}

void queue_put(struct queue *q, uint16_t head)
{
    uint16_t idx = q->ring->avail.idx;

    q->ring->avail.ring[idx % q->size] = head;
    BARRIER();
    *(volatile uint16_t *)&q->ring->avail.idx = (uint16_t)(idx + 1);
    BARRIER();
}

void queue_kick(const struct queue *q)
{
    BARRIER();
    write32(q->window + REG_NOTIFY, q->index);
}

void queue_give(struct queue *q, uint16_t head)
{
    queue_put(q, head);
    queue_kick(q);
}

bool queue_take(struct queue *q, uint32_t *ret_len)
{
    for (int i = 0; i < 100000; i++) {
        if (*(volatile uint16_t *)&q->ring->used.idx != q->used_seen) {
            BARRIER();
            *ret_len = q->ring->used.ring[q->used_seen % q->size].len;
            q->used_seen++;
            return true;
        }
        (void)in8(PORT_NOBODY);
    }
    return false;
}

/* Control messages: virtio 1.2, 5.3.6.2. */
enum {
    CONTROL_DEVICE_READY = 0,
    CONTROL_PORT_READY = 3,
    CONTROL_PORT_OPEN = 6
};

void console_send(struct console_queues *c, uint32_t port, uint16_t event, uint16_t value)
{
    struct {
        uint32_t id;
        uint16_t event, value;
    } message = {port, event, value};

    *(typeof(message) *)(void *)page_out = message;
    desc_set(&c->control_out, 0, gpa(page_out), sizeof(message), 0, 0);
    queue_give(&c->control_out, 0);
}

void console_tell(struct console_queues *c, uint32_t port, uint16_t event, uint16_t value)
{
    uint32_t len;

    console_send(c, port, event, value);
    expect(queue_take(&c->control_out, &len), "the console takes a control message");
}

void console_begin(struct console_queues *c)
{
    const uint64_t multiport = 1u << 1;

    expect(device_begin(CONSOLE, multiport) & STATUS_FEATURES_OK, "the console has ports");
    queue_make(&c->control_in, CONSOLE, 2, 0);
    queue_make(&c->control_out, CONSOLE, 3, 1);
    queue_make(&c->in, CONSOLE, 4, 2);
    queue_make(&c->out, CONSOLE, 5, 3);
    device_go(CONSOLE);
    for (uint16_t i = 0; i < RING_SIZE; i++) {
        desc_set(&c->control_in, i, gpa(page_in) + 64u * i, 64, DESC_WRITE, 0);
        queue_give(&c->control_in, i);
    }
    console_tell(c, 0, CONTROL_DEVICE_READY, 1);
    console_tell(c, 1, CONTROL_PORT_READY, 1);
    console_tell(c, 1, CONTROL_PORT_OPEN, 1);
}

void target_begin(struct target *t)
{
    *t = (struct target){.device = ENTROPY, .flag = DESC_WRITE};
    if (same(guest_target, "control") || same(guest_target, "tx")) {
        console_begin(&console);
        t->device = CONSOLE;
        t->flag = 0;
        t->q = same(guest_target, "tx") ? console.out : console.control_out;
        return;
    }
    if (same(guest_target, "blk")) {
        t->device = SCRATCH;
        t->first = 1;
        header = (struct blk_header){.type = 0};
    } else {
        expect(same(guest_target, "rng"), "a target of this name");
    }
    device_begin(t->device, 0);
    queue_make(&t->q, t->device, 0, 4);
    device_go(t->device);
    desc_set(&t->q, 0, gpa(&header), sizeof(header), DESC_NEXT, 1);
}

volatile struct blk_header *target_header(void)
{
    return &header;
}

void target_ask(struct target *t)
{
    if (t->device == SCRATCH) {
        desc_set(&t->q, 0, gpa(&header), sizeof(header), DESC_NEXT, 1);
        desc_set(&t->q, 1, gpa(page_in), 512, DESC_WRITE | DESC_NEXT, 2);
        desc_set(&t->q, 2, gpa(page_in + 512), 1, DESC_WRITE, 0);
        page_in[512] = 0xff;
    } else if (t->device == CONSOLE) {
        for (int i = 0; i < 8; i++) {
            page_out[i] = (uint8_t)(i == 4 ? CONTROL_PORT_OPEN : i == 0 || i == 6);
        }
        desc_set(&t->q, 0, gpa(page_out), 8, 0, 0);
    } else {
        desc_set(&t->q, 0, gpa(page_in), 64, DESC_WRITE, 0);
    }
    queue_give(&t->q, 0);
}

bool target_works(struct target *t)
{
    uint32_t len;

    target_ask(t);
    return queue_take(&t->q, &len) && (t->device != SCRATCH || page_in[512] == 0);
}
