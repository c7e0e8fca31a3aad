/*
 * A kernel file of a stranger, put into a small machine: it boots or is refused with a reason, and
 * neither reads past the file nor writes outside the machine's memory.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "sys/fd.h"
#include "vmm/boot.h"
#include "vmm/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_fd int kernel = memfd_create("kernel", MFD_CLOEXEC);
    auto_fd int initramfs = memfd_create("initramfs", MFD_CLOEXEC);
    auto_gmem struct gmem mem = GMEM_INIT;
    struct boot_entry entry = {.ip = 0};
    struct err err = ERR_INIT;

    if (size < 2) {
        return 0;
    }
    /* Also one whose memory has two ranges: only the pages that are written exist. */
    uint64_t memory = data[0] % 2 == 0 ? LAYOUT_RAM_MIN : LAYOUT_LOW_MAX + LAYOUT_RAM_MIN;
    int second = data[1] % 2 == 0 ? -1 : initramfs;

    fuzz_check(gmem_map(-1, false, memory, &mem, &err) == 0);
    fuzz_check(fd_write_full(kernel, data + 2, size - 2, &err) == 0);
    fuzz_check(fd_write_full(initramfs, data, size, &err) == 0);
    if (boot_load(&mem, kernel, second, "quiet", &entry, &err) == 0) {
        fuzz_check(entry.ip >= LAYOUT_KERNEL_MIN && gmem_has(&mem, entry.ip, 1));
        fuzz_check(gmem_has(&mem, entry.info, 64));
        fuzz_check(entry.mode == BOOT_LONG || entry.mode == BOOT_PVH);
    } else {
        fuzz_check(err.class == ERR_USAGE && err.msg[0] != '\0');
    }
    return 0;
}
