#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/sort.h"
#include "base/str.h"

#include "job/contract-internal.h"
#include "job/text.h"
#include "job/unpack.h"
#include "proto/outar.h"
#include "sys/fd.h"

static const char *const rules[] = {
    RULE_NAME,   RULE_DROPPED, RULE_MISSING,   RULE_UNEXPECTED, RULE_SIZE,
    RULE_SYNTAX, RULE_DEPTH,   RULE_DUPLICATE, RULE_ENCODING,   RULE_RECTANGLE,
    RULE_FIELD,  RULE_COLUMNS, RULE_RECORDS,   RULE_ARCHIVE,
};

const char *contract_rule(size_t i)
{
    return i < ARRAY_LEN(rules) ? rules[i] : NULL;
}

void contract_fini(struct contract *c)
{
    for (size_t i = 0; i < c->n_names; i++) {
        free(c->names[i]);
    }
    free(c->names);
    *c = (struct contract){0};
}

static bool has_control(const uint8_t *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (s[i] < 0x20 || s[i] == 0x7f) {
            return true;
        }
    }
    return false;
}

static bool name_clean(const uint8_t *name, size_t len)
{
    return str_is_utf8(name, len) && !has_control(name, len);
}

static int add_name(struct contract *c, const char *name, size_t len, struct err *err)
{
    const uint8_t *bytes = (const uint8_t *)name;
    uint32_t depth = 0;
    char **grown = NULL;

    if (!outar_name_ok(bytes, len, &depth) || !name_clean(bytes, len)) {
        return err_usage(err,
                         "contract: '%s' is no name below /out; write a relative path of UTF-8 "
                         "without '.', '..' and control characters",
                         text_of(name, len).s);
    }
    if (c->n_names >= CONTRACT_NAMES_MAX) {
        return err_usage(err, "contract: more than %u patterns; use wildcards", CONTRACT_NAMES_MAX);
    }
    grown = reallocarray(c->names, c->n_names + 1, sizeof(*grown));
    if (grown == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    c->names = grown;
    grown[c->n_names] = strndup(name, len);
    if (grown[c->n_names] == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    c->n_names++;
    return 0;
}

static int add_patterns(struct contract *c, const char *text, struct err *err)
{
    int r = 0;

    while (r == 0) {
        size_t len = strcspn(text, ",");

        r = add_name(c, text, len, err);
        if (text[len] == '\0') {
            break;
        }
        text += len + 1;
    }
    return r;
}

int contract_parse(const char *text, struct contract *ret, struct err *err)
{
    static const struct {
        const char *word;
        enum contract_kind kind;
        bool needs_name;
    } kinds[] = {
        {"files", CONTRACT_FILES, false},
        {"json", CONTRACT_JSON, true},
        {"csv", CONTRACT_CSV, true},
        {"archive", CONTRACT_ARCHIVE, false},
    };
    on_scope_exit(contract_fini) struct contract c = {0};
    size_t len = strcspn(text, ":");
    const char *names = text[len] == ':' ? text + len + 1 : NULL;
    bool needs_name = false;
    int r = 0;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strlen(kinds[i].word) == len && memcmp(kinds[i].word, text, len) == 0) {
            c.kind = kinds[i].kind;
            needs_name = kinds[i].needs_name;
        }
    }
    if (c.kind == CONTRACT_NONE) {
        return err_usage(err,
                         "contract: '%s' is not known; use files, files:PATTERN,..., json:NAME, "
                         "csv:NAME, archive or archive:NAME",
                         text_of_str(text).s);
    }
    if (needs_name && names == NULL) {
        return err_usage(err, "contract: '%s' needs the file's name: %s:NAME", text_of_str(text).s,
                         text_of(text, len).s);
    }
    if (names != NULL) {
        r = c.kind == CONTRACT_FILES ? add_patterns(&c, names, err)
                                     : add_name(&c, names, strlen(names), err);
    }
    if (r < 0) {
        return r;
    }
    *ret = c;
    c = (struct contract){0};
    return 0;
}

int contract_fail(struct contract_file *f, const char *rule, const char *fmt, ...)
{
    char text[400];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    f->rule = rule;
    return err_set(f->err, ERR_GUEST, EBADMSG, "output '%s': %s",
                   text_of(f->item->name, f->item->name_len).s, text);
}

int contract_read(struct contract_file *f, uint64_t offset, void *data, size_t len, size_t *ret_len)
{
    uint64_t left = offset < f->item->bytes ? f->item->bytes - offset : 0;
    size_t want = left < len ? (size_t)left : len;
    int r = fd_pread_full(f->fd, data, want, f->item->offset + offset, ret_len, f->err);

    if (r == 0 && *ret_len != want) {
        r = err_set(f->err, ERR_HOST, EIO, "output stream: it is shorter than it was");
    }
    return r;
}

/* '*' any bytes and '?' one byte, both but '/'. Linear memory, at most len * pattern steps. */
static bool matches(const char *pattern, const uint8_t *name, size_t len)
{
    const char *star = NULL;
    size_t star_at = 0;
    size_t i = 0;

    while (i < len) {
        if (*pattern == '*') {
            star = ++pattern;
            star_at = i;
        } else if (*pattern == '?' ? name[i] != '/' : (uint8_t)*pattern == name[i]) {
            pattern++;
            i++;
        } else if (star != NULL && name[star_at] != '/') {
            i = ++star_at;
            pattern = star;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

/* The checks that every contract makes. */
struct check {
    const struct contract *c;
    const struct outputs *o;
    const struct spec_limits *limits;
    struct contract_file file;
};

static int fail_item(struct check *k, const struct output_item *item, const char *rule,
                     const char *text)
{
    k->file.item = item;
    return contract_fail(&k->file, rule, "%s", text);
}

static int compare_folded(const void *a, const void *b, void *ctx)
{
    const struct output_item *x = *(const struct output_item *const *)a;
    const struct output_item *y = *(const struct output_item *const *)b;

    (void)ctx;
    return strcasecmp((const char *)x->name, (const char *)y->name);
}

/* On a host whose filesystem folds case one would replace the other. */
static int check_case(struct check *k)
{
    auto_free const struct output_item **sorted = NULL;
    const struct outputs *o = k->o;

    if (o->n_items < 2) {
        return 0;
    }
    sorted = calloc(o->n_items, sizeof(struct output_item *));
    if (sorted == NULL) {
        return err_set(k->file.err, ERR_HOST, ENOMEM, "out of memory checking the contract");
    }
    for (size_t i = 0; i < o->n_items; i++) {
        sorted[i] = &o->items[i];
    }
    sort_array(sorted, o->n_items, sizeof(struct output_item *), compare_folded, NULL);
    for (size_t i = 1; i < o->n_items; i++) {
        if (compare_folded(&sorted[i - 1], &sorted[i], NULL) == 0) {
            return fail_item(k, sorted[i], RULE_NAME,
                             "another output has the same name but for upper and lower case");
        }
    }
    return 0;
}

static int check_names(struct check *k)
{
    const struct outputs *o = k->o;

    if (o->n_dropped > 0) {
        const struct output_dropped *d = &o->dropped[0];
        const struct output_item item = {.name = d->name, .name_len = d->name_len};
        int r = fail_item(k, &item, RULE_DROPPED, d->why);

        k->file.item = NULL;
        return r;
    }
    for (size_t i = 0; i < o->n_items; i++) {
        if (!name_clean(o->items[i].name, o->items[i].name_len)) {
            return fail_item(k, &o->items[i], RULE_NAME,
                             "a contract allows no name with control characters, or that is not "
                             "UTF-8");
        }
    }
    return check_case(k);
}

static int missing(struct check *k, const char *name)
{
    k->file.rule = RULE_MISSING;
    return err_set(k->file.err, ERR_GUEST, EBADMSG,
                   "output '%s': the contract wants it, but there "
                   "is no such file",
                   text_of_str(name).s);
}

static bool is_wild(const char *pattern)
{
    return strpbrk(pattern, "*?") != NULL;
}

static bool is_wanted(const struct contract *c, const struct output_item *item)
{
    for (size_t i = 0; i < c->n_names; i++) {
        if (matches(c->names[i], item->name, item->name_len)) {
            return true;
        }
    }
    return c->n_names == 0;
}

static int check_files(struct check *k)
{
    const struct outputs *o = k->o;

    for (size_t i = 0; i < o->n_items; i++) {
        if (!o->items[i].is_dir && !is_wanted(k->c, &o->items[i])) {
            return fail_item(k, &o->items[i], RULE_UNEXPECTED,
                             "it matches no pattern of the contract");
        }
    }
    for (size_t n = 0; n < k->c->n_names; n++) {
        bool found = is_wild(k->c->names[n]);

        for (size_t i = 0; i < o->n_items && !found; i++) {
            found =
                !o->items[i].is_dir && strcmp((const char *)o->items[i].name, k->c->names[n]) == 0;
        }
        if (!found) {
            return missing(k, k->c->names[n]);
        }
    }
    return 0;
}

/* True if dir is one of the directories above name. */
static bool is_above(const struct output_item *dir, const char *name)
{
    return strncmp((const char *)dir->name, name, dir->name_len) == 0 && name[dir->name_len] == '/';
}

/* Exactly one file, and the directories above it. */
static int find_single(struct check *k, const struct output_item **ret)
{
    const struct outputs *o = k->o;
    const char *name = k->c->n_names > 0 ? k->c->names[0] : NULL;
    const struct output_item *found = NULL;

    for (size_t i = 0; i < o->n_items && found == NULL; i++) {
        const struct output_item *item = &o->items[i];

        if (!item->is_dir && (name == NULL || strcmp((const char *)item->name, name) == 0)) {
            found = item;
        }
    }
    if (found == NULL) {
        return missing(k, name != NULL ? name : "an archive of any name");
    }
    for (size_t i = 0; i < o->n_items; i++) {
        const struct output_item *item = &o->items[i];

        if (item == found || (item->is_dir && is_above(item, (const char *)found->name))) {
            continue;
        }
        return fail_item(k, item, RULE_UNEXPECTED, "the contract allows one file and nothing else");
    }
    *ret = found;
    return 0;
}

static int check_archive(struct contract_file *f, const struct spec_limits *limits)
{
    on_scope_exit(unpacked_fini) struct unpacked entries = {0};
    struct err err = ERR_INIT;
    const struct unpack_budget budget = {
        .bytes = limits->output_bytes,
        .entries = limits->output_files,
        .depth = limits->output_depth,
        .tar_only = true,
    };
    const struct unpack_source source = {
        .fd = f->fd, .offset = f->item->offset, .bytes = f->item->bytes};
    int r = unpack(&source, &budget, -1, &entries, &err);

    if (r == 0) {
        return 0;
    }
    if (err.class == ERR_HOST) {
        *f->err = err;
        return r;
    }
    return contract_fail(f, RULE_ARCHIVE, "%.380s", err.msg);
}

int contract_check(const struct contract *c, int stream_fd, const struct outputs *o,
                   const struct spec_limits *limits, const char **ret_rule, struct err *err)
{
    struct check k = {.c = c, .o = o, .limits = limits, .file = {.fd = stream_fd, .err = err}};
    int r = c->kind == CONTRACT_NONE ? 0 : check_names(&k);

    if (r == 0 && c->kind == CONTRACT_FILES) {
        r = check_files(&k);
    } else if (r == 0 && c->kind != CONTRACT_NONE) {
        r = find_single(&k, &k.file.item);
        if (r == 0) {
            r = c->kind == CONTRACT_JSON  ? contract_json(&k.file)
                : c->kind == CONTRACT_CSV ? contract_csv(&k.file)
                                          : check_archive(&k.file, limits);
        }
    }
    if (r < 0) {
        *ret_rule = k.file.rule;
    }
    return r;
}
