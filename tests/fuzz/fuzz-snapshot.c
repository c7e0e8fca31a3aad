/*
 * A damaged state file against the monitor that shall go on from it, with a KVM that takes anything. The
 * first byte says what follows: 0 a file as it is; 1 sections, under a header that is right; else
 * changes to a state that was saved here, 4 bytes each (where, what), under a header that is right.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake-kvm.h"
#include "fuzz.h"
#include "sys/fd.h"
#include "vmm/snapshot.h"

#define HEADER 24u

static struct machine machine;
static uint8_t file[SNAPSHOT_BYTES_MAX];
static uint8_t saved[256 * 1024];
static size_t saved_len;

static void seal(size_t len)
{
    memcpy(file, "ALKVMST1", 8);
    wire_put_u32(file + 8, SNAPSHOT_VERSION);
    wire_put_u32(file + 12, (uint32_t)(len - HEADER));
    wire_put_u64(file + 16, snapshot_sum(file + HEADER, len - HEADER));
}

/* Two processors and the devices of a machine without disks. */
static void make(void)
{
    struct err err = ERR_INIT;

    fake_kvm_reset();
    memset(&machine, 0, sizeof(machine));
    machine.kvm = (struct kvm_host){.fd = 900,
                                    .xsave_size = sizeof(struct kvm_xsave),
                                    .has_tsc_deadline = true,
                                    .has_xcrs = true};
    machine.vm_fd = 901;
    machine.n_vcpus = 2;
    for (unsigned int i = 0; i < machine.n_vcpus; i++) {
        machine.vcpus[i].machine = &machine;
        machine.vcpus[i].index = i;
        machine.vcpus[i].fd = 902 + (int)i;
    }
    fuzz_check(gmem_map(-1, false, LAYOUT_RAM_MIN, &machine.mem, &err) == 0);
    fuzz_check(cpuid_ask(&machine.kvm, &machine.cpuid, &err) == 0);
    console_init(&machine.console, &machine.mem, LAYOUT_CONSOLE, -1, -1);
    rng_init(&machine.rng, &machine.mem, LAYOUT_ENTROPY, -1);
    machine.devices[LAYOUT_CONSOLE] = &machine.console.dev;
    machine.devices[LAYOUT_ENTROPY] = &machine.rng.dev;
}

/* Saves the machine; what it wrote goes to ret. */
static size_t save(uint8_t *ret, size_t room)
{
    auto_fd int fd = memfd_create("state", MFD_CLOEXEC);
    struct err err = ERR_INIT;
    size_t len = 0;

    fuzz_check(fd >= 0 && snapshot_save(&machine, fd, &err) == 0);
    fuzz_check(fd_pread_full(fd, ret, room, 0, &len, &err) == 0);
    return len;
}

static size_t build(const uint8_t *data, size_t size)
{
    size_t len = 0;

    if (data[0] <= 1) {
        len = data[0] == 0 ? 0 : HEADER;
        size = size - 1 < sizeof(file) - len ? size - 1 : sizeof(file) - len;
        memcpy(file + len, data + 1, size);
        len += size;
    } else {
        memcpy(file, saved, saved_len);
        len = saved_len;
        for (size_t i = 1; i + 4 <= size; i += 4) {
            size_t at = HEADER + (data[i] | (size_t)data[i + 1] << 8 | (size_t)data[i + 2] << 16) %
                                     (saved_len - HEADER);

            file[at] = data[i + 3];
        }
        len -= size % 4 == 2 ? data[size - 1] : 0; /* one byte more: cut */
    }
    if (data[0] != 0) {
        seal(len);
    }
    return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_fd int fd = memfd_create("damaged", MFD_CLOEXEC);
    struct err err = ERR_INIT;
    size_t len = 0;

    if (size == 0 || fd < 0) {
        return 0;
    }
    make();
    if (saved_len == 0) {
        saved_len = save(saved, sizeof(saved));
    }
    len = build(data, size);
    if (fd_write_full(fd, file, len, &err) == 0 && lseek(fd, 0, SEEK_SET) == 0) {
        int r = snapshot_restore(&machine, fd, &err);

        fuzz_check(r == 0 || (r < 0 && err.class == ERR_USAGE && err.msg[0] != '\0'));
        /* What it took, it can hand on; nothing in it is out of its bounds. */
        fuzz_check(r != 0 || save(file, sizeof(file)) > HEADER);
        for (unsigned int i = 0; i < LAYOUT_DEVICES; i++) {
            for (unsigned int q = 0; machine.devices[i] != NULL && q < VIRTIO_QUEUES_MAX; q++) {
                fuzz_check(machine.devices[i]->queues[q].size <= VIRTQ_SIZE_MAX);
            }
        }
        fuzz_check(machine.console.n_waiting <= CONSOLE_CONTROL_MAX);
        fuzz_check(machine.cpuid.n <= CPUID_ENTRIES_MAX);
    }
    gmem_fini(&machine.mem);
    return 0;
}
