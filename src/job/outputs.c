/*
 * How it works: one pass reads the records and checks form and caps, with every entry in stream
 * order. The entries are then sorted by name to find duplicates, and walked in stream order again
 * to find those whose parent is no directory that came before.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/sort.h"

#include "job/outputs-internal.h"
#include "job/text.h"
#include "proto/outar.h"
#include "sys/fd.h"

struct entry {
    struct output_item item;
    const char *drop; /* reason, NULL = keep */
};

struct parse {
    int fd;
    uint64_t at;
    uint64_t end;
    const struct spec_limits *limits;
    struct entry *entries; /* files and directories, at most 2 * output_files */
    size_t n;
    size_t cap;
    uint64_t n_files;
    uint64_t n_dirs;
    uint64_t bytes; /* of file data, dropped or not */
    uint64_t names; /* bytes of all names */
    struct outputs out;
};

static void entries_free(struct entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(entries[i].item.name);
    }
    free(entries);
}

static void parse_fini(struct parse *p)
{
    entries_free(p->entries, p->n);
    outputs_fini(&p->out);
}

void outputs_fini(struct outputs *o)
{
    for (size_t i = 0; i < o->n_items; i++) {
        free(o->items[i].name);
    }
    free(o->items);
    for (size_t i = 0; i < o->n_dropped; i++) {
        free(o->dropped[i].name);
    }
    free(o->dropped);
    *o = (struct outputs){0};
}

static int no_memory(struct err *err)
{
    return err_set(err, ERR_HOST, ENOMEM, "out of memory reading the outputs");
}

/* Exactly len bytes at the parse position. */
static int take(struct parse *p, void *data, size_t len, struct err *err)
{
    size_t got = 0;
    int r = 0;

    if (len > p->end - p->at) {
        return err_guest(err, "output stream: it ends inside a record, at byte %" PRIu64, p->end);
    }
    r = fd_pread_full(p->fd, data, len, p->at, &got, err);
    if (r < 0) {
        return err_wrap(err, "output stream");
    }
    if (got != len) {
        return err_set(err, ERR_HOST, EIO, "output stream: the file is shorter than was received");
    }
    p->at += len;
    return 0;
}

static int over_cap(struct err *err, int errnum, const char *option, uint64_t cap,
                    const struct output_item *item)
{
    return err_set(err, ERR_LIMIT, errnum, "output '%s' goes over --%s %" PRIu64,
                   text_of(item->name, item->name_len).s, option, cap);
}

/* Moves name into the list of dropped outputs, or counts it when the list is full. */
static int drop(struct parse *p, uint8_t **take_name, size_t len, const char *why, struct err *err)
{
    struct outputs *o = &p->out;
    struct output_dropped *grown = NULL;

    if (o->n_dropped >= p->limits->output_files) {
        o->n_dropped_more++;
        return 0;
    }
    if ((o->n_dropped & (o->n_dropped - 1)) == 0) { /* a power of two is full: double it */
        grown = reallocarray(o->dropped, o->n_dropped == 0 ? 1 : 2 * o->n_dropped, sizeof(*grown));
        if (grown == NULL) {
            return no_memory(err);
        }
        o->dropped = grown;
    }
    o->dropped[o->n_dropped++] =
        (struct output_dropped){.name = STEAL_PTR(take_name), .name_len = len, .why = why};
    return 0;
}

static int check_caps(struct parse *p, const struct output_item *item, uint32_t depth,
                      struct err *err)
{
    const struct spec_limits *l = p->limits;

    if (depth > l->output_depth) {
        return over_cap(err, ENAMETOOLONG, "out-depth", l->output_depth, item);
    }
    if ((item->is_dir ? p->n_dirs : p->n_files) >= l->output_files) {
        return over_cap(err, EMFILE, "out-files", l->output_files, item);
    }
    if (item->bytes > l->output_bytes - p->bytes) {
        return over_cap(err, EFBIG, "out-bytes", l->output_bytes, item);
    }
    p->n_dirs += item->is_dir ? 1 : 0;
    p->n_files += item->is_dir ? 0 : 1;
    p->bytes += item->bytes;
    return 0;
}

bool outputs_component_too_long(const uint8_t *name, size_t len)
{
    size_t start = 0;

    for (size_t i = 0; i <= len; i++) {
        if (i == len || name[i] == '/') {
            if (i - start > OUTPUTS_COMPONENT_MAX) {
                return true;
            }
            start = i + 1;
        }
    }
    return false;
}

static int append(struct parse *p, const struct output_item *item, struct err *err)
{
    if (p->n == p->cap) {
        size_t cap = p->cap == 0 ? 64 : 2 * p->cap;
        struct entry *grown = reallocarray(p->entries, cap, sizeof(*grown));

        if (grown == NULL) {
            return no_memory(err);
        }
        p->entries = grown;
        p->cap = cap;
    }
    p->entries[p->n++] = (struct entry){
        .item = *item,
        .drop = outputs_component_too_long(item->name, item->name_len) ? OUTPUTS_WHY_LONG : NULL};
    return 0;
}

static int read_name(struct parse *p, size_t len, uint8_t **ret, uint32_t *ret_depth,
                     struct err *err)
{
    auto_free uint8_t *name = NULL;
    int r = 0;

    if (len > OUTPUTS_NAMES_BYTES - p->names) {
        return err_set(err, ERR_LIMIT, EMFILE, "the names of the outputs have more than %llu bytes",
                       OUTPUTS_NAMES_BYTES);
    }
    p->names += len;
    name = malloc(len + 1);
    if (name == NULL) {
        return no_memory(err);
    }
    r = take(p, name, len, err);
    if (r < 0) {
        return r;
    }
    name[len] = '\0';
    if (!outar_name_ok(name, len, ret_depth)) {
        return err_guest(err, "output stream: '%s' is not a name below /out", text_of(name, len).s);
    }
    *ret = STEAL_PTR(&name);
    return 0;
}

/* Everything of one record that is not the end. */
static int take_entry(struct parse *p, const struct outar_header *h, struct err *err)
{
    auto_free uint8_t *name = NULL;
    struct output_item item = {0};
    uint32_t depth = 0;
    int r = read_name(p, h->name_len, &name, &depth, err);

    if (r < 0) {
        return r;
    }
    if (h->kind == OUTAR_OTHER) {
        return drop(p, &name, h->name_len, OUTPUTS_WHY_SPECIAL, err);
    }
    item = (struct output_item){.name = name,
                                .name_len = h->name_len,
                                .is_dir = h->kind == OUTAR_DIR,
                                .bytes = h->size,
                                .offset = p->at};
    r = check_caps(p, &item, depth, err);
    if (r < 0) {
        return r;
    }
    if (h->size > p->end - p->at) {
        return err_guest(err, "output stream: '%s' has %" PRIu64 " bytes of %" PRIu64 " announced",
                         text_of(name, item.name_len).s, p->end - p->at, h->size);
    }
    p->at += h->size;
    r = append(p, &item, err);
    if (r == 0) {
        name = NULL; /* the list has it */
    }
    return r;
}

static int read_records(struct parse *p, struct err *err)
{
    for (;;) {
        uint8_t raw[OUTAR_HEADER_SIZE];
        struct outar_header h;
        int r = take(p, raw, sizeof(raw), err);

        if (r == 0) {
            r = outar_header_decode(raw, &h, err);
        }
        if (r < 0) {
            return r;
        }
        if (h.kind == OUTAR_END) {
            break;
        }
        r = take_entry(p, &h, err);
        if (r < 0) {
            return r;
        }
    }
    if (p->at != p->end) {
        return err_guest(err, "output stream: %" PRIu64 " bytes follow its end", p->end - p->at);
    }
    return 0;
}

static int compare_names(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
    int c = memcmp(a, b, a_len < b_len ? a_len : b_len);

    if (c != 0) {
        return c;
    }
    return a_len < b_len ? -1 : a_len > b_len;
}

/* By name, then by place in the stream: entries are compared by address within one array. */
static int by_name(const void *a, const void *b, void *ctx)
{
    const struct entry *x = *(struct entry *const *)a;
    const struct entry *y = *(struct entry *const *)b;
    int c = compare_names(x->item.name, x->item.name_len, y->item.name, y->item.name_len);

    (void)ctx;
    if (c != 0) {
        return c;
    }
    return x < y ? -1 : x > y;
}

struct name_key {
    const uint8_t *name;
    size_t len;
};

static int key_to_entry(const void *key, const void *element)
{
    const struct name_key *k = key;
    const struct entry *e = *(struct entry *const *)element;

    return compare_names(k->name, k->len, e->item.name, e->item.name_len);
}

/* Why an entry cannot lie where it says; NULL if it can. sorted holds no duplicates. */
static const char *parent_fault(const struct entry *e, struct entry **sorted, size_t n)
{
    const uint8_t *slash = memrchr(e->item.name, '/', e->item.name_len);
    struct name_key key = {.name = e->item.name};
    struct entry **found = NULL;
    const struct entry *parent = NULL;

    if (slash == NULL) {
        return NULL;
    }
    key.len = (size_t)(slash - e->item.name);
    found = bsearch(&key, sorted, n, sizeof(struct entry *), key_to_entry);
    parent = found == NULL ? NULL : *found;
    if (parent != NULL && !parent->item.is_dir) {
        return OUTPUTS_WHY_BELOW_FILE;
    }
    if (parent == NULL || parent > e || parent->drop != NULL) {
        return OUTPUTS_WHY_NO_PARENT;
    }
    return NULL;
}

static int mark_drops(struct parse *p, struct err *err)
{
    auto_free struct entry **sorted = NULL;
    size_t n = 0;

    if (p->n == 0) {
        return 0;
    }
    sorted = calloc(p->n, sizeof(struct entry *));
    if (sorted == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < p->n; i++) {
        sorted[i] = &p->entries[i];
    }
    sort_array(sorted, p->n, sizeof(struct entry *), by_name, NULL);
    for (size_t i = 0; i < p->n; i++) {
        struct entry *e = sorted[i];

        if (n > 0 && compare_names(sorted[n - 1]->item.name, sorted[n - 1]->item.name_len,
                                   e->item.name, e->item.name_len) == 0) {
            e->drop = OUTPUTS_WHY_TWICE;
        } else {
            sorted[n++] = e;
        }
    }
    for (size_t i = 0; i < p->n; i++) {
        struct entry *e = &p->entries[i];

        if (e->drop == NULL) {
            e->drop = parent_fault(e, sorted, n);
        }
    }
    return 0;
}

/* Entries into items and dropped. */
static int settle(struct parse *p, struct err *err)
{
    struct outputs *o = &p->out;
    int r = 0;

    o->items = calloc(p->n + 1, sizeof(*o->items));
    if (o->items == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < p->n && r == 0; i++) {
        struct entry *e = &p->entries[i];

        if (e->drop != NULL) {
            r = drop(p, &e->item.name, e->item.name_len, e->drop, err);
            continue;
        }
        o->total_bytes += e->item.bytes;
        o->items[o->n_items++] = e->item;
        e->item.name = NULL; /* moved */
    }
    return r;
}

int outputs_inspect(int fd, uint64_t stream_bytes, const struct spec_limits *limits,
                    struct outputs *ret, struct err *err)
{
    on_scope_exit(parse_fini) struct parse p = {.fd = fd, .end = stream_bytes, .limits = limits};
    int r = read_records(&p, err);

    if (r == 0) {
        r = mark_drops(&p, err);
    }
    if (r == 0) {
        r = settle(&p, err);
    }
    if (r == 0) {
        *ret = p.out;
        p.out = (struct outputs){0};
    }
    return r;
}
