#include "vmm/boot.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "sys/fd.h"
#include "vmm/boot-internal.h"
#include "vmm/kvm.h"
#include "vmm/layout.h"

#define PAGE 4096ull

/* Entries of the GDT; boot.rst wants code at 0x10 and data at 0x18 for a 64-bit entry. */
#define GDT_CODE 2u
#define GDT_DATA 3u
#define GDT_TASK 4u

#define CR0_PE     1ull
#define CR0_ET     (1ull << 4)
#define CR0_PG     (1ull << 31)
#define CR4_PAE    (1ull << 5)
#define EFER_LME   (1ull << 8)
#define EFER_LMA   (1ull << 10)
#define RFLAGS_ONE 2ull /* the bit that is always set; interrupts are off */

int boot_read(const struct boot_job *job, uint64_t offset, void *ret, size_t len, struct err *err)
{
    size_t got = 0;

    if (offset > job->kernel_bytes || len > job->kernel_bytes - offset) {
        return err_usage(err, "kernel: %zu bytes at %llu are past its end", len,
                         (unsigned long long)offset);
    }
    int r = fd_pread_full(job->kernel_fd, ret, len, offset, &got, err);
    if (r == 0 && got != len) {
        return err_usage(err, "kernel: became shorter");
    }
    return r;
}

int boot_read_to(const struct boot_job *job, int fd, uint64_t offset, uint64_t gpa, uint64_t len,
                 struct err *err)
{
    struct iovec at = {.iov_len = 0};
    size_t got = 0;

    if (gpa < LAYOUT_KERNEL_MIN || gmem_iov(job->mem, gpa, len, &at) < 0) {
        return err_usage(err, "%llu bytes at %#llx do not lie in the machine's memory",
                         (unsigned long long)len, (unsigned long long)gpa);
    }
    int r = fd_pread_full(fd, at.iov_base, at.iov_len, offset, &got, err);
    if (r == 0 && got != len) {
        return err_usage(err, "%llu bytes at %llu are past the end of the file",
                         (unsigned long long)len, (unsigned long long)offset);
    }
    return r;
}

int boot_put(const struct boot_job *job, uint64_t gpa, const void *data, size_t len,
             const char *what, struct err *err)
{
    if (gmem_write(job->mem, gpa, data, len) < 0) {
        return err_usage(err, "%s: no memory at %#llx", what, (unsigned long long)gpa);
    }
    return 0;
}

int boot_initramfs(const struct boot_job *job, uint64_t kernel_end, uint64_t limit,
                   uint64_t *ret_gpa, struct err *err)
{
    uint64_t bytes = job->initramfs_bytes;
    uint64_t top = (limit < job->mem->low ? limit : job->mem->low) & ~(PAGE - 1);

    *ret_gpa = 0;
    if (bytes == 0) {
        return 0;
    }
    if (bytes > top || ((top - bytes) & ~(PAGE - 1)) < kernel_end) {
        return err_usage(err,
                         "initramfs: %llu bytes do not fit between the kernel (%#llx) and %#llx;"
                         " use more memory",
                         (unsigned long long)bytes, (unsigned long long)kernel_end,
                         (unsigned long long)top);
    }
    *ret_gpa = (top - bytes) & ~(PAGE - 1);
    int r = boot_read_to(job, job->initramfs_fd, 0, *ret_gpa, bytes, err);
    return r < 0 ? err_wrap(err, "initramfs") : 0;
}

static int size_of(int fd, const char *what, uint64_t max, uint64_t *ret, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0) {
        return err_sys(err, "%s (descriptor %d)", what, fd);
    }
    if (!S_ISREG(st.st_mode) || st.st_size <= 0 || (uint64_t)st.st_size > max) {
        return err_usage(err, "%s: not a file of 1 to %llu bytes", what, (unsigned long long)max);
    }
    *ret = (uint64_t)st.st_size;
    return 0;
}

int boot_load(const struct gmem *mem, int kernel_fd, int initramfs_fd, const char *cmdline,
              struct boot_entry *ret, struct err *err)
{
    struct boot_job job = {
        .mem = mem, .kernel_fd = kernel_fd, .initramfs_fd = initramfs_fd, .cmdline = cmdline};
    /* What the segments below are, for a kernel that loads one again. */
    static const uint64_t gdt[] = {
        [GDT_CODE] = 0x00af9b000000ffffull,
        [GDT_DATA] = 0x00cf93000000ffffull,
        [GDT_TASK] = 0x00008b0000000067ull,
        0,
    };
    char magic[4] = "";
    size_t len = strnlen(cmdline, LAYOUT_CMDLINE_MAX);
    int r = size_of(kernel_fd, "kernel", BOOT_KERNEL_MAX, &job.kernel_bytes, err);

    if (r == 0 && initramfs_fd >= 0) {
        r = size_of(initramfs_fd, "initramfs", BOOT_INITRAMFS_MAX, &job.initramfs_bytes, err);
    }
    if (r < 0) {
        return r;
    }
    if (len == LAYOUT_CMDLINE_MAX) {
        return err_usage(err, "command line: longer than %u bytes", LAYOUT_CMDLINE_MAX - 1);
    }
    r = boot_put(&job, LAYOUT_CMDLINE, cmdline, len + 1, "command line", err);
    r = r < 0 ? r : boot_put(&job, LAYOUT_GDT, gdt, sizeof(gdt), "GDT", err);
    r = r < 0 ? r : boot_read(&job, 0, magic, sizeof(magic), err);
    if (r < 0) {
        return r;
    }
    r = memcmp(magic, ELFMAG, SELFMAG) == 0 ? boot_elf(&job, ret, err) : boot_linux(&job, ret, err);
    return r;
}

unsigned int boot_map(const struct gmem *mem, struct boot_range ret[BOOT_RANGES_MAX])
{
    unsigned int n = 0;

    /* Nothing of ours is there, but firmware and video used to be: kernels expect the gap. */
    ret[n++] = (struct boot_range){.start = 0, .len = 640 * KIB, .ram = true};
    ret[n++] = (struct boot_range){
        .start = LAYOUT_ACPI, .len = LAYOUT_ACPI_END - LAYOUT_ACPI, .ram = false};
    ret[n++] = (struct boot_range){
        .start = LAYOUT_KERNEL_MIN, .len = mem->low - LAYOUT_KERNEL_MIN, .ram = true};
    if (mem->size > mem->low) {
        ret[n++] = (struct boot_range){
            .start = LAYOUT_HIGH_BASE, .len = mem->size - mem->low, .ram = true};
    }
    return n;
}

static struct kvm_segment segment(unsigned int index, uint8_t type, bool system, bool is_long)
{
    return (struct kvm_segment){
        .base = 0,
        .limit = system ? 0x67 : 0xffffffff,
        .selector = (uint16_t)(index * 8),
        .type = type,
        .present = 1,
        .s = system ? 0 : 1,
        .g = system ? 0 : 1,
        .l = is_long ? 1 : 0,
        .db = !system && !is_long ? 1 : 0,
    };
}

static void set_segments(struct kvm_sregs *s, bool is_long)
{
    struct kvm_segment data = segment(GDT_DATA, 3, false, false);

    s->cs = segment(GDT_CODE, 11, false, is_long);
    s->ds = data;
    s->es = data;
    s->fs = data;
    s->gs = data;
    s->ss = data;
    s->tr = segment(GDT_TASK, 11, true, false);
    s->gdt = (struct kvm_dtable){.base = LAYOUT_GDT, .limit = 6 * 8 - 1};
    s->idt = (struct kvm_dtable){.base = 0, .limit = 0};
}

int boot_enter(int vcpu_fd, const struct boot_entry *entry, struct err *err)
{
    struct kvm_sregs sregs = {.cr0 = 0};
    struct kvm_regs regs = {.rip = entry->ip, .rsp = LAYOUT_BOOT_STACK, .rflags = RFLAGS_ONE};
    bool is_long = entry->mode == BOOT_LONG;
    int r = KVM_DO(vcpu_fd, KVM_GET_SREGS, &sregs, err);

    if (r < 0) {
        return r;
    }
    set_segments(&sregs, is_long);
    sregs.cr0 = CR0_PE | CR0_ET;
    if (is_long) {
        sregs.cr0 |= CR0_PG;
        sregs.cr3 = LAYOUT_PAGE_TABLES;
        sregs.cr4 = CR4_PAE;
        sregs.efer = EFER_LME | EFER_LMA;
        regs.rsi = entry->info;
    } else {
        regs.rbx = entry->info;
    }
    r = KVM_DO(vcpu_fd, KVM_SET_SREGS, &sregs, err);
    return r < 0 ? r : KVM_DO(vcpu_fd, KVM_SET_REGS, &regs, err);
}
