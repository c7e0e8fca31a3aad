/*
 * How it works: one record after the other, little-endian, first how many there are of what.
 *
 *   u32 items, u32 dropped, u64 dropped that are not listed
 *   item:    u8 is_dir, u32 name_len, name, u64 bytes, u64 offset
 *   dropped: u8 index into whys, u32 name_len, name
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "job/outputs-internal.h"
#include "job/text.h"
#include "proto/outar.h"
#include "proto/wire.h"
#include "sys/fd.h"

#define CHUNK_BYTES  (256 * KIB)
#define HEAD_SIZE    16u
#define ITEM_SIZE    21u /* without the name */
#define DROPPED_SIZE 5u

static const char *const whys[] = {
    OUTPUTS_WHY_SPECIAL,    OUTPUTS_WHY_LONG,      OUTPUTS_WHY_TWICE,
    OUTPUTS_WHY_BELOW_FILE, OUTPUTS_WHY_NO_PARENT,
};

static uint8_t index_of(const char *why)
{
    uint8_t i = 0;

    while (i < ARRAY_LEN(whys) && strcmp(whys[i], why) != 0) {
        i++;
    }
    return i;
}

static int put_failed(int r, struct err *err)
{
    return err_set(err, ERR_HOST, -r, "the list of outputs does not fit: %s", strerrordesc_np(-r));
}

int outputs_encode(const struct outputs *o, struct buf *out, struct err *err)
{
    uint8_t raw[ITEM_SIZE];
    int r = 0;

    wire_put_u32(raw, (uint32_t)o->n_items);
    wire_put_u32(raw + 4, (uint32_t)o->n_dropped);
    wire_put_u64(raw + 8, o->n_dropped_more);
    r = buf_put(out, raw, HEAD_SIZE);
    for (size_t i = 0; i < o->n_items && r == 0; i++) {
        const struct output_item *item = &o->items[i];

        raw[0] = item->is_dir;
        wire_put_u32(raw + 1, (uint32_t)item->name_len);
        wire_put_u64(raw + 5, item->bytes);
        wire_put_u64(raw + 13, item->offset);
        r = buf_put(out, raw, ITEM_SIZE);
        if (r == 0) {
            r = buf_put(out, item->name, item->name_len);
        }
    }
    for (size_t i = 0; i < o->n_dropped && r == 0; i++) {
        raw[0] = index_of(o->dropped[i].why);
        wire_put_u32(raw + 1, (uint32_t)o->dropped[i].name_len);
        r = buf_put(out, raw, DROPPED_SIZE);
        if (r == 0) {
            r = buf_put(out, o->dropped[i].name, o->dropped[i].name_len);
        }
    }
    return r < 0 ? put_failed(r, err) : 0;
}

size_t outputs_encoded_max(const struct spec_limits *limits)
{
    /* Files and directories are capped one by one, dropped ones a third time. */
    return (size_t)(HEAD_SIZE + 3 * limits->output_files * ITEM_SIZE + OUTPUTS_NAMES_BYTES);
}

struct decode {
    struct wire_in in;
    uint64_t stream_bytes;
    const struct spec_limits *limits;
    uint64_t n_files;
    uint64_t n_dirs;
    struct outputs out;
};

static void decode_fini(struct decode *d)
{
    outputs_fini(&d->out);
}

static int malformed(const char *what, struct err *err)
{
    return err_set(err, ERR_HOST, EPROTO, "the inspector's answer is malformed: %s", what);
}

static int no_memory(struct err *err)
{
    return err_set(err, ERR_HOST, ENOMEM, "out of memory for the list of outputs");
}

static int take_name(struct decode *d, uint32_t len, uint8_t **ret, struct err *err)
{
    const uint8_t *at = wire_take(&d->in, len);
    uint32_t depth = 0;
    uint8_t *name = NULL;

    if (at == NULL || !outar_name_ok(at, len, &depth)) {
        return malformed("a name", err);
    }
    name = malloc((size_t)len + 1);
    if (name == NULL) {
        return no_memory(err);
    }
    memcpy(name, at, len);
    name[len] = '\0';
    *ret = name;
    return 0;
}

/* Nothing that outputs_inspect() would have refused. */
static int check_item(struct decode *d, const struct output_item *item, struct err *err)
{
    uint32_t depth = 0;
    uint64_t *n = item->is_dir ? &d->n_dirs : &d->n_files;

    if (!outar_name_ok(item->name, item->name_len, &depth) || depth > d->limits->output_depth ||
        outputs_component_too_long(item->name, item->name_len)) {
        return malformed("a name that should have been refused", err);
    }
    if (++*n > d->limits->output_files ||
        item->bytes > d->limits->output_bytes - d->out.total_bytes) {
        return malformed("more than the limits allow", err);
    }
    if (item->offset > d->stream_bytes || item->bytes > d->stream_bytes - item->offset ||
        (item->is_dir && item->bytes != 0)) {
        return malformed("data outside of the stream", err);
    }
    return 0;
}

static int decode_items(struct decode *d, uint32_t n, struct err *err)
{
    d->out.items = calloc((size_t)n + 1, sizeof(*d->out.items));
    if (d->out.items == NULL) {
        return no_memory(err);
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *raw = wire_take(&d->in, ITEM_SIZE);
        struct output_item *item = &d->out.items[i];
        int r = 0;

        if (raw == NULL || raw[0] > 1) {
            return malformed("an entry", err);
        }
        r = take_name(d, wire_get_u32(raw + 1), &item->name, err);
        if (r < 0) {
            return r;
        }
        d->out.n_items++;
        item->name_len = wire_get_u32(raw + 1);
        item->is_dir = raw[0] == 1;
        item->bytes = wire_get_u64(raw + 5);
        item->offset = wire_get_u64(raw + 13);
        r = check_item(d, item, err);
        if (r < 0) {
            return r;
        }
        d->out.total_bytes += item->bytes;
    }
    return 0;
}

static int decode_dropped(struct decode *d, uint32_t n, struct err *err)
{
    d->out.dropped = calloc((size_t)n + 1, sizeof(*d->out.dropped));
    if (d->out.dropped == NULL) {
        return no_memory(err);
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *raw = wire_take(&d->in, DROPPED_SIZE);
        struct output_dropped *dropped = &d->out.dropped[i];
        int r = 0;

        if (raw == NULL || raw[0] >= ARRAY_LEN(whys)) {
            return malformed("a dropped entry", err);
        }
        r = take_name(d, wire_get_u32(raw + 1), &dropped->name, err);
        if (r < 0) {
            return r;
        }
        d->out.n_dropped++;
        dropped->name_len = wire_get_u32(raw + 1);
        dropped->why = whys[raw[0]];
    }
    return 0;
}

int outputs_decode(const uint8_t *data, size_t len, uint64_t stream_bytes,
                   const struct spec_limits *limits, struct outputs *ret, struct err *err)
{
    on_scope_exit(decode_fini) struct decode d = {
        .in = {data, len}, .stream_bytes = stream_bytes, .limits = limits};
    const uint8_t *head = wire_take(&d.in, HEAD_SIZE);
    int r = 0;

    if (head == NULL || wire_get_u32(head) > 2 * limits->output_files ||
        wire_get_u32(head + 4) > limits->output_files) {
        return malformed("its head", err);
    }
    d.out.n_dropped_more = wire_get_u64(head + 8);
    r = decode_items(&d, wire_get_u32(head), err);
    if (r == 0) {
        r = decode_dropped(&d, wire_get_u32(head + 4), err);
    }
    if (r == 0 && d.in.left != 0) {
        r = malformed("bytes behind its end", err);
    }
    if (r < 0) {
        return r;
    }
    *ret = d.out;
    d.out = (struct outputs){0};
    return 0;
}

bool outputs_none(int fd, uint64_t stream_bytes)
{
    uint8_t want[OUTAR_HEADER_SIZE];
    uint8_t got[OUTAR_HEADER_SIZE];
    struct err ignored = ERR_INIT;
    size_t n = 0;

    outar_header_encode(want, &(struct outar_header){.kind = OUTAR_END});
    return stream_bytes == sizeof(want) &&
           fd_pread_full(fd, got, sizeof(got), 0, &n, &ignored) == 0 && n == sizeof(got) &&
           memcmp(got, want, sizeof(want)) == 0;
}

static int digest_item(int fd, struct output_item *item, uint8_t *chunk, struct err *err)
{
    struct digest_ctx ctx;
    uint64_t done = 0;
    int r = 0;

    digest_begin(&ctx);
    while (r == 0 && done < item->bytes) {
        uint64_t left = item->bytes - done;
        size_t want = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
        size_t got = 0;

        r = fd_pread_full(fd, chunk, want, item->offset + done, &got, err);
        if (r == 0 && got != want) {
            r = err_set(err, ERR_HOST, EIO, "output stream: the file is shorter than was received");
        }
        if (r == 0) {
            digest_update(&ctx, chunk, want);
        }
        done += want;
    }
    digest_finish(&ctx, &item->digest);
    return r;
}

int outputs_digest(int fd, struct outputs *o, struct err *err)
{
    auto_free uint8_t *chunk = malloc(CHUNK_BYTES);
    int r = 0;

    if (chunk == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < o->n_items && r == 0; i++) {
        r = o->items[i].is_dir ? 0 : digest_item(fd, &o->items[i], chunk, err);
    }
    return r < 0 ? err_wrap(err, "digests of the outputs") : 0;
}
