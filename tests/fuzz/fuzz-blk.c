/*
 * Requests of a hostile driver to a disk: the file keeps its size, a read-only one its content, and
 * the host never fails for what the guest asks.
 */
#include <sys/eventfd.h>
#include <unistd.h>

#include "guest.h"
#include "vmm/dev/blk.h"

#define DISK_BYTES 0x2000u

static uint8_t pattern(size_t i)
{
    return (uint8_t)(i / 512 + i % 7);
}

/* The file as it is at the start of every input. */
static void fill(int fd)
{
    uint8_t data[DISK_BYTES];

    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = pattern(i);
    }
    fuzz_check(pwrite(fd, data, sizeof(data), 0) == sizeof(data));
}

static void check_file(int fd, bool read_only)
{
    uint8_t data[DISK_BYTES];

    fuzz_check(lseek(fd, 0, SEEK_END) == DISK_BYTES);
    fuzz_check(pread(fd, data, sizeof(data), 0) == sizeof(data));
    for (size_t i = 0; read_only && i < sizeof(data); i++) {
        fuzz_check(data[i] == pattern(i));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int irq_fd, disk_fd;
    struct gmem mem;
    struct wire_in script = guest_load(data, size, &mem);
    bool read_only = script_take(&script, 1) % 2 == 1;
    struct blk_disk disk = {.read_only = read_only, .id = "disk"};
    struct err err = ERR_INIT;
    struct blk blk;

    if (irq_fd == 0) {
        irq_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        disk_fd = memfd_create("disk", MFD_CLOEXEC);
        fuzz_check(irq_fd > 0 && disk_fd > 0);
        fill(disk_fd);
    }
    disk.fd = disk_fd;
    fuzz_check(blk_init(&blk, &mem, 0, irq_fd, &disk, &err) == 0);
    guest_start(&blk.dev);
    guest_check(&blk.dev);
    guest_kick(&blk.dev, 0);
    for (unsigned int ops = 0; ops < GUEST_OPS_MAX && script.left > 0; ops++) {
        if (script_take(&script, 1) % 4 != 0) {
            guest_meddle(&mem, &script);
        } else {
            guest_kick(&blk.dev, 0);
        }
        guest_check(&blk.dev);
    }
    check_file(disk_fd, read_only);
    if (!read_only) {
        fill(disk_fd);
    }
    return 0;
}
