#include "vmm/gmem.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "proto/wire.h"
#include "sys/fd.h"
#include "vmm/layout.h"
#include "vmm/start.h"

#define PAGE_BYTES 4096u
/* Of the base's alignment, and at least of each range beside it that is there to be missed. */
#define GUARD_BYTES  (2 * MIB)
#define AROUND_BYTES (3 * GUARD_BYTES)

static int check_file(int fd, uint64_t size, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0) {
        return err_sys(err, "guest memory: cannot look at its file");
    }
    if (st.st_size < 0 || (uint64_t)st.st_size < size) {
        return err_set(err, ERR_HOST, EINVAL,
                       "guest memory: its file has %jd bytes, the machine has %" PRIu64,
                       (intmax_t)st.st_size, size);
    }
    return 0;
}

int gmem_map(int fd, bool shared, uint64_t size, struct gmem *ret, struct err *err)
{
    size_t total = (size_t)(size + AROUND_BYTES);
    int flags = shared ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE;
    uint8_t *start = NULL;
    uint8_t *base = NULL;
    int r = 0;

    if (size < LAYOUT_RAM_MIN || size > LAYOUT_RAM_MAX || size % PAGE_BYTES != 0) {
        return err_usage(err,
                         "memory of %" PRIu64 " bytes: a machine has whole pages, from %" PRIu64
                         " to %" PRIu64 " bytes",
                         size, (uint64_t)LAYOUT_RAM_MIN, (uint64_t)LAYOUT_RAM_MAX);
    }
    if (fd >= 0) {
        r = check_file(fd, size, err);
        if (r < 0) {
            return r;
        }
    } else {
        flags |= MAP_ANONYMOUS;
    }
    start = mmap(NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) {
        return err_sys(err, "guest memory: no room for %" PRIu64 " bytes", size);
    }
    base = start + GUARD_BYTES + -(uintptr_t)start % GUARD_BYTES;
    if (mmap(base, size, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0) == MAP_FAILED) {
        r = err_sys(err, "guest memory: cannot map %" PRIu64 " bytes", size);
        (void)munmap(start, total);
        return r;
    }
    ret->around = start;
    ret->base = base;
    ret->size = size;
    ret->low = size < LAYOUT_LOW_MAX ? size : LAYOUT_LOW_MAX;
    return 0;
}

void gmem_fini(struct gmem *mem)
{
    if (mem->base != NULL) {
        (void)munmap(mem->around, mem->size + AROUND_BYTES);
    }
    *mem = (struct gmem)GMEM_INIT;
}

int gmem_copy_ahead(const struct gmem *mem, int fd, struct err *err)
{
    uint8_t list[START_WRITES_BYTES_MAX];
    uint64_t pages = mem->size / PAGE_BYTES;
    size_t len = 0;
    int r = fd_read_full(fd, list, sizeof(list), &len, err);

    for (size_t at = 0; r == 0; at += START_WRITES_RANGE) {
        bool there = len - at >= START_WRITES_RANGE;
        uint64_t first = there ? wire_get_u32(list + at) : pages;
        uint64_t n = there ? wire_get_u32(list + at + 4) : 1;

        if (n == 0) {
            return 0;
        }
        if (first > pages || n > pages - first) {
            return err_set(err, ERR_HOST, EPROTO, "guest memory: it has no page %" PRIu64, first);
        }
        /* EINVAL: not before Linux 5.14. Then the guest asks for each. */
        if (madvise(mem->base + first * PAGE_BYTES, n * PAGE_BYTES, MADV_POPULATE_WRITE) < 0 &&
            errno != EINVAL) {
            return err_sys(err, "guest memory: cannot copy %" PRIu64 " pages", n);
        }
    }
    return r;
}

/* Where [gpa, gpa + len) is in our memory, or NULL if not all of it is RAM of one range. */
static uint8_t *find(const struct gmem *mem, uint64_t gpa, uint64_t len)
{
    uint64_t high = mem->size - mem->low;
    uint64_t at = gpa - LAYOUT_HIGH_BASE;

    if (gpa <= mem->low) {
        return len <= mem->low - gpa ? mem->base + gpa : NULL;
    }
    if (high > 0 && gpa >= LAYOUT_HIGH_BASE && at <= high && len <= high - at) {
        return mem->base + mem->low + at;
    }
    return NULL;
}

bool gmem_has(const struct gmem *mem, uint64_t gpa, uint64_t len)
{
    return find(mem, gpa, len) != NULL;
}

int gmem_read(const struct gmem *mem, uint64_t gpa, void *ret, size_t len)
{
    const uint8_t *at = find(mem, gpa, len);

    if (at == NULL) {
        return -EFAULT;
    }
    memcpy(ret, at, len);
    return 0;
}

int gmem_write(const struct gmem *mem, uint64_t gpa, const void *data, size_t len)
{
    uint8_t *at = find(mem, gpa, len);

    if (at == NULL) {
        return -EFAULT;
    }
    memcpy(at, data, len);
    return 0;
}

int gmem_iov(const struct gmem *mem, uint64_t gpa, size_t len, struct iovec *ret)
{
    uint8_t *at = find(mem, gpa, len);

    if (at == NULL) {
        return -EFAULT;
    }
    *ret = (struct iovec){.iov_base = at, .iov_len = len};
    return 0;
}

static uint16_t *find16(const struct gmem *mem, uint64_t gpa)
{
    uint8_t *at = gpa % sizeof(uint16_t) == 0 ? find(mem, gpa, sizeof(uint16_t)) : NULL;

    return (uint16_t *)(void *)at;
}

int gmem_load16(const struct gmem *mem, uint64_t gpa, uint16_t *ret)
{
    const uint16_t *at = find16(mem, gpa);

    if (at == NULL) {
        return -EFAULT;
    }
    *ret = __atomic_load_n(at, __ATOMIC_SEQ_CST);
    return 0;
}

int gmem_store16(const struct gmem *mem, uint64_t gpa, uint16_t value)
{
    uint16_t *at = find16(mem, gpa);

    if (at == NULL) {
        return -EFAULT;
    }
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);
    return 0;
}
