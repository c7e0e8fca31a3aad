/*
 * How it works: the list of the result becomes a struct outputs (directories put in front of what
 * lies in them), each file's bytes are appended to one unnamed file, their digests are compared, and
 * only then outputs_export() does with it what it does with a guest's outputs.
 */
#include "cli/remote-out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/remote.h"
#include "job/base64.h"
#include "job/outputs.h"
#include "job/text.h"
#include "proto/outar.h"
#include "sys/fd.h"

static int no_memory(struct err *err)
{
    return err_set(err, ERR_HOST, ENOMEM, "out of memory for the outputs");
}

/* One entry of the list, decoded. */
struct listed {
    uint8_t *name; /* owned */
    size_t name_len;
    uint64_t bytes;
    struct digest digest;
};

struct fetch {
    const struct remote_out *out;
    struct listed *list;
    size_t n;
    struct outputs outputs;
    int fd; /* what was fetched, one after the other */
    uint64_t total;
    uint64_t left; /* of the file on its way */
};

static void fetch_fini(struct fetch *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->list[i].name);
    }
    free(f->list);
    outputs_fini(&f->outputs);
    fd_close_p(&f->fd);
}

static int bad_list(const char *what, struct err *err)
{
    return err_set(err, ERR_HOST, EPROTO, "the daemon's list of outputs is not to be trusted: %s",
                   what);
}

static int take_name(const json_t *entry, struct listed *ret, const struct spec_limits *limits,
                     struct err *err)
{
    const json_t *name = json_object_get(entry, "name");
    const json_t *exact = json_object_get(entry, "name_base64");
    uint32_t depth = 0;
    int r = 0;

    if (exact != NULL) {
        r = json_is_string(exact)
                ? base64_decode(json_string_value(exact), json_string_length(exact), &ret->name,
                                &ret->name_len)
                : -EINVAL;
    } else if (json_is_string(name)) {
        ret->name_len = json_string_length(name);
        ret->name = malloc(ret->name_len + 1);
        r = ret->name != NULL ? 0 : -ENOMEM;
        if (r == 0) {
            memcpy(ret->name, json_string_value(name), ret->name_len + 1);
        }
    } else {
        r = -EINVAL;
    }
    if (r == -ENOMEM) {
        return no_memory(err);
    }
    if (r < 0) {
        return bad_list("an entry without a name", err);
    }
    if (!outar_name_ok(ret->name, ret->name_len, &depth) || depth > limits->output_depth) {
        return err_set(
            err, ERR_HOST, EPROTO,
            "the daemon's list of outputs is not to be trusted: the name '%s' would leave "
            "the directory, or is none",
            text_of(ret->name, ret->name_len).s);
    }
    return 0;
}

static int take_entry(struct fetch *f, const json_t *entry, struct err *err)
{
    const json_t *bytes = json_object_get(entry, "bytes");
    const char *sha = json_string_value(json_object_get(entry, "sha256"));
    const struct spec_limits *limits = f->out->limits;
    struct listed *l = &f->list[f->n++];
    int r = take_name(entry, l, limits, err);

    if (r < 0) {
        return r;
    }
    if (!json_is_integer(bytes) || json_integer_value(bytes) < 0 || sha == NULL ||
        !digest_is_hex(sha)) {
        return bad_list("an entry without size or digest", err);
    }
    l->bytes = (uint64_t)json_integer_value(bytes);
    if (l->bytes > limits->output_bytes - f->total) {
        return bad_list("more bytes than the limits of the job allow", err);
    }
    f->total += l->bytes;
    memcpy(l->digest.hex, sha, DIGEST_HEX_SIZE);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct listed *x = a;
    const struct listed *y = b;
    size_t n = x->name_len < y->name_len ? x->name_len : y->name_len;
    int r = memcmp(x->name, y->name, n);

    return r != 0 ? r : (x->name_len > y->name_len) - (x->name_len < y->name_len);
}

static int read_list(struct fetch *f, struct err *err)
{
    const json_t *list = json_object_get(f->out->result, "outputs");
    size_t n = json_array_size(list);
    int r = 0;

    if (!json_is_array(list) || n > f->out->limits->output_files) {
        return bad_list(json_is_array(list) ? "more files than the limits of the job allow"
                                            : "there is none",
                        err);
    }
    f->list = calloc(n + 1, sizeof(*f->list));
    if (f->list == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < n && r == 0; i++) {
        r = take_entry(f, json_array_get(list, i), err);
    }
    if (r == 0) {
        qsort(f->list, f->n, sizeof(*f->list), by_name);
    }
    return r;
}

static int add_item(struct outputs *o, size_t *cap, const struct output_item *like, struct err *err)
{
    struct output_item *item = NULL;

    if (o->n_items == *cap) {
        size_t more = *cap == 0 ? 64 : 2 * *cap;
        struct output_item *list = reallocarray(o->items, more, sizeof(*list));

        if (list == NULL) {
            return no_memory(err);
        }
        o->items = list;
        *cap = more;
    }
    item = &o->items[o->n_items];
    *item = *like;
    item->name = malloc(like->name_len + 1);
    if (item->name == NULL) {
        return no_memory(err);
    }
    memcpy(item->name, like->name, like->name_len);
    item->name[like->name_len] = '\0';
    o->n_items++;
    return 0;
}

/* True if the entry before, in order, lies below the same directory: then that is there already. */
static bool shares(const struct listed *before, const uint8_t *dir, size_t len)
{
    return before != NULL && before->name_len > len && memcmp(before->name, dir, len) == 0 &&
           before->name[len] == '/';
}

/* Sorted, everything below one directory stands together. */
static int plan(struct fetch *f, struct err *err)
{
    uint64_t offset = 0;
    size_t cap = 0;
    int r = 0;

    for (size_t i = 0; i < f->n && r == 0; i++) {
        struct listed *l = &f->list[i];
        const struct listed *before = i > 0 ? &f->list[i - 1] : NULL;

        for (size_t k = 1; k < l->name_len && r == 0; k++) {
            if (l->name[k] == '/' && !shares(before, l->name, k)) {
                r = add_item(&f->outputs, &cap,
                             &(struct output_item){.name = l->name, .name_len = k, .is_dir = true},
                             err);
            }
        }
        if (r == 0) {
            r = add_item(
                &f->outputs, &cap,
                &(struct output_item){
                    .name = l->name, .name_len = l->name_len, .bytes = l->bytes, .offset = offset},
                err);
        }
        offset += l->bytes;
    }
    f->outputs.total_bytes = offset;
    return r;
}

static const char *tmp_path(void)
{
    const char *tmp = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe): one thread */

    return tmp != NULL && *tmp == '/' ? tmp : "/tmp";
}

static int open_tmp(int *ret, struct err *err)
{
    auto_fd int dir = -1;
    int r = fd_open(AT_FDCWD, tmp_path(), O_RDONLY | O_DIRECTORY, 0, &dir, err);

    return r < 0 ? r : fd_open_tmp(dir, ret, err);
}

static int on_bytes(void *ctx, const void *data, size_t len, struct err *err)
{
    struct fetch *f = ctx;
    int r = 0;

    if (len > f->left) {
        return err_set(err, ERR_HOST, EPROTO, "the daemon sends more than its list says");
    }
    f->left -= len;
    r = fd_write_full(f->fd, data, len, err);
    if (r == -ENOSPC || r == -EDQUOT) {
        *err = (struct err)ERR_INIT;
        return err_set(
            err, ERR_LIMIT, ENOSPC,
            "no space left in '%s', where outputs wait until all are there; free some or "
            "set TMPDIR",
            text_of_str(tmp_path()).s);
    }
    return r;
}

static int on_turn(void *ctx, struct pollfd *also, struct err *err)
{
    struct fetch *f = ctx;

    return f->out->turn != NULL ? f->out->turn(f->out->ctx, also, err) : 0;
}

/* Names are bytes: all but what is sure to be plain is encoded; '/' separates. */
static int output_path(const char *id, const struct listed *l, struct buf *path)
{
    static const char plain[] =
        "/-_.~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    int r = buf_printf(path, "/v1/jobs/%s/outputs/", id);

    for (size_t i = 0; i < l->name_len && r == 0; i++) {
        r = memchr(plain, l->name[i], sizeof(plain) - 1) != NULL
                ? buf_put(path, &l->name[i], 1)
                : buf_printf(path, "%%%02X", l->name[i]);
    }
    return r;
}

static int fetch_one(struct http *h, struct fetch *f, const struct listed *l, struct err *err)
{
    auto_http_answer struct http_answer answer = {.status = 0};
    auto_buf struct buf path = BUF_INIT(64 * KIB);
    struct http_request rq = {.method = "GET", .stream = on_bytes, .turn = on_turn, .ctx = f};
    int r = 0;

    if (output_path(f->out->id, l, &path) < 0) {
        return no_memory(err);
    }
    rq.path = (const char *)path.data;
    f->left = l->bytes;
    r = http_do(h, &rq, &answer, err);
    if (r == 0 && answer.status != 200) {
        r = remote_refused(h, &answer, err);
    }
    if (r == 0 && f->left > 0) {
        r = err_set(err, ERR_HOST, EPROTO, "the daemon sends less than its list says");
    }
    return r < 0 ? err_wrap(err, "output '%s'", text_of(l->name, l->name_len).s) : 0;
}

static int check_digests(struct fetch *f, struct err *err)
{
    int r = outputs_digest(f->fd, &f->outputs, err);
    size_t i = 0;

    for (size_t k = 0; k < f->outputs.n_items && r == 0; k++) {
        const struct output_item *item = &f->outputs.items[k];

        if (item->is_dir) {
            continue;
        }
        if (!digest_equal(&item->digest, &f->list[i].digest)) {
            return err_set(err, ERR_HOST, EPROTO,
                           "output '%s' is not what the result says (its SHA-256 differs)",
                           text_of(item->name, item->name_len).s);
        }
        i++;
    }
    return r;
}

int remote_out_fetch(struct http *h, const struct remote_out *out, struct err *err)
{
    on_scope_exit(fetch_fini) struct fetch f = {.out = out, .fd = -1};
    int r = read_list(&f, err);

    if (r == 0) {
        r = plan(&f, err);
    }
    if (r == 0) {
        r = open_tmp(&f.fd, err);
    }
    for (size_t i = 0; i < f.n && r == 0; i++) {
        r = fetch_one(h, &f, &f.list[i], err);
    }
    if (r == 0) {
        r = check_digests(&f, err);
    }
    return r < 0 ? r : outputs_export(f.fd, &f.outputs, out->dir, out->id, err);
}
