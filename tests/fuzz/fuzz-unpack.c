/* An archive from a stranger, unpacked under a small budget; and the same bytes as an answer. */
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "job/unpack-internal.h"
#include "proto/outar.h"
#include "sys/fd.h"

static const struct unpack_budget budget = {.bytes = 64 * KIB, .entries = 16, .depth = 6};

static void check_entries(const struct unpacked *u, uint64_t data_bytes)
{
    uint64_t total = 0;

    fuzz_check(u->n <= 2 * budget.entries);
    for (size_t i = 0; i < u->n; i++) {
        const struct unpacked_entry *e = &u->entries[i];
        uint32_t depth = 0;

        fuzz_check(outar_name_ok(e->name, e->name_len, &depth) && depth <= budget.depth);
        fuzz_check(strlen((const char *)e->name) == e->name_len);
        fuzz_check(e->name_len <= UNPACK_PATH_MAX);
        fuzz_check(!e->is_dir || e->bytes == 0);
        fuzz_check(e->bytes <= data_bytes && e->offset <= data_bytes - e->bytes);
        fuzz_check(i == 0 ||
                   strcmp((const char *)u->entries[i - 1].name, (const char *)e->name) < 0);
        total += e->bytes;
    }
    fuzz_check(total == u->total_bytes && total <= budget.bytes);
}

/* What was unpacked survives the way through the helper's pipe. */
static void check_answer(const struct unpacked *u, uint64_t data_bytes)
{
    auto_buf struct buf answer = BUF_INIT(unpacked_encoded_max(&budget));
    auto_unpacked struct unpacked back = {0};
    struct err err = ERR_INIT;

    fuzz_check(unpacked_encode(u, &answer, &err) == 0);
    fuzz_check(unpacked_decode(answer.data, answer.len, data_bytes, &budget, &back, &err) == 0);
    fuzz_check(back.n == u->n && back.total_bytes == u->total_bytes);
}

/* The guard finds the same however the stream is cut. */
static void check_guard(const uint8_t *data, size_t size)
{
    struct tar_guard whole = {.max_size = budget.bytes};
    struct tar_guard bytes = {.max_size = budget.bytes};
    struct err err = ERR_INIT;
    struct err byte_err = ERR_INIT;
    int r = tar_guard_feed(&whole, data, size, &err);
    int b = 0;

    for (size_t i = 0; i < size && b == 0; i++) {
        b = tar_guard_feed(&bytes, data + i, 1, &byte_err);
    }
    fuzz_check(r == b && strcmp(err.msg, byte_err.msg) == 0);
    fuzz_check(r < 0 || tar_guard_finish(&whole, &err) == tar_guard_finish(&bytes, &byte_err));
    tar_guard_fini(&whole);
    tar_guard_fini(&bytes);
}

static uint64_t size_of(int fd)
{
    struct stat st = {0};

    fuzz_check(fstat(fd, &st) == 0);
    return (uint64_t)st.st_size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool prepared;
    auto_unpacked struct unpacked u = {0};
    auto_unpacked struct unpacked lie = {0};
    auto_fd int fd = memfd_create("archive", MFD_CLOEXEC);
    auto_fd int out = memfd_create("data", MFD_CLOEXEC);
    const struct unpack_source source = {.fd = fd, .bytes = size};
    struct err err = ERR_INIT;
    struct err lie_err = ERR_INIT;
    int r = 0;

    if (!prepared) {
        fuzz_check(unpack_prepare(&err) == 0);
        prepared = true;
    }
    if (fd < 0 || out < 0 || write(fd, data, size) != (ssize_t)size) {
        return 0;
    }
    r = unpack(&source, &budget, out, &u, &err);
    if (r == 0) {
        check_entries(&u, size_of(out));
        check_answer(&u, size_of(out));
    }
    fuzz_check(size_of(out) <= budget.bytes);
    fuzz_check((r < 0) == (err.class != ERR_NONE));
    fuzz_check(r == 0 || err.class == ERR_USAGE);
    check_guard(data, size);
    if (unpacked_decode(data, size, size, &budget, &lie, &lie_err) == 0) {
        check_entries(&lie, size);
    } else {
        fuzz_check(lie_err.class == ERR_HOST);
    }
    return 0;
}
