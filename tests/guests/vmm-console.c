/* The console's control messages and its port: V14, and what no driver says. */
#include "vmm-virtio.h"

static struct console_queues console;

/* The first bytes of the channel are an echo: what we write, the runner sends back. */
static void use(void)
{
    uint32_t len;

    console_begin(&console);
    desc_set(&console.in, 0, gpa(page_in), 256, DESC_WRITE, 0);
    queue_give(&console.in, 0);
    memcpy(page_out, "ping", 4);
    desc_set(&console.out, 0, gpa(page_out), 4, 0, 0);
    queue_give(&console.out, 0);
    expect(queue_take(&console.out, &len), "what is written is taken");
    expect(queue_take(&console.in, &len), "an answer comes");
    expect_equal(len, 4, "the bytes of the answer");
    expect(page_in[0] == 'p' && page_in[3] == 'g', "the answer is what was written");
}

/* What a driver may say, in any order and as often as it likes. */
static void control_flood(void)
{
    static const uint16_t events[] = {0, 3, 6};

    console_begin(&console);
    for (int i = 0; i < 1000; i++) {
        uint32_t r = roll();
        console_tell(&console, 1, events[r % 3], (uint16_t)(r >> 8 & 1 ? r >> 16 & 1 : r >> 16));
    }
}

/* Number: which of the things that no driver says. */
static void control_bogus(void)
{
    static const struct {
        uint32_t port;
        uint16_t event;
    } lies[] = {{0, 3},          {0, 6},
                {2, 6},          {0x80000001, 6},
                {0xffffffff, 3}, {1, 1},
                {1, 2},          {1, 4},
                {1, 5},          {1, 7},
                {1, 8},          {1, 6 << 8},
                {1, 0xffff},     {0xffffffff, 0xffff}};

    console_begin(&console);
    if (guest_number < sizeof(lies) / sizeof(lies[0])) {
        console_send(&console, lies[guest_number].port, lies[guest_number].event, 1);
        linger();
    }
}

/* Ready and open before the console itself is. */
static void control_early(void)
{
    expect(device_begin(CONSOLE, 1u << 1) & STATUS_FEATURES_OK, "the console has ports");
    queue_make(&console.control_out, CONSOLE, 3, 1);
    device_go(CONSOLE);
    console_send(&console, 1, 6, 1);
    linger();
}

/* Ready and open by the thousand, and no buffer for the device's answers. */
static void control_without_buffers(void)
{
    expect(device_begin(CONSOLE, 1u << 1) & STATUS_FEATURES_OK, "the console has ports");
    queue_make(&console.control_in, CONSOLE, 2, 0);
    queue_make(&console.control_out, CONSOLE, 3, 1);
    device_go(CONSOLE);
    for (int i = 0; i < 3000; i++) {
        uint16_t event = i % 3 == 0 ? 0 : i % 3 == 1 ? 3 : 6;
        console_tell(&console, event == 0 ? 0 : 1, event, 1);
    }
}

/* Target: "short", "empty" or "long". */
static void control_sizes(void)
{
    uint32_t size = same(guest_target, "short") ? 7 : same(guest_target, "empty") ? 1 : 1u << 20;

    console_begin(&console);
    desc_set(&console.control_out, 0, 0x400000, size, 0, 0);
    queue_give(&console.control_out, 0);
    linger();
}

/* Buffers for the device's messages of a byte each. */
static void control_small_buffers(void)
{
    expect(device_begin(CONSOLE, 1u << 1) & STATUS_FEATURES_OK, "the console has ports");
    queue_make(&console.control_in, CONSOLE, 2, 0);
    queue_make(&console.control_out, CONSOLE, 3, 1);
    device_go(CONSOLE);
    for (uint16_t i = 0; i < RING_SIZE; i++) {
        desc_set(&console.control_in, i, gpa(page_in), 1, DESC_WRITE, 0);
        queue_give(&console.control_in, i);
    }
    console_send(&console, 0, 0, 1);
    linger();
}

/* A port that was never announced: its queues are there all the same. */
static void port_zero(void)
{
    expect(device_begin(CONSOLE, 1u << 1) & STATUS_FEATURES_OK, "the console has ports");
    queue_make(&console.in, CONSOLE, 0, 0);
    queue_make(&console.out, CONSOLE, 1, 1);
    device_go(CONSOLE);
    for (int i = 0; i < 100; i++) {
        desc_set(&console.in, 0, gpa(page_in), 64, DESC_WRITE, 0);
        desc_set(&console.out, 0, gpa(page_out), 4096, 0, 0);
        if (i == 0) {
            queue_give(&console.in, 0);
        }
        queue_give(&console.out, 0);
    }
    linger();
}

/* Before any handshake. */
static void port_unopened(void)
{
    expect(device_begin(CONSOLE, 1u << 1) & STATUS_FEATURES_OK, "the console has ports");
    queue_make(&console.in, CONSOLE, 4, 2);
    queue_make(&console.out, CONSOLE, 5, 3);
    device_go(CONSOLE);
    desc_set(&console.in, 0, gpa(page_in), 64, DESC_WRITE, 0);
    queue_give(&console.in, 0);
    for (int i = 0; i < 8; i++) {
        desc_set(&console.out, 0, gpa(page_out), 4096, 0, 0);
        queue_give(&console.out, 0);
    }
    linger();
}

/* Without the feature: the same device, but the driver took no ports. */
static void without_ports(void)
{
    device_begin(CONSOLE, 0);
    for (unsigned int i = 0; i < 6; i++) {
        queue_make(&console.out, CONSOLE, i, i);
    }
    device_go(CONSOLE);
    for (unsigned int i = 0; i < 6; i++) {
        struct queue q = {
            .window = WINDOW(CONSOLE), .index = i, .size = RING_SIZE, .ring = ring_get(i)};
        desc_set(&q, 0, gpa(page_out), 64, i % 2 == 0 ? DESC_WRITE : 0, 0);
        queue_give(&q, 0);
    }
    linger();
}

/* Nobody reads the channel: chains of 15 MiB, as many as there is room for, and more again. */
static void write_to_nobody(void)
{
    console_begin(&console);
    for (uint16_t i = 0; i < RING_SIZE; i++) {
        desc_set(&console.out, i, 0x400000, 15u << 20, 0, 0);
        queue_put(&console.out, i);
    }
    say("full\n");
    for (;;) {
        queue_kick(&console.out);
    }
}

/* The same, but reset amid of it: the rest of a chain is forgotten, and the port works again. */
static void write_to_nobody_reset(void)
{
    for (int i = 0; i < 30; i++) {
        console_begin(&console);
        desc_set(&console.out, 0, 0x400000, 1u << 20, 0, 0);
        queue_give(&console.out, 0);
        (void)in8(PORT_NOBODY);
        write32(WINDOW(CONSOLE) + REG_STATUS, 0);
    }
}

/* The runner writes without end; no buffer is ever given, then one byte at a time. */
static void host_flood(void)
{
    uint32_t len;

    console_begin(&console);
    linger();
    desc_set(&console.in, 0, gpa(page_in), 1, DESC_WRITE, 0);
    for (int i = 0; i < 500; i++) {
        queue_give(&console.in, 0);
        expect(queue_take(&console.in, &len) && len == 1, "a byte of a flood");
    }
}

/* The runner closes the channel; the guest goes on writing and waiting. */
static void closed_channel(void)
{
    uint32_t len;

    console_begin(&console);
    say("close\n");
    linger();
    for (int i = 0; i < 100; i++) {
        desc_set(&console.out, 0, gpa(page_out), 4096, 0, 0);
        queue_give(&console.out, 0);
        expect(queue_take(&console.out, &len), "a write to nowhere is taken");
    }
    desc_set(&console.in, 0, gpa(page_in), 4096, DESC_WRITE, 0);
    queue_give(&console.in, 0);
    linger();
}

const struct attack attacks_console[] = {
    {"console-use", use},
    {"control-flood", control_flood},
    {"control-bogus", control_bogus},
    {"control-early", control_early},
    {"control-without-buffers", control_without_buffers},
    {"control-sizes", control_sizes},
    {"control-small-buffers", control_small_buffers},
    {"port-zero", port_zero},
    {"port-unopened", port_unopened},
    {"without-ports", without_ports},
    {"write-to-nobody", write_to_nobody},
    {"write-to-nobody-reset", write_to_nobody_reset},
    {"host-flood", host_flood},
    {"closed-channel", closed_channel},
    {NULL, NULL},
};
