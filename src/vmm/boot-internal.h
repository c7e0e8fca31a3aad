/* boot-internal.h - the two forms of kernel, and what they share; for boot*.c. */
#pragma once

#include "vmm/boot.h"

/* What boot_load() was asked for; all borrowed. */
struct boot_job {
    const struct gmem *mem;
    int kernel_fd, initramfs_fd;
    uint64_t kernel_bytes, initramfs_bytes; /* 0: none */
    const char *cmdline;
};

/* Exactly len bytes of the kernel's file, from offset; ERR_USAGE if there are fewer. */
must_use int boot_read(const struct boot_job *job, uint64_t offset, void *ret, size_t len,
                       struct err *err) nonnull_all;
/* The same to guest memory, which must be RAM from LAYOUT_KERNEL_MIN on. */
must_use int boot_read_to(const struct boot_job *job, int fd, uint64_t offset, uint64_t gpa,
                          uint64_t len, struct err *err) nonnull_all;
/* Writes what only a small machine could refuse. ERR_USAGE names it. */
must_use int boot_put(const struct boot_job *job, uint64_t gpa, const void *data, size_t len,
                      const char *what, struct err *err) nonnull_all;
/*
 * Loads the initramfs as high as it goes below limit and the hole, above kernel_end. *ret_gpa is 0
 * if there is none.
 */
must_use int boot_initramfs(const struct boot_job *job, uint64_t kernel_end, uint64_t limit,
                            uint64_t *ret_gpa, struct err *err) nonnull_all;

/* A bzImage; it has its signature. */
must_use int boot_linux(const struct boot_job *job, struct boot_entry *ret,
                        struct err *err) nonnull_all;
/* An ELF file; it has its magic. */
must_use int boot_elf(const struct boot_job *job, struct boot_entry *ret,
                      struct err *err) nonnull_all;
