#include <errno.h>
#include <string.h>

#include "base/sort.h"

#include "job/unpack-internal.h"
#include "proto/outar.h"
#include "proto/wire.h"

#define HEAD_SIZE 4u
#define ITEM_SIZE 21u /* u8 is_dir, u32 name_len, u64 bytes, u64 offset; then the name */

static int no_memory(struct err *err)
{
    return err_set(err, ERR_HOST, ENOMEM, "out of memory for the archive's entries");
}

static void free_entries(struct unpacked_entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(entries[i].name);
    }
    free(entries);
}

void unpacked_fini(struct unpacked *u)
{
    free_entries(u->entries, u->n);
    *u = (struct unpacked){0};
}

void unpack_list_fini(struct unpack_list *list)
{
    free_entries(list->entries, list->n);
    *list = (struct unpack_list){0};
}

int unpack_list_add(struct unpack_list *list, const uint8_t *name, size_t len, bool is_dir,
                    struct unpacked_entry **ret, struct err *err)
{
    uint8_t *copy = NULL;

    if (len > UNPACK_NAMES_BYTES - list->names) {
        return err_usage(err, "the names in the archive have more than %llu bytes",
                         UNPACK_NAMES_BYTES);
    }
    if (list->n == list->cap) {
        size_t cap = list->cap == 0 ? 64 : 2 * list->cap;
        struct unpacked_entry *grown = reallocarray(list->entries, cap, sizeof(*grown));

        if (grown == NULL) {
            return no_memory(err);
        }
        list->entries = grown;
        list->cap = cap;
    }
    copy = malloc(len + 1);
    if (copy == NULL) {
        return no_memory(err);
    }
    memcpy(copy, name, len);
    copy[len] = '\0';
    list->names += len;
    list->n_files += is_dir ? 0 : 1;
    list->n_dirs += is_dir ? 1 : 0;
    list->entries[list->n] =
        (struct unpacked_entry){.name = copy, .name_len = len, .is_dir = is_dir};
    *ret = &list->entries[list->n++];
    return 0;
}

static size_t parent_len(const struct unpacked_entry *e)
{
    const uint8_t *slash = memrchr(e->name, '/', e->name_len);

    return slash == NULL ? 0 : (size_t)(slash - e->name);
}

/* True if e is, or lies below, the directory that the first len bytes of name are. */
static bool is_prefix(const struct unpacked_entry *e, const uint8_t *name, size_t len)
{
    return e->name_len >= len && memcmp(e->name, name, len) == 0 &&
           (e->name_len == len || e->name[len] == '/');
}

static bool lies_below(const struct unpacked_entry *e, const uint8_t *name, size_t len)
{
    return e->name_len > len && is_prefix(e, name, len);
}

/* Adds the directories that the first `given` entries imply. */
static int add_implied(struct unpack_list *list, size_t given, struct err *err)
{
    for (size_t i = 0; i < given; i++) {
        /* list->entries moves as it grows: nothing is kept across unpack_list_add(). */
        size_t before = list->n;

        for (size_t len = parent_len(&list->entries[i]); len > 0;) {
            struct unpacked_entry *added = NULL;
            const uint8_t *name = list->entries[i].name;
            int r = 0;

            /* The one given before it, or the last implied one, has it above itself, and so all. */
            if (i > 0 && lies_below(&list->entries[i - 1], name, len)) {
                break;
            }
            if (before > given && is_prefix(&list->entries[before - 1], name, len)) {
                break;
            }
            r = unpack_list_add(list, name, len, true, &added, err);
            if (r < 0) {
                return r;
            }
            added->offset = UINT64_MAX; /* marks it as implied until the groups are settled */
            len = parent_len(added);
        }
    }
    return 0;
}

static bool is_implied(const struct unpacked_entry *e)
{
    return e->is_dir && e->offset == UINT64_MAX;
}

/* By name; of one name, what was given first. */
static int by_name(const void *a, const void *b, void *ctx)
{
    const struct unpacked_entry *x = a;
    const struct unpacked_entry *y = b;
    int c = strcmp((const char *)x->name, (const char *)y->name);

    (void)ctx;
    return c != 0 ? c : (int)is_implied(x) - (int)is_implied(y);
}

static int check_pair(const struct unpacked_entry *kept, const struct unpacked_entry *next,
                      struct err *err)
{
    if (!is_implied(next)) {
        return err_usage(err, "entry '%s' is there twice", text_of(next->name, next->name_len).s);
    }
    if (!kept->is_dir) {
        return err_usage(err, "entry '%s' is a file, and others lie below it",
                         text_of(next->name, next->name_len).s);
    }
    return 0;
}

int unpack_settle(struct unpack_list *list, const struct unpack_budget *budget,
                  struct unpacked *ret, struct err *err)
{
    struct unpacked_entry *e = NULL;
    size_t kept = 0;
    uint64_t dirs = 0;
    uint64_t total = 0;
    int r = add_implied(list, list->n, err);

    if (r < 0 || list->n == 0) {
        return r;
    }
    e = list->entries;
    sort_array(e, list->n, sizeof(*e), by_name, NULL);
    for (size_t i = 1; i < list->n; i++) {
        if (strcmp((const char *)e[i - 1].name, (const char *)e[i].name) == 0) {
            r = check_pair(&e[i - 1], &e[i], err);
            if (r < 0) {
                return r;
            }
        }
    }
    for (size_t i = 0; i < list->n; i++) {
        if (kept > 0 && strcmp((const char *)e[kept - 1].name, (const char *)e[i].name) == 0) {
            free(e[i].name);
            continue;
        }
        e[kept] = e[i];
        e[kept].offset = e[i].is_dir ? 0 : e[i].offset;
        dirs += e[i].is_dir ? 1 : 0;
        total += e[i].bytes;
        kept++;
    }
    *ret = (struct unpacked){.entries = e, .n = kept, .total_bytes = total};
    list->entries = NULL; /* they are *ret's now */
    list->n = 0;
    if (dirs > budget->entries) {
        unpacked_fini(ret);
        return err_usage(err, "the archive has more than %llu directories",
                         (unsigned long long)budget->entries);
    }
    return 0;
}

int unpacked_encode(const struct unpacked *u, struct buf *out, struct err *err)
{
    uint8_t raw[ITEM_SIZE];
    int r = 0;

    wire_put_u32(raw, (uint32_t)u->n);
    r = buf_put(out, raw, HEAD_SIZE);
    for (size_t i = 0; i < u->n && r == 0; i++) {
        const struct unpacked_entry *e = &u->entries[i];

        raw[0] = e->is_dir;
        wire_put_u32(raw + 1, (uint32_t)e->name_len);
        wire_put_u64(raw + 5, e->bytes);
        wire_put_u64(raw + 13, e->offset);
        r = buf_put(out, raw, ITEM_SIZE);
        if (r == 0) {
            r = buf_put(out, e->name, e->name_len);
        }
    }
    return r < 0 ? no_memory(err) : 0;
}

size_t unpacked_encoded_max(const struct unpack_budget *budget)
{
    return (size_t)(HEAD_SIZE + 2 * budget->entries * ITEM_SIZE + UNPACK_NAMES_BYTES);
}

struct decode {
    struct wire_in in;
    uint64_t data_bytes;
    const struct unpack_budget *budget;
    uint64_t n_files;
    struct unpacked out;
};

static void decode_fini(struct decode *d)
{
    unpacked_fini(&d->out);
}

static int malformed(const char *what, struct err *err)
{
    return err_set(err, ERR_HOST, EPROTO, "the unpacker's answer is malformed: %s", what);
}

/* True if the directory that holds e, the last entry, is among those before it. */
static bool parent_is_there(const struct unpacked *u, const struct unpacked_entry *e)
{
    size_t len = parent_len(e);
    size_t lo = 0;
    size_t hi = u->n - 1;

    while (len > 0 && lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct unpacked_entry *m = &u->entries[mid];
        int c = strncmp((const char *)m->name, (const char *)e->name, len);

        c = c != 0 ? c : m->name_len > len;
        if (c == 0) {
            return m->is_dir;
        }
        if (c < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return len == 0;
}

static int check_entry(struct decode *d, const struct unpacked_entry *e, struct err *err)
{
    const struct unpacked_entry *before = d->out.n > 1 ? e - 1 : NULL;

    if (before != NULL && strcmp((const char *)before->name, (const char *)e->name) >= 0) {
        return malformed("names that are not in order", err);
    }
    if (!parent_is_there(&d->out, e)) {
        return malformed("an entry without its directory", err);
    }
    d->n_files += e->is_dir ? 0 : 1;
    if (d->n_files > d->budget->entries || d->out.n - d->n_files > d->budget->entries ||
        e->bytes > d->budget->bytes - d->out.total_bytes) {
        return malformed("more than its budget", err);
    }
    if (e->offset > d->data_bytes || e->bytes > d->data_bytes - e->offset ||
        (e->is_dir && e->bytes != 0)) {
        return malformed("data that is not there", err);
    }
    return 0;
}

static int decode_one(struct decode *d, struct err *err)
{
    const uint8_t *raw = wire_take(&d->in, ITEM_SIZE);
    const uint8_t *name = raw == NULL ? NULL : wire_take(&d->in, wire_get_u32(raw + 1));
    struct unpacked_entry *e = &d->out.entries[d->out.n];
    uint32_t depth = 0;

    if (raw == NULL || raw[0] > 1 || name == NULL) {
        return malformed("an entry is cut short", err);
    }
    e->name_len = wire_get_u32(raw + 1);
    if (!outar_name_ok(name, e->name_len, &depth) || depth > d->budget->depth ||
        e->name_len > UNPACK_PATH_MAX) {
        return malformed("a name", err);
    }
    e->name = malloc(e->name_len + 1);
    if (e->name == NULL) {
        return no_memory(err);
    }
    d->out.n++;
    memcpy(e->name, name, e->name_len);
    e->name[e->name_len] = '\0';
    e->is_dir = raw[0] == 1;
    e->bytes = wire_get_u64(raw + 5);
    e->offset = wire_get_u64(raw + 13);
    return check_entry(d, e, err);
}

int unpacked_decode(const uint8_t *data, size_t len, uint64_t data_bytes,
                    const struct unpack_budget *budget, struct unpacked *ret, struct err *err)
{
    on_scope_exit(decode_fini) struct decode d = {
        .in = {data, len}, .data_bytes = data_bytes, .budget = budget};
    const uint8_t *head = wire_take(&d.in, HEAD_SIZE);
    uint32_t n = head == NULL ? 0 : wire_get_u32(head);

    if (head == NULL || n > 2 * budget->entries) {
        return malformed("its head", err);
    }
    d.out.entries = calloc((size_t)n + 1, sizeof(*d.out.entries));
    if (d.out.entries == NULL) {
        return no_memory(err);
    }
    for (uint32_t i = 0; i < n; i++) {
        int r = decode_one(&d, err);

        if (r < 0) {
            return r;
        }
        d.out.total_bytes += d.out.entries[i].bytes;
    }
    if (d.in.left != 0) {
        return malformed("bytes behind its end", err);
    }
    *ret = d.out;
    d.out = (struct unpacked){0};
    return 0;
}
