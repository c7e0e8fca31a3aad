#include "vmm/virtq.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "proto/wire.h"

/* Where things are in the rings (virtio 1.2, 2.7.5 to 2.7.8); each ends with an event index. */
#define RING_FLAGS         0u
#define RING_IDX           2u
#define RING_ENTRIES       4u
#define RING_EVENT_BYTES   2u
#define AVAIL_ENTRY_BYTES  2u
#define USED_ENTRY_BYTES   8u
#define AVAIL_NO_INTERRUPT 1u

#define DESC_NEXT  1u
#define DESC_WRITE 2u

struct desc {
    uint64_t gpa;
    uint32_t len;
    uint16_t flags, next;
};

struct range {
    const char *name;
    uint64_t start, len, align;
};

void virtq_reset(struct virtq *q)
{
    *q = (struct virtq){0};
}

static int check_ranges(const struct range *ranges, size_t n, const struct gmem *mem,
                        struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct range *a = &ranges[i];

        if (a->start % a->align != 0) {
            return err_guest(err, "%s at 0x%" PRIx64 " is not aligned to %" PRIu64 " bytes",
                             a->name, a->start, a->align);
        }
        if (!gmem_has(mem, a->start, a->len)) {
            return err_guest(err, "%s at 0x%" PRIx64 ", %" PRIu64 " bytes, is not in RAM", a->name,
                             a->start, a->len);
        }
        /* No sum here wraps: both ranges are in RAM. */
        for (size_t j = 0; j < i; j++) {
            const struct range *b = &ranges[j];

            if (a->start < b->start + b->len && b->start < a->start + a->len) {
                return err_guest(err, "%s at 0x%" PRIx64 " and %s at 0x%" PRIx64 " overlap",
                                 a->name, a->start, b->name, b->start);
            }
        }
    }
    return 0;
}

int virtq_enable(struct virtq *q, const struct gmem *mem, struct err *err)
{
    uint64_t size = q->size;
    const struct range ranges[] = {
        {"the descriptor table", q->desc, VIRTQ_DESC_SIZE * size, 16},
        {"the available ring", q->avail, RING_ENTRIES + AVAIL_ENTRY_BYTES * size + RING_EVENT_BYTES,
         2},
        {"the used ring", q->used, RING_ENTRIES + USED_ENTRY_BYTES * size + RING_EVENT_BYTES, 4},
    };
    int r = 0;

    if (size == 0 || size > VIRTQ_SIZE_MAX || (size & (size - 1)) != 0) {
        return err_guest(err, "a queue of %" PRIu64 " descriptors", size);
    }
    r = check_ranges(ranges, ARRAY_LEN(ranges), mem, err);
    if (r < 0) {
        return r;
    }
    q->next_avail = 0;
    q->next_used = 0;
    memset(q->in_flight, 0, sizeof(q->in_flight));
    q->ready = true;
    return 0;
}

/* Every address of the rings was checked by virtq_enable(): this is for a mistake of ours. */
static int ring_gone(struct err *err)
{
    return err_guest(err, "a ring of the queue is not in RAM");
}

bool virtq_waiting(const struct virtq *q, const struct gmem *mem)
{
    uint16_t idx = 0;

    return gmem_load16(mem, q->avail + RING_IDX, &idx) == 0 && idx != q->next_avail;
}

/* 1 and the head of the next chain, 0 if there is none, or ERR_GUEST. */
static int next_head(const struct virtq *q, const struct gmem *mem, uint16_t *ret, struct err *err)
{
    uint16_t idx = 0;
    uint16_t head = 0;
    uint16_t n = 0;

    if (gmem_load16(mem, q->avail + RING_IDX, &idx) < 0) {
        return ring_gone(err);
    }
    n = (uint16_t)(idx - q->next_avail);
    if (n == 0) {
        return 0;
    }
    /* The driver cannot have more chains than descriptors; an index that went back looks the same. */
    if (n > q->size) {
        return err_guest(err, "the available index jumps from %u to %u in a queue of %u",
                         q->next_avail, idx, q->size);
    }
    if (gmem_load16(
            mem, q->avail + RING_ENTRIES + AVAIL_ENTRY_BYTES * (uint64_t)(q->next_avail % q->size),
            &head) < 0) {
        return ring_gone(err);
    }
    if (head >= q->size) {
        return err_guest(err, "chain head %u in a queue of %u", head, q->size);
    }
    /* CVE-2016-5403: the same chain again before it came back, without end. */
    if (q->in_flight[head]) {
        return err_guest(err, "chain head %u is available twice", head);
    }
    *ret = head;
    return 1;
}

static int read_desc(const struct virtq *q, const struct gmem *mem, uint16_t i, struct desc *ret,
                     struct err *err)
{
    uint8_t raw[VIRTQ_DESC_SIZE];

    if (gmem_read(mem, q->desc + VIRTQ_DESC_SIZE * (uint64_t)i, raw, sizeof(raw)) < 0) {
        return ring_gone(err);
    }
    ret->gpa = wire_get_u64(raw);
    ret->len = wire_get_u32(raw + 8);
    ret->flags = wire_get_u16(raw + 12);
    ret->next = wire_get_u16(raw + 14);
    return 0;
}

static int add_buffer(struct virtq_chain *c, const struct gmem *mem, uint16_t i,
                      const struct desc *d, struct err *err)
{
    bool is_in = (d->flags & DESC_WRITE) != 0;

    if ((d->flags & ~(DESC_NEXT | DESC_WRITE)) != 0) {
        return err_guest(err, "descriptor %u has flags 0x%x that were not offered", i, d->flags);
    }
    /* CVE-2016-6490: a device that works until it has moved some bytes never ends with none. */
    if (d->len == 0) {
        return err_guest(err, "descriptor %u has no bytes", i);
    }
    if (!gmem_has(mem, d->gpa, d->len)) {
        return err_guest(err, "descriptor %u, 0x%" PRIx64 " and %u bytes, is not in RAM", i, d->gpa,
                         d->len);
    }
    if (!is_in && c->n_in > 0) {
        return err_guest(err, "descriptor %u is to be read after others to be written", i);
    }
    c->buffers[c->n_out + c->n_in] = (struct virtq_buffer){.gpa = d->gpa, .len = d->len};
    if (is_in) {
        c->n_in++;
        c->in_bytes += d->len;
    } else {
        c->n_out++;
        c->out_bytes += d->len;
    }
    if (c->out_bytes + c->in_bytes > VIRTQ_CHAIN_BYTES) {
        return err_guest(err, "a chain of more than %" PRIu64 " bytes",
                         (uint64_t)VIRTQ_CHAIN_BYTES);
    }
    return 0;
}

/* A chain that is longer than the table goes round in it (2.7.5.1), and ends here. */
static int walk(const struct virtq *q, const struct gmem *mem, struct virtq_chain *c,
                struct err *err)
{
    uint16_t i = c->head;

    for (unsigned int n = 0; n < q->size; n++) {
        struct desc d = {0};
        int r = read_desc(q, mem, i, &d, err);

        if (r < 0) {
            return r;
        }
        r = add_buffer(c, mem, i, &d, err);
        if (r < 0) {
            return r;
        }
        if ((d.flags & DESC_NEXT) == 0) {
            return 0;
        }
        if (d.next >= q->size) {
            return err_guest(err, "descriptor %u goes on with %u in a queue of %u", i, d.next,
                             q->size);
        }
        i = d.next;
    }
    return err_guest(err, "the chain at %u has more descriptors than its queue", c->head);
}

int virtq_pop(struct virtq *q, const struct gmem *mem, struct virtq_chain *ret, struct err *err)
{
    uint16_t head = 0;
    int r = next_head(q, mem, &head, err);

    if (r <= 0) {
        return r;
    }
    ret->head = head;
    ret->n_out = ret->n_in = 0;
    ret->out_bytes = ret->in_bytes = 0;
    r = walk(q, mem, ret, err);
    if (r < 0) {
        return r;
    }
    q->in_flight[head] = true;
    q->next_avail++;
    return 1;
}

void virtq_unpop(struct virtq *q, uint16_t head)
{
    assert(head < VIRTQ_SIZE_MAX && q->in_flight[head]);
    q->in_flight[head] = false;
    q->next_avail--;
}

int virtq_push(struct virtq *q, const struct gmem *mem, uint16_t head, uint32_t written,
               struct err *err)
{
    uint64_t at = q->used + RING_ENTRIES + USED_ENTRY_BYTES * (uint64_t)(q->next_used % q->size);
    uint8_t raw[USED_ENTRY_BYTES];

    assert(head < VIRTQ_SIZE_MAX && q->in_flight[head]);
    wire_put_u32(raw, head);
    wire_put_u32(raw + 4, written);
    if (gmem_write(mem, at, raw, sizeof(raw)) < 0 ||
        gmem_store16(mem, q->used + RING_IDX, (uint16_t)(q->next_used + 1)) < 0) {
        return ring_gone(err);
    }
    q->in_flight[head] = false;
    q->next_used++;
    return 0;
}

int virtq_wants_interrupt(const struct virtq *q, const struct gmem *mem, struct err *err)
{
    uint16_t flags = 0;

    if (gmem_load16(mem, q->avail + RING_FLAGS, &flags) < 0) {
        return ring_gone(err);
    }
    return (flags & AVAIL_NO_INTERRUPT) == 0 ? 1 : 0;
}

/* A walk over the out- or in-buffers of a chain, from a byte offset on. */
struct cursor {
    const struct virtq_buffer *at, *end;
    uint64_t offset; /* into the rest */
};

static struct cursor cursor_of(const struct virtq_chain *c, bool is_in, uint64_t offset)
{
    const struct virtq_buffer *first = c->buffers + (is_in ? c->n_out : 0);

    return (struct cursor){first, first + (is_in ? c->n_in : c->n_out), offset};
}

/* The next piece, of at most len bytes: its length, or 0 at the end. */
static size_t next_piece(struct cursor *cursor, size_t len, uint64_t *ret_gpa)
{
    while (cursor->at < cursor->end && cursor->offset >= cursor->at->len) {
        cursor->offset -= cursor->at->len;
        cursor->at++;
    }
    if (cursor->at == cursor->end) {
        return 0;
    }
    *ret_gpa = cursor->at->gpa + cursor->offset;
    if (len > cursor->at->len - cursor->offset) {
        len = (size_t)(cursor->at->len - cursor->offset);
    }
    cursor->offset += len;
    return len;
}

/* Between what cursor walks over and our memory: into to, or out of from if to is NULL. */
static ssize_t copy(struct cursor cursor, const struct gmem *mem, uint8_t *to, const uint8_t *from,
                    size_t len)
{
    size_t done = 0;

    while (done < len) {
        uint64_t gpa = 0;
        size_t part = next_piece(&cursor, len - done, &gpa);

        if (part == 0) {
            break;
        }
        int r = to != NULL ? gmem_read(mem, gpa, to + done, part)
                           : gmem_write(mem, gpa, from + done, part);
        if (r < 0) {
            return -EFAULT;
        }
        done += part;
    }
    return (ssize_t)done;
}

ssize_t virtq_chain_read(const struct virtq_chain *c, const struct gmem *mem, uint64_t offset,
                         void *ret, size_t len)
{
    return copy(cursor_of(c, false, offset), mem, ret, NULL, len);
}

ssize_t virtq_chain_write(const struct virtq_chain *c, const struct gmem *mem, uint64_t offset,
                          const void *data, size_t len)
{
    return copy(cursor_of(c, true, offset), mem, NULL, data, len);
}

int virtq_chain_iov(const struct virtq_chain *c, const struct gmem *mem, bool is_in,
                    uint64_t offset, uint64_t len, struct iovec ret[VIRTQ_SIZE_MAX])
{
    struct cursor cursor = cursor_of(c, is_in, offset);
    int n = 0;

    while (len > 0) {
        uint64_t gpa = 0;
        size_t part = next_piece(&cursor, len, &gpa);

        /* Each entry is another buffer, so that there are never too many. */
        if (part == 0 || gmem_iov(mem, gpa, part, &ret[n]) < 0) {
            return -EFAULT;
        }
        n++;
        len -= part;
    }
    return n;
}
