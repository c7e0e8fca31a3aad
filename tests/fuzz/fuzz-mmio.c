/*
 * The registers of every kind of device, in any order, width and value: no state comes of it that
 * the device could not be in, and what is saved of it can be loaded.
 */
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest.h"
#include "vmm/dev/blk.h"
#include "vmm/dev/console.h"
#include "vmm/dev/rng.h"

#define KINDS 3u

union device {
    struct virtio dev;
    struct blk blk;
    struct console console;
    struct rng rng;
};

static int irq_fd, disk_fd, channel_fd, peer_fd;

static void open_all(void)
{
    int fds[2];

    if (irq_fd == 0) {
        irq_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        disk_fd = memfd_create("disk", MFD_CLOEXEC);
        fuzz_check(irq_fd > 0 && disk_fd > 0 && ftruncate(disk_fd, 0x8000) == 0);
        fuzz_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
        channel_fd = fds[0];
        peer_fd = fds[1];
    }
}

static void make(union device *device, unsigned int kind, const struct gmem *mem)
{
    struct blk_disk disk = {.fd = disk_fd, .id = "disk"};
    struct err err = ERR_INIT;

    if (kind == 0) {
        fuzz_check(blk_init(&device->blk, mem, 0, irq_fd, &disk, &err) == 0);
    } else if (kind == 1) {
        console_init(&device->console, mem, 1, irq_fd, channel_fd);
    } else {
        rng_init(&device->rng, mem, 2, irq_fd);
    }
}

/* What can be saved is what it was when it was loaded. */
static void check_state(const union device *device, unsigned int kind, const struct gmem *mem)
{
    auto_buf struct buf saved = BUF_INIT(4096);
    auto_buf struct buf again = BUF_INIT(4096);
    struct wire_out out = wire_out_start(&saved);
    struct wire_in in = {0};
    struct err err = ERR_INIT;
    union device other;

    virtio_save(&device->dev, &out);
    if (wire_out_end(&out) < 0) {
        return;
    }
    make(&other, kind, mem);
    in = (struct wire_in){saved.data, saved.len};
    fuzz_check(virtio_load(&other.dev, &in, &err) == 0 && in.left == 0);
    guest_check(&other.dev);
    out = wire_out_start(&again);
    virtio_save(&other.dev, &out);
    fuzz_check(wire_out_end(&out) == 0 && again.len == saved.len);
    fuzz_check(memcmp(again.data, saved.data, saved.len) == 0);
}

static void access_register(struct virtio *dev, struct wire_in *script, bool is_write)
{
    /* Mostly registers as they are meant to be used. */
    uint32_t how = script_take(script, 1);
    unsigned int size = how % 8 != 0 ? 4 : 1u << (how / 8 % 4);
    uint64_t offset = how % 8 != 1 ? script_take(script, 1) : script_take(script, 2);
    uint8_t data[8] = {0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa};
    int q = 0;

    if (how % 8 > 2) {
        offset &= ~3ull;
    }
    if (!is_write) {
        virtio_read(dev, offset, data, size);
        for (unsigned int i = size; i < sizeof(data); i++) {
            fuzz_check(data[i] == 0xaa);
        }
        return;
    }
    wire_put_u32(data, script_take(script, how % 2 == 0 ? 1 : 4));
    q = virtio_write(dev, offset, data, size);
    fuzz_check(q >= -1 && q < (int)dev->ops->n_queues);
    if (q >= 0) {
        guest_kick(dev, (unsigned int)q);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gmem mem;
    struct wire_in script = guest_load(data, size, &mem);
    unsigned int kind = script_take(&script, 1) % KINDS;
    union device device;
    uint8_t sink[4096];

    open_all();
    make(&device, kind, &mem);
    for (unsigned int ops = 0; ops < GUEST_OPS_MAX && script.left > 0; ops++) {
        uint32_t op = script_take(&script, 1) % 8;

        if (op == 0) {
            guest_meddle(&mem, &script);
        } else if (op == 1) {
            guest_start(&device.dev);
        } else if (op == 2) {
            guest_kick(&device.dev, script_take(&script, 1));
        } else if (op == 3) {
            check_state(&device, kind, &mem);
        } else {
            access_register(&device.dev, &script, op > 4);
        }
        guest_check(&device.dev);
        if (device.dev.broken) {
            break;
        }
    }
    while (recv(peer_fd, sink, sizeof(sink), MSG_DONTWAIT) > 0) {
    }
    return 0;
}
