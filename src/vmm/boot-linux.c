/* A bzImage, entered at its 64-bit entry: Documentation/arch/x86/boot.rst, protocol 2.12 and later. */
#include <asm/bootparam.h>
#include <errno.h>
#include <string.h>

#include "vmm/boot-internal.h"
#include "vmm/layout.h"

#define HEADER_OFFSET      0x1f1u
#define BOOT_FLAG          0xaa55u
#define HEADER_MAGIC       0x53726448u /* "HdrS" */
#define VERSION_MIN        0x20cu
#define LOADER_UNKNOWN     0xffu
#define VIDEO_NORMAL       0xffffu
#define SECTOR             512ull
#define ENTRY_64           0x200ull
#define INIT_SIZE_MAX      (1 * GIB)
#define E820_KIND_RAM      1u
#define E820_KIND_RESERVED 2u

#define PTE_PRESENT_WRITE 3ull
#define PTE_LARGE         (1ull << 7)
#define LARGE_PAGE        (2 * MIB)
#define TABLE_ENTRIES     512u
#define TABLE_BYTES       4096u
#define DIRECTORIES       4u /* of 1 GiB each */

static int check_header(const struct setup_header *h, struct err *err)
{
    if (h->boot_flag != BOOT_FLAG || h->header != HEADER_MAGIC) {
        return err_usage(err, "kernel: neither a bzImage nor an ELF file");
    }
    if (h->version < VERSION_MIN || (h->xloadflags & XLF_KERNEL_64) == 0 ||
        (h->loadflags & LOADED_HIGH) == 0) {
        return err_usage(err,
                         "kernel: boot protocol %u.%u without a 64-bit entry; use a 64-bit one",
                         h->version >> 8, h->version & 0xffu);
    }
    if (h->init_size == 0 || h->init_size > INIT_SIZE_MAX) {
        return err_usage(err, "kernel: wants %u bytes of memory to begin with", h->init_size);
    }
    return 0;
}

/* Where it wants to be, or, if that is not RAM, the first place that it can be moved to. */
static int choose_place(const struct boot_job *job, const struct setup_header *h, uint64_t *ret,
                        struct err *err)
{
    uint64_t align = h->kernel_alignment;

    *ret = h->pref_address;
    if (*ret >= LAYOUT_KERNEL_MIN && *ret < LAYOUT_LOW_MAX &&
        gmem_has(job->mem, *ret, h->init_size)) {
        return 0;
    }
    if (h->relocatable_kernel != 0 && align > 0 && align <= INIT_SIZE_MAX &&
        (align & (align - 1)) == 0) {
        *ret = (LAYOUT_KERNEL_MIN + align - 1) & ~(align - 1);
        if (gmem_has(job->mem, *ret, h->init_size)) {
            return 0;
        }
    }
    return err_usage(err, "kernel: %u bytes at %#llx do not fit into the machine; use more memory",
                     h->init_size, (unsigned long long)h->pref_address);
}

/* The first 4 GiB at their own addresses. */
static int write_page_tables(const struct boot_job *job, struct err *err)
{
    uint64_t table[TABLE_ENTRIES] = {0};
    uint64_t at = LAYOUT_PAGE_TABLES;
    uint64_t next = 0;
    int r = 0;

    table[0] = (at + TABLE_BYTES) | PTE_PRESENT_WRITE;
    r = boot_put(job, at, table, sizeof(table), "page tables", err);
    at += TABLE_BYTES;
    for (unsigned int i = 0; i < DIRECTORIES; i++) {
        table[i] = (at + (i + 1) * (uint64_t)TABLE_BYTES) | PTE_PRESENT_WRITE;
    }
    r = r < 0 ? r : boot_put(job, at, table, sizeof(table), "page tables", err);
    for (unsigned int i = 0; r == 0 && i < DIRECTORIES; i++) {
        for (unsigned int j = 0; j < TABLE_ENTRIES; j++) {
            table[j] = next | PTE_PRESENT_WRITE | PTE_LARGE;
            next += LARGE_PAGE;
        }
        at += TABLE_BYTES;
        r = boot_put(job, at, table, sizeof(table), "page tables", err);
    }
    return r;
}

static void fill_memory_map(const struct boot_job *job, struct boot_params *zero_page)
{
    struct boot_range ranges[BOOT_RANGES_MAX];
    unsigned int n = boot_map(job->mem, ranges);

    for (unsigned int i = 0; i < n; i++) {
        zero_page->e820_table[i] = (struct boot_e820_entry){
            .addr = ranges[i].start,
            .size = ranges[i].len,
            .type = ranges[i].ram ? E820_KIND_RAM : E820_KIND_RESERVED,
        };
    }
    zero_page->e820_entries = (uint8_t)n;
}

int boot_linux(const struct boot_job *job, struct boot_entry *ret, struct err *err)
{
    struct boot_params zero_page = {.e820_entries = 0};
    struct setup_header *h = &zero_page.hdr;
    uint64_t setup = 0, place = 0, initramfs = 0;
    int r = boot_read(job, HEADER_OFFSET, h, sizeof(*h), err);

    r = r < 0 ? r : check_header(h, err);
    r = r < 0 ? r : choose_place(job, h, &place, err);
    if (r < 0) {
        return r;
    }
    if (strnlen(job->cmdline, LAYOUT_CMDLINE_MAX) > h->cmdline_size) {
        return err_usage(err, "command line: this kernel takes %u bytes", h->cmdline_size);
    }
    setup = ((uint64_t)(h->setup_sects == 0 ? 4 : h->setup_sects) + 1) * SECTOR;
    if (setup + ENTRY_64 >= job->kernel_bytes || job->kernel_bytes - setup > h->init_size) {
        return err_usage(err, "kernel: %llu bytes of setup in a file of %llu, for %u in memory",
                         (unsigned long long)setup, (unsigned long long)job->kernel_bytes,
                         h->init_size);
    }
    r = boot_read_to(job, job->kernel_fd, setup, place, job->kernel_bytes - setup, err);
    r = r < 0 ? r
              : boot_initramfs(job, place + h->init_size, (uint64_t)h->initrd_addr_max + 1,
                               &initramfs, err);
    if (r < 0) {
        return r;
    }
    h->type_of_loader = LOADER_UNKNOWN;
    h->vid_mode = VIDEO_NORMAL;
    h->code32_start = (uint32_t)place;
    h->ramdisk_image = (uint32_t)initramfs;
    h->ramdisk_size = (uint32_t)job->initramfs_bytes;
    h->cmd_line_ptr = (uint32_t)LAYOUT_CMDLINE;
    h->setup_data = 0;
    zero_page.acpi_rsdp_addr = LAYOUT_ACPI;
    fill_memory_map(job, &zero_page);
    r = boot_put(job, LAYOUT_ZERO_PAGE, &zero_page, sizeof(zero_page), "zero page", err);
    r = r < 0 ? r : write_page_tables(job, err);
    *ret = (struct boot_entry){.mode = BOOT_LONG, .ip = place + ENTRY_64, .info = LAYOUT_ZERO_PAGE};
    return r;
}
