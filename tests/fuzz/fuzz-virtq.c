/*
 * A virtqueue of a hostile driver: chains that are given out lie in memory and are bounded, whatever
 * the rings say and however they change in between.
 */
#include <errno.h>

#include "guest.h"

#define FLIGHT_MAX 300u

static void check_pieces(const struct virtq_chain *c, const struct gmem *mem, bool is_in,
                         uint64_t offset)
{
    struct iovec iov[VIRTQ_SIZE_MAX];
    uint64_t all = is_in ? c->in_bytes : c->out_bytes;
    uint64_t sum = 0;
    int n = 0;

    offset = all == 0 ? 0 : offset % (all + 1);
    n = virtq_chain_iov(c, mem, is_in, offset, all - offset, iov);
    fuzz_check(n >= 0 && n <= (int)VIRTQ_SIZE_MAX);
    for (int i = 0; i < n; i++) {
        const uint8_t *at = iov[i].iov_base;

        fuzz_check(at >= mem->base && iov[i].iov_len > 0);
        fuzz_check(iov[i].iov_len <= mem->size - (size_t)(at - mem->base));
        sum += iov[i].iov_len;
    }
    fuzz_check(sum == all - offset);
    fuzz_check(virtq_chain_iov(c, mem, is_in, offset, all - offset + 1, iov) < 0);
}

static void check_chain(const struct virtq *q, const struct virtq_chain *c, const struct gmem *mem,
                        uint32_t offset)
{
    uint8_t data[600];
    uint64_t out = 0;
    uint64_t in = 0;
    ssize_t n = 0;

    fuzz_check(c->head < q->size && c->n_out + c->n_in > 0 && c->n_out + c->n_in <= q->size);
    for (unsigned int i = 0; i < c->n_out + c->n_in; i++) {
        fuzz_check(c->buffers[i].len > 0);
        fuzz_check(gmem_has(mem, c->buffers[i].gpa, c->buffers[i].len));
        *(i < c->n_out ? &out : &in) += c->buffers[i].len;
    }
    fuzz_check(out == c->out_bytes && in == c->in_bytes && out + in <= VIRTQ_CHAIN_BYTES);
    check_pieces(c, mem, false, offset);
    check_pieces(c, mem, true, offset);
    n = virtq_chain_read(c, mem, offset, data, sizeof(data));
    fuzz_check(n == (ssize_t)(offset >= out ? 0 : out - offset < 600 ? out - offset : 600));
    fuzz_touch(data, (size_t)n);
    memset(data, (int)offset, sizeof(data));
    n = virtq_chain_write(c, mem, offset, data, sizeof(data));
    fuzz_check(n == (ssize_t)(offset >= in ? 0 : in - offset < 600 ? in - offset : 600));
}

static struct virtq make_queue(struct wire_in *script)
{
    struct virtq q = {.size = GUEST_RING_SIZE, .avail = GUEST_RING_AVAIL, .used = GUEST_RING_USED};

    if (script_take(script, 1) % 4 == 0) {
        q.size = (uint16_t)script_take(script, 2);
        /* Also around the end of memory, and where an address wraps. */
        q.desc = script_take(script, 4) - 0x8000ull;
        q.avail = script_take(script, 4) - 0x8000ull;
        q.used = script_take(script, 4) - 0x8000ull;
    }
    return q;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gmem mem;
    struct wire_in script = guest_load(data, size, &mem);
    struct virtq q = make_queue(&script);
    uint16_t flight[FLIGHT_MAX] = {0};
    unsigned int n = 0;
    struct err err = ERR_INIT;

    if (virtq_enable(&q, &mem, &err) < 0) {
        fuzz_check(err.class == ERR_GUEST && !q.ready);
        return 0;
    }
    for (unsigned int ops = 0; ops < GUEST_OPS_MAX && script.left > 0; ops++) {
        uint32_t op = script_take(&script, 1);
        struct virtq_chain c;
        int r = 0;

        if (op % 4 == 0) {
            guest_meddle(&mem, &script);
        } else if (op % 4 == 1 && n > 0) {
            r = virtq_push(&q, &mem, flight[--n], op, &err);
            fuzz_check(r == 0 && virtq_wants_interrupt(&q, &mem, &err) >= 0);
        } else {
            r = virtq_pop(&q, &mem, &c, &err);
        }
        if (r < 0) {
            fuzz_check(r == -EPROTO && err.class == ERR_GUEST);
            return 0; /* as a device does: the queue is not used again */
        }
        if (r == 1) {
            check_chain(&q, &c, &mem, op * op);
            flight[n++] = c.head;
            fuzz_check(n <= q.size);
        }
        if (r == 1 && op % 4 == 3) {
            virtq_unpop(&q, flight[--n]);
        }
    }
    return 0;
}
