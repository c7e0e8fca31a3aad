/*
 * An ELF file with a PVH entry: Xen's docs/misc/pvh.pandoc and public/arch-x86/hvm/start_info.h. Linux
 * has one if built with CONFIG_PVH; so have the tests' own small guests. ELF64 only, also where the
 * code is 32-bit.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "vmm/boot-internal.h"
#include "vmm/layout.h"

#define PVH_MAGIC       0x336ec578u
#define PVH_VERSION     1u
#define NOTE_PHYS32     18u /* XEN_ELFNOTE_PHYS32_ENTRY */
#define PROGRAMS_MAX    64u
#define NOTES_MAX       4096u /* bytes of one segment that are looked at */
#define MEMORY_RAM      1u
#define MEMORY_RESERVED 2u

struct pvh_info {
    uint32_t magic, version, flags, nr_modules;
    uint64_t modules, cmdline, rsdp, memory_map;
    uint32_t memory_map_entries, reserved;
};

struct pvh_module {
    uint64_t start, size, cmdline, reserved;
};

struct pvh_memory {
    uint64_t start, size;
    uint32_t type, reserved;
};

/* All of it as it lies at LAYOUT_PVH_INFO. */
struct pvh_page {
    struct pvh_info info;
    struct pvh_module module;
    struct pvh_memory memory[BOOT_RANGES_MAX];
};

static size_t round_up4(size_t n)
{
    return (n + 3) & ~(size_t)3;
}

/* Xen's note with the 32-bit entry in len bytes of notes: true and *ret. */
static bool find_entry(const uint8_t *notes, size_t len, uint64_t *ret)
{
    size_t at = 0;
    Elf64_Nhdr head;

    while (len - at >= sizeof(head)) {
        memcpy(&head, notes + at, sizeof(head));
        at += sizeof(head);
        if (head.n_namesz > NOTES_MAX || head.n_descsz > NOTES_MAX) {
            return false;
        }
        size_t name = round_up4(head.n_namesz), desc = round_up4(head.n_descsz);
        if (name > len - at || desc > len - at - name) {
            return false;
        }
        if (head.n_type == NOTE_PHYS32 && head.n_namesz == 4 && memcmp(notes + at, "Xen", 4) == 0 &&
            (head.n_descsz == 4 || head.n_descsz == 8)) {
            *ret = 0;
            memcpy(ret, notes + at + name, head.n_descsz); /* little-endian, like we are */
            return true;
        }
        at += name + desc;
    }
    return false;
}

static int read_notes(const struct boot_job *job, const Elf64_Phdr *p, uint64_t *ret_entry,
                      bool *ret_found, struct err *err)
{
    uint8_t notes[NOTES_MAX];
    size_t len = p->p_filesz < sizeof(notes) ? (size_t)p->p_filesz : sizeof(notes);
    int r = boot_read(job, p->p_offset, notes, len, err);

    if (r == 0 && !*ret_found) {
        *ret_found = find_entry(notes, len, ret_entry);
    }
    return r;
}

/* The rest of the memory that a segment takes is zero since the machine was made. */
static int load_segment(const struct boot_job *job, const Elf64_Phdr *p, uint64_t *end,
                        struct err *err)
{
    if (p->p_filesz > p->p_memsz || p->p_offset > job->kernel_bytes ||
        p->p_filesz > job->kernel_bytes - p->p_offset) {
        return err_usage(err,
                         "%llu bytes at %llu are not in the file, or not in its %llu in memory",
                         (unsigned long long)p->p_filesz, (unsigned long long)p->p_offset,
                         (unsigned long long)p->p_memsz);
    }
    if (p->p_paddr >= LAYOUT_LOW_MAX || !gmem_has(job->mem, p->p_paddr, p->p_memsz)) {
        return err_usage(err, "%llu bytes at %#llx do not lie in the machine's memory",
                         (unsigned long long)p->p_memsz, (unsigned long long)p->p_paddr);
    }
    if (p->p_paddr + p->p_memsz > *end) {
        *end = p->p_paddr + p->p_memsz;
    }
    return boot_read_to(job, job->kernel_fd, p->p_offset, p->p_paddr, p->p_filesz, err);
}

static int load(const struct boot_job *job, const Elf64_Ehdr *h, uint64_t *ret_entry,
                uint64_t *ret_end, struct err *err)
{
    bool found = false;
    int r = 0;

    *ret_end = LAYOUT_KERNEL_MIN;
    for (unsigned int i = 0; r == 0 && i < h->e_phnum; i++) {
        Elf64_Phdr p = {.p_type = PT_NULL};

        if (h->e_phoff > job->kernel_bytes) {
            return err_usage(err, "kernel: program headers at %llu are past its end",
                             (unsigned long long)h->e_phoff);
        }
        r = boot_read(job, h->e_phoff + i * sizeof(p), &p, sizeof(p), err);
        if (r == 0 && p.p_type == PT_NOTE) {
            r = read_notes(job, &p, ret_entry, &found, err);
        } else if (r == 0 && p.p_type == PT_LOAD && p.p_memsz > 0) {
            r = load_segment(job, &p, ret_end, err);
        }
        if (r < 0) {
            return err_wrap(err, "kernel: segment %u", i);
        }
    }
    if (!found) {
        return err_usage(err,
                         "kernel: an ELF file without a PVH entry (Xen note %u); use a bzImage",
                         NOTE_PHYS32);
    }
    if (*ret_entry < LAYOUT_KERNEL_MIN || *ret_entry >= *ret_end) {
        return err_usage(err, "kernel: its PVH entry %#llx is not in it",
                         (unsigned long long)*ret_entry);
    }
    return 0;
}

static int write_info(const struct boot_job *job, uint64_t initramfs, struct err *err)
{
    struct boot_range ranges[BOOT_RANGES_MAX];
    struct pvh_page page = {
        .info = {.magic = PVH_MAGIC,
                 .version = PVH_VERSION,
                 .nr_modules = initramfs != 0 ? 1 : 0,
                 .modules = LAYOUT_PVH_INFO + offsetof(struct pvh_page, module),
                 .cmdline = LAYOUT_CMDLINE,
                 .rsdp = LAYOUT_ACPI,
                 .memory_map = LAYOUT_PVH_INFO + offsetof(struct pvh_page, memory),
                 .memory_map_entries = boot_map(job->mem, ranges)},
        .module = {.start = initramfs, .size = job->initramfs_bytes},
    };

    for (unsigned int i = 0; i < page.info.memory_map_entries; i++) {
        page.memory[i] = (struct pvh_memory){.start = ranges[i].start,
                                             .size = ranges[i].len,
                                             .type = ranges[i].ram ? MEMORY_RAM : MEMORY_RESERVED};
    }
    return boot_put(job, LAYOUT_PVH_INFO, &page, sizeof(page), "start info", err);
}

int boot_elf(const struct boot_job *job, struct boot_entry *ret, struct err *err)
{
    uint64_t entry = 0, end = 0, initramfs = 0;
    Elf64_Ehdr h;
    int r = boot_read(job, 0, &h, sizeof(h), err);

    if (r < 0) {
        return r;
    }
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB ||
        h.e_machine != EM_X86_64 || h.e_phentsize != sizeof(Elf64_Phdr) ||
        h.e_phnum > PROGRAMS_MAX) {
        return err_usage(err, "kernel: not an ELF64 file for x86-64 with at most %u segments",
                         PROGRAMS_MAX);
    }
    r = load(job, &h, &entry, &end, err);
    r = r < 0 ? r : boot_initramfs(job, end, LAYOUT_LOW_MAX, &initramfs, err);
    r = r < 0 ? r : write_info(job, initramfs, err);
    *ret = (struct boot_entry){.mode = BOOT_PVH, .ip = entry, .info = LAYOUT_PVH_INFO};
    return r;
}
