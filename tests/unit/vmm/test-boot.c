/* Kernels put into a machine: the two forms, and what is wrong with a file of any length. */
#include <asm/bootparam.h>
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake-kvm.h"
#include "proto/wire.h"
#include "sys/fd.h"
#include "test.h"
#include "vmm/boot.h"
#include "vmm/kvm.h"
#include "vmm/layout.h"

#define FILE_BYTES 8192u
#define SETUP_AT   0x1f1u

/* A file that a test describes byte by byte, a machine, and what came of it. */
struct fixture {
    uint8_t file[FILE_BYTES];
    size_t len;
    struct gmem mem;
    struct boot_entry entry;
    struct err err;
};

static struct setup_header *header(struct fixture *f)
{
    return (struct setup_header *)(void *)(f->file + SETUP_AT);
}

/* The smallest bzImage that is one: a sector of setup behind the first, then 4 KiB of kernel. */
static struct fixture linux_file(void)
{
    struct fixture f = {.len = 1024 + 4096, .mem = GMEM_INIT};
    struct setup_header *h = header(&f);

    h->setup_sects = 1;
    h->boot_flag = 0xaa55;
    h->header = 0x53726448;
    h->version = 0x20f;
    h->loadflags = LOADED_HIGH;
    h->xloadflags = XLF_KERNEL_64;
    h->initrd_addr_max = 0x7fffffff;
    h->kernel_alignment = 0x200000;
    h->relocatable_kernel = 1;
    h->cmdline_size = 2047;
    h->pref_address = 0x1000000;
    h->init_size = 0x10000;
    memset(f.file + 1024, 0xc3, 4096);
    return f;
}

static struct fixture elf_file(void)
{
    struct fixture f = {.len = 4096 + 32, .mem = GMEM_INIT};
    Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                    .e_machine = EM_X86_64,
                    .e_phoff = sizeof(h),
                    .e_phentsize = sizeof(Elf64_Phdr),
                    .e_phnum = 2};
    Elf64_Phdr p[2] = {{.p_type = PT_LOAD,
                        .p_offset = 4096,
                        .p_paddr = 0x200000,
                        .p_filesz = 32,
                        .p_memsz = 0x3000},
                       {.p_type = PT_NOTE, .p_offset = 1024, .p_filesz = 20}};
    uint32_t note[] = {4, 4, 18, 0x006e6558, 0x200010};

    memcpy(f.file, &h, sizeof(h));
    memcpy(f.file + sizeof(h), p, sizeof(p));
    memcpy(f.file + 1024, note, sizeof(note));
    memset(f.file + 4096, 0xf4, 32);
    return f;
}

static Elf64_Phdr *segments(struct fixture *f)
{
    return (Elf64_Phdr *)(void *)(f->file + sizeof(Elf64_Ehdr));
}

static int load_with(struct fixture *f, uint64_t memory, int initramfs, const char *cmdline)
{
    auto_fd int kernel = memfd_create("kernel", MFD_CLOEXEC);
    struct err err = ERR_INIT;

    f->err = (struct err)ERR_INIT;
    gmem_fini(&f->mem);
    assert_ok(gmem_map(-1, false, memory, &f->mem, &err), &err);
    assert_ok(fd_write_full(kernel, f->file, f->len, &err), &err);
    return boot_load(&f->mem, kernel, initramfs, cmdline, &f->entry, &f->err);
}

static void assert_loads(struct fixture *f)
{
    assert_ok(load_with(f, LAYOUT_RAM_MIN, -1, "quiet"), &f->err);
    gmem_fini(&f->mem);
}

static void assert_refused(struct fixture *f, const char *word)
{
    assert_int_equal(load_with(f, LAYOUT_RAM_MIN, -1, "quiet"), -EINVAL);
    assert_int_equal(f->err.class, ERR_USAGE);
    if (strstr(f->err.msg, word) == NULL) {
        fail_msg("'%s' is not in '%s'", word, f->err.msg);
    }
    gmem_fini(&f->mem);
}

static void a_bzimage_is_entered_in_long_mode(void **state)
{
    struct fixture f = linux_file();
    struct boot_params zero = {.e820_entries = 0};
    auto_fd int initramfs = memfd_create("initramfs", MFD_CLOEXEC);
    uint8_t code = 0;
    char text[8] = "";

    assert_int_equal(write(initramfs, "initramfs!", 10), 10);
    assert_ok(load_with(&f, 64 * MIB, initramfs, "quiet"), &f.err);
    assert_int_equal(f.entry.mode, BOOT_LONG);
    assert_int_equal(f.entry.ip, 0x1000200);
    assert_int_equal(f.entry.info, LAYOUT_ZERO_PAGE);
    assert_int_equal(gmem_read(&f.mem, 0x1000fff, &code, 1), 0);
    assert_int_equal(code, 0xc3);
    assert_int_equal(gmem_read(&f.mem, LAYOUT_ZERO_PAGE, &zero, sizeof(zero)), 0);
    assert_int_equal(zero.hdr.type_of_loader, 0xff);
    assert_int_equal(zero.hdr.ramdisk_size, 10);
    assert_int_equal(zero.hdr.ramdisk_image, 64 * MIB - 4096);
    assert_int_equal(zero.acpi_rsdp_addr, LAYOUT_ACPI);
    assert_int_equal(zero.e820_entries, 3);
    assert_int_equal(zero.e820_table[2].addr + zero.e820_table[2].size, 64 * MIB);
    assert_int_equal(gmem_read(&f.mem, zero.hdr.ramdisk_image, text, 4), 0);
    assert_memory_equal(text, "init", 4);
    assert_int_equal(gmem_read(&f.mem, zero.hdr.cmd_line_ptr, text, 6), 0);
    assert_string_equal(text, "quiet");
    gmem_fini(&f.mem);
    (void)state;
}

/* What the tables say of an address: its own, for every one below 4 GiB. */
static void the_page_tables_lead_to_where_they_come_from(void **state)
{
    struct fixture f = linux_file();

    assert_ok(load_with(&f, 64 * MIB, -1, ""), &f.err);
    for (uint64_t address = 0; address < 4 * GIB; address += 512 * MIB + 2 * MIB) {
        uint64_t table = LAYOUT_PAGE_TABLES;
        uint64_t entry = 0;

        for (unsigned int shift = 39; shift >= 21; shift -= 9) {
            uint64_t at = table + ((address >> shift) & 511) * 8;
            assert_int_equal(gmem_read(&f.mem, at, &entry, 8), 0);
            assert_int_equal(entry & 3, 3);
            table = entry & ~0xfffull;
        }
        assert_int_equal(entry & 0x80, 0x80);
        assert_int_equal(table, address & ~(2 * MIB - 1));
    }
    gmem_fini(&f.mem);
    (void)state;
}

static void a_bzimage_moves_where_its_place_is_no_memory(void **state)
{
    struct fixture f = linux_file();

    header(&f)->pref_address = 64 * MIB;
    assert_loads(&f);
    assert_int_equal(f.entry.ip, 0x200200);
    header(&f)->pref_address = 0x1000; /* below what is a kernel's */
    assert_loads(&f);
    assert_int_equal(f.entry.ip, 0x200200);
    header(&f)->relocatable_kernel = 0;
    assert_refused(&f, "do not fit");
    header(&f)->relocatable_kernel = 1;
    for (uint32_t align = 0; align < 32; align++) {
        header(&f)->kernel_alignment = align == 0 ? 0 : 3u << (align - 1);
        assert_refused(&f, "do not fit");
    }
    header(&f)->pref_address = UINT64_MAX - 0xfff;
    assert_refused(&f, "do not fit");
    (void)state;
}

static void a_bzimage_that_lies_is_refused(void **state)
{
    struct fixture good = linux_file();
    struct fixture f = good;

    assert_loads(&f);
    f = good, header(&f)->boot_flag = 0;
    assert_refused(&f, "neither a bzImage nor an ELF");
    f = good, header(&f)->header++;
    assert_refused(&f, "neither a bzImage nor an ELF");
    f = good, header(&f)->version = 0x20b;
    assert_refused(&f, "2.11");
    f = good, header(&f)->xloadflags = 0;
    assert_refused(&f, "64-bit entry");
    f = good, header(&f)->loadflags = 0;
    assert_refused(&f, "64-bit entry");
    f = good, header(&f)->init_size = 0;
    assert_refused(&f, "wants 0 bytes");
    f = good, header(&f)->init_size = UINT32_MAX;
    assert_refused(&f, "wants 4294967295 bytes");
    f = good, header(&f)->init_size = 4095; /* less than the file brings */
    assert_refused(&f, "for 4095 in memory");
    f = good, header(&f)->init_size = 64 * MIB;
    assert_refused(&f, "do not fit");
    f = good, header(&f)->setup_sects = 255;
    assert_refused(&f, "of setup in a file of");
    f = good, header(&f)->cmdline_size = 3;
    assert_refused(&f, "takes 3 bytes");
    (void)state;
}

static void a_file_cut_at_any_length_is_refused_or_loads(void **state)
{
    for (size_t len = 1; len < 2048; len++) {
        struct fixture f = linux_file();
        struct fixture g = elf_file();

        f.len = len;
        if (load_with(&f, LAYOUT_RAM_MIN, -1, "") < 0) {
            assert_int_equal(f.err.class, ERR_USAGE);
        }
        g.len = len;
        assert_refused(&g, "kernel");
        gmem_fini(&f.mem);
    }
    (void)state;
}

static void an_initramfs_that_does_not_fit_is_refused(void **state)
{
    struct fixture f = linux_file();
    auto_fd int initramfs = memfd_create("initramfs", MFD_CLOEXEC);

    assert_int_equal(load_with(&f, LAYOUT_RAM_MIN, initramfs, ""), -EINVAL); /* empty */
    assert_non_null(strstr(f.err.msg, "initramfs: not a file"));
    assert_int_equal(ftruncate(initramfs, 15 * MIB + 960 * KIB), 0); /* up to the kernel's end */
    assert_ok(load_with(&f, LAYOUT_RAM_MIN, initramfs, ""), &f.err);
    assert_int_equal(ftruncate(initramfs, 15 * MIB + 960 * KIB + 1), 0);
    assert_int_equal(load_with(&f, LAYOUT_RAM_MIN, initramfs, ""), -EINVAL);
    assert_non_null(strstr(f.err.msg, "use more memory"));
    header(&f)->initrd_addr_max = 0x1010fff; /* one page behind the kernel */
    assert_int_equal(ftruncate(initramfs, 4096), 0);
    assert_ok(load_with(&f, LAYOUT_RAM_MIN, initramfs, ""), &f.err);
    assert_int_equal(ftruncate(initramfs, 4097), 0);
    assert_int_equal(load_with(&f, LAYOUT_RAM_MIN, initramfs, ""), -EINVAL);
    header(&f)->initrd_addr_max = UINT32_MAX;
    assert_ok(load_with(&f, LAYOUT_RAM_MIN, initramfs, ""), &f.err);
    gmem_fini(&f.mem);
    (void)state;
}

static void an_elf_file_is_entered_where_its_note_says(void **state)
{
    struct fixture f = elf_file();
    uint8_t info[56], memory[24], code = 0;

    assert_ok(load_with(&f, LAYOUT_LOW_MAX + LAYOUT_RAM_MIN, -1, "quiet"), &f.err);
    assert_int_equal(f.entry.mode, BOOT_PVH);
    assert_int_equal(f.entry.ip, 0x200010);
    assert_int_equal(gmem_read(&f.mem, 0x20001f, &code, 1), 0);
    assert_int_equal(code, 0xf4);
    assert_int_equal(gmem_read(&f.mem, f.entry.info, info, sizeof(info)), 0);
    assert_int_equal(wire_get_u32(info), 0x336ec578);
    assert_int_equal(wire_get_u32(info + 4), 1);
    assert_int_equal(wire_get_u32(info + 12), 0); /* modules */
    assert_int_equal(wire_get_u64(info + 24), LAYOUT_CMDLINE);
    assert_int_equal(wire_get_u64(info + 32), LAYOUT_ACPI);
    assert_int_equal(wire_get_u32(info + 48), 4);
    assert_int_equal(gmem_read(&f.mem, wire_get_u64(info + 40) + 3 * 24, memory, 24), 0);
    assert_int_equal(wire_get_u64(memory), LAYOUT_HIGH_BASE);
    assert_int_equal(wire_get_u64(memory + 8), LAYOUT_RAM_MIN);
    gmem_fini(&f.mem);
    (void)state;
}

static void an_elf_file_that_lies_is_refused(void **state)
{
    struct fixture good = elf_file();
    struct fixture f = good;

    assert_loads(&f);
    f = good, f.file[EI_CLASS] = ELFCLASS32;
    assert_refused(&f, "ELF64");
    f = good, f.file[offsetof(Elf64_Ehdr, e_phnum)] = 65;
    assert_refused(&f, "64 segments");
    f = good, f.file[offsetof(Elf64_Ehdr, e_phentsize)]++;
    assert_refused(&f, "ELF64");
    f = good, memset(f.file + offsetof(Elf64_Ehdr, e_phoff), 0xff, 8);
    assert_refused(&f, "past its end");
    f = good, segments(&f)[0].p_paddr = UINT64_MAX - 4;
    assert_refused(&f, "segment 0");
    f = good, segments(&f)[0].p_paddr = LAYOUT_KERNEL_MIN - 4;
    assert_refused(&f, "segment 0");
    f = good, segments(&f)[0].p_paddr = LAYOUT_RAM_MIN - 0x2000;
    assert_refused(&f, "do not lie in the machine's memory");
    f = good, segments(&f)[0].p_memsz = 31;
    assert_refused(&f, "not in its 31 in memory");
    f = good, segments(&f)[0].p_memsz = UINT64_MAX;
    assert_refused(&f, "do not lie in the machine's memory");
    f = good, segments(&f)[0].p_offset = UINT64_MAX - 8;
    assert_refused(&f, "not in the file");
    f = good, segments(&f)[0].p_filesz = 33;
    assert_refused(&f, "not in the file");
    f = good, segments(&f)[1].p_offset = 4096 + 20;
    assert_refused(&f, "segment 1");
    (void)state;
}

static void a_note_that_lies_is_no_entry(void **state)
{
    struct fixture good = elf_file();
    struct fixture f = good;

    f.file[1024 + 8] = 17; /* another kind of note */
    assert_refused(&f, "without a PVH entry");
    f = good, f.file[1024 + 12] = 'Y'; /* another owner */
    assert_refused(&f, "without a PVH entry");
    for (size_t field = 0; field < 8; field += 4) { /* lengths that wrap or are past the end */
        f = good, memset(f.file + 1024 + field, 0xff, 4);
        assert_refused(&f, "without a PVH entry");
        f = good, f.file[1024 + field] = 5;
        assert_refused(&f, "without a PVH entry");
    }
    f = good, f.file[1024 + 18] = 0; /* an entry in low memory */
    assert_refused(&f, "its PVH entry");
    f = good, f.file[1024 + 17] = 0x30; /* just behind the segment */
    assert_refused(&f, "its PVH entry");
    f = good, segments(&f)[1].p_type = PT_NULL;
    assert_refused(&f, "without a PVH entry");
    (void)state;
}

static void the_first_processor_stands_at_the_entry(void **state)
{
    struct boot_entry entry = {.mode = BOOT_LONG, .ip = 0x1000200, .info = 0x7000};
    struct kvm_sregs sregs = {.cr0 = 0};
    struct kvm_regs regs = {.rip = 0};
    struct err err = ERR_INIT;

    fake_kvm_reset();
    assert_ok(boot_enter(100, &entry, &err), &err);
    assert_int_equal(kvm_call(100, KVM_GET_SREGS, &sregs), 0);
    assert_int_equal(kvm_call(100, KVM_GET_REGS, &regs), 0);
    assert_int_equal(sregs.efer, 0x500);
    assert_int_equal(sregs.cr0, 0x80000011);
    assert_int_equal(sregs.cr3, LAYOUT_PAGE_TABLES);
    assert_true(sregs.cs.l == 1 && sregs.cs.db == 0 && sregs.cs.selector == 0x10);
    assert_true(regs.rip == 0x1000200 && regs.rsi == 0x7000 && regs.rflags == 2);
    entry.mode = BOOT_PVH;
    assert_ok(boot_enter(100, &entry, &err), &err);
    assert_int_equal(kvm_call(100, KVM_GET_SREGS, &sregs), 0);
    assert_int_equal(kvm_call(100, KVM_GET_REGS, &regs), 0);
    assert_int_equal(sregs.cr0, 0x11);
    assert_true(sregs.cs.l == 0 && sregs.cs.db == 1 && sregs.cs.limit == UINT32_MAX);
    assert_true(sregs.tr.type == 11 && sregs.tr.limit == 0x67);
    assert_true(regs.rbx == 0x7000);
    for (unsigned int nth = 1; nth <= 3; nth++) {
        err = (struct err)ERR_INIT;
        fake_kvm_fail(nth, EIO);
        assert_int_equal(boot_enter(100, &entry, &err), -EIO);
        assert_int_equal(err.class, ERR_HOST);
    }
    (void)state;
}

TEST_MAIN(T(a_bzimage_is_entered_in_long_mode), T(the_page_tables_lead_to_where_they_come_from),
          T(a_bzimage_moves_where_its_place_is_no_memory), T(a_bzimage_that_lies_is_refused),
          T(a_file_cut_at_any_length_is_refused_or_loads),
          T(an_initramfs_that_does_not_fit_is_refused),
          T(an_elf_file_is_entered_where_its_note_says), T(an_elf_file_that_lies_is_refused),
          T(a_note_that_lies_is_no_entry), T(the_first_processor_stands_at_the_entry))
