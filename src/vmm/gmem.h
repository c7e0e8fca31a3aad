/*
 * gmem.h - the one door to guest memory.
 *
 * All of it is one mapping; the guest sees it in one or two ranges (layout.h). Every access names a
 * guest physical address and a length, and is refused unless all of it is RAM of one range: an
 * access never wraps and never crosses the hole. Other threads of the guest may write while we
 * read: copy once, then look at the copy (V12). On both sides of the mapping lies a range that
 * nobody may touch, so that a mistake here ends the monitor instead of reaching its own memory.
 */
#pragma once

#include <sys/uio.h>

#include "base/base.h"
#include "base/err.h"

struct gmem {
    uint8_t *base;   /* host address of the file's first byte; NULL = empty value */
    uint8_t *around; /* where the mapping begins of which it is the middle */
    uint64_t size;   /* bytes of all RAM, whole pages */
    uint64_t low;    /* bytes below the hole */
};

#define GMEM_INIT    \
    {                \
        .base = NULL \
    }

/*
 * Maps size bytes: of fd (from offset 0; shared if the machine shall leave its memory there, else
 * private), or anonymous if fd is -1. The base is a multiple of 2 MiB, for huge pages. ERR_USAGE for
 * a size that no machine has, ERR_HOST if the file is shorter or the mapping fails. Released by
 * gmem_fini().
 */
must_use int gmem_map(int fd, bool shared, uint64_t size, struct gmem *ret,
                      struct err *err) nonnull_all;
void gmem_fini(struct gmem *mem) nonnull_all;

/* Copies the pages of fd's list (START_FD_WRITES) before the guest does. ERR_HOST: no such list. */
must_use int gmem_copy_ahead(const struct gmem *mem, int fd, struct err *err) nonnull_all;
#define auto_gmem on_scope_exit(gmem_fini)

/* True if [gpa, gpa + len) is RAM of one range; len 0 is true for any gpa inside or at its end. */
must_use bool gmem_has(const struct gmem *mem, uint64_t gpa, uint64_t len) nonnull_all;

/* 0, or -EFAULT and nothing copied. */
must_use int gmem_read(const struct gmem *mem, uint64_t gpa, void *ret, size_t len) nonnull_all;
must_use int gmem_write(const struct gmem *mem, uint64_t gpa, const void *data,
                        size_t len) nonnull_all;

/* Where the kernel may read or write for us: 0 and *ret, or -EFAULT. Never looked at by ourselves. */
must_use int gmem_iov(const struct gmem *mem, uint64_t gpa, size_t len,
                      struct iovec *ret) nonnull_all;

/*
 * 16 bits that the guest's processors read and write at the same time: the indices of a virtqueue,
 * in one order for all of them: a store is seen before what a later load finds (virtio 1.2, 2.7.10,
 * where the flag for interrupts is read after the index was written). 0, or -EFAULT, also for an odd
 * address.
 */
must_use int gmem_load16(const struct gmem *mem, uint64_t gpa, uint16_t *ret) nonnull_all;
must_use int gmem_store16(const struct gmem *mem, uint64_t gpa, uint16_t value) nonnull_all;
