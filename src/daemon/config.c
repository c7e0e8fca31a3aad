/*
 * How it works: the document is walked by the table. A member's path either stands in the table, or
 * some path there goes on below it, or it is unknown; there is no other list of names anywhere.
 * What concerns several members at once is checked at the end.
 */
#include "daemon/config.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/config-internal.h"
#include "job/text.h"
#include "sys/fd.h"

#define PATH_SIZE 128

/* A list in place. */
struct texts {
    char **v;
    size_t *n;
};

_Static_assert(TENANT_IMAGES_MAX == CONFIG_LIST_MAX, "one maximum for all lists");

static struct texts texts_of(struct config *c, const struct config_member *m)
{
    struct config_list *list = config_place(c, m);

    return (struct texts){list->v, &list->n};
}

static bool is_list(const struct config_member *m)
{
    return m->kind == CONFIG_LIST;
}

static void clear_texts(struct texts t)
{
    while (*t.n > 0) {
        (*t.n)--;
        free(STEAL_PTR(&t.v[*t.n]));
    }
}

void config_fini(struct config *c)
{
    for (size_t i = 0; i < config_members_len; i++) {
        const struct config_member *m = &config_members[i];

        if (is_list(m)) {
            clear_texts(texts_of(c, m));
        } else if (m->kind == CONFIG_TEXT) {
            free(STEAL_PTR((char **)config_place(c, m)));
        }
    }
}

/* A value as in the file, of the kinds that are numbers at heart. */
static void put_number(struct config *c, const struct config_member *m, uint64_t v)
{
    uint32_t choice = (uint32_t)v;
    uint64_t number = v * (m->kind == CONFIG_NUMBER ? m->scale : 1);
    bool yes = v != 0;

    if (m->kind == CONFIG_NUMBER) {
        memcpy(config_place(c, m), &number, sizeof(number));
    } else if (m->kind == CONFIG_CHOICE) {
        memcpy(config_place(c, m), &choice, sizeof(choice));
    } else if (m->kind == CONFIG_BOOL) {
        memcpy(config_place(c, m), &yes, sizeof(yes));
    }
}

void config_init(struct config *c)
{
    memset(c, 0, sizeof(*c));
    for (size_t i = 0; i < config_members_len; i++) {
        const struct config_member *m = &config_members[i];

        put_number(c, m, m->def);
        if (is_list(m) && m->def_text != NULL) {
            struct texts t = texts_of(c, m);

            t.v[0] = strdup(m->def_text);
            *t.n = t.v[0] != NULL; /* without memory: as if it were empty, which is refused */
        }
    }
}

/* A quota has its images by value, so that it can be copied. */
static void settle_images(struct config *c)
{
    struct tenant_quota *q = &c->default_quota;

    memset(q->images, 0, sizeof(q->images));
    for (q->n_images = 0; q->n_images < c->images.n; q->n_images++) {
        (void)snprintf(q->images[q->n_images], sizeof(q->images[0]), "%s",
                       c->images.v[q->n_images]);
    }
}

/* --- one member --- */

static int no_memory(struct err *err)
{
    return err_set(err, ERR_HOST, ENOMEM, "out of memory");
}

static int take_number(struct config *c, const struct config_member *m, const json_t *json,
                       struct err *err)
{
    json_int_t v = json_integer_value(json);

    if (!json_is_integer(json) || v < 0 || (uint64_t)v < m->min || (uint64_t)v > m->max) {
        return err_usage(err, "%s: give a whole number from %llu to %llu", m->path,
                         (unsigned long long)m->min, (unsigned long long)m->max);
    }
    put_number(c, m, (uint64_t)v);
    return 0;
}

static int take_choice(struct config *c, const struct config_member *m, const json_t *json,
                       struct err *err)
{
    char all[128] = "";
    size_t len = 0;
    uint64_t i = 0;

    for (; m->choices[i] != NULL; i++) {
        if (json_is_string(json) && strcmp(json_string_value(json), m->choices[i]) == 0) {
            put_number(c, m, i);
            return 0;
        }
    }
    for (i = 0; m->choices[i] != NULL && len < sizeof(all); i++) {
        len += (size_t)snprintf(all + len, sizeof(all) - len, "%s\"%s\"", i > 0 ? ", " : "",
                                m->choices[i]);
    }
    return err_usage(err, "%s: give one of %s", m->path, all);
}

/* A new string that passed the member's check. */
static int take_string(const struct config_member *m, const json_t *json, char **ret,
                       struct err *err)
{
    const char *text = json_string_value(json);
    int r = 0;

    if (text == NULL) {
        return err_usage(err, "%s: give %s", m->path, config_kind_text(m->kind));
    }
    for (const char *p = text; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) {
            return err_usage(err, "%s: a control character is in it", m->path);
        }
    }
    r = m->check(text, err);
    if (r < 0) {
        return err_wrap(err, "%s", m->path);
    }
    *ret = strdup(text);
    return *ret != NULL ? 0 : no_memory(err);
}

static int take_list(struct config *c, const struct config_member *m, const json_t *json,
                     struct err *err)
{
    struct texts t = texts_of(c, m);
    size_t n = json_array_size(json);

    if (!json_is_array(json) || n < m->list_min || n > CONFIG_LIST_MAX) {
        return err_usage(err, "%s: give an array of %zu to %u strings", m->path, m->list_min,
                         CONFIG_LIST_MAX);
    }
    clear_texts(t);
    for (size_t i = 0; i < n; i++) {
        int r = take_string(m, json_array_get(json, i), &t.v[i], err);

        if (r < 0) {
            return r;
        }
        *t.n = i + 1;
        for (size_t j = 0; j < i; j++) {
            if (strcmp(t.v[i], t.v[j]) == 0) {
                return err_usage(err, "%s: '%s' is in it twice", m->path, text_of_str(t.v[i]).s);
            }
        }
    }
    return 0;
}

static int take(struct config *c, const struct config_member *m, const json_t *json,
                struct err *err)
{
    char *text = NULL;
    int r = 0;

    switch (m->kind) {
    case CONFIG_NUMBER:
        return take_number(c, m, json, err);
    case CONFIG_CHOICE:
        return take_choice(c, m, json, err);
    case CONFIG_LIST:
        return take_list(c, m, json, err);
    case CONFIG_BOOL:
        if (!json_is_boolean(json)) {
            return err_usage(err, "%s: give true or false", m->path);
        }
        put_number(c, m, json_is_true(json));
        return 0;
    case CONFIG_TEXT:
        break;
    }
    r = take_string(m, json, &text, err);
    if (r == 0) {
        free(*(char **)config_place(c, m));
        *(char **)config_place(c, m) = text;
    }
    return r;
}

/* --- the document --- */

static const struct config_member *find(const char *path)
{
    for (size_t i = 0; i < config_members_len; i++) {
        if (strcmp(config_members[i].path, path) == 0) {
            return &config_members[i];
        }
    }
    return NULL;
}

static bool is_group(const char *path)
{
    size_t len = strlen(path);

    for (size_t i = 0; i < config_members_len; i++) {
        if (strncmp(config_members[i].path, path, len) == 0 && config_members[i].path[len] == '.') {
            return true;
        }
    }
    return false;
}

/* Names the members that stand beside an unknown one. prefix is "" or ends in '.'. */
static int unknown(const char *prefix, const char *key, struct err *err)
{
    auto_buf struct buf names = BUF_INIT(ERR_MSG_MAX / 2);
    size_t len = strlen(prefix);
    const char *last = "";

    for (size_t i = 0; i < config_members_len; i++) {
        const char *rest = config_members[i].path + len;
        size_t n = 0;

        if (strncmp(config_members[i].path, prefix, len) != 0) {
            continue;
        }
        n = strcspn(rest, ".");
        if (strncmp(rest, last, n) != 0 || last[n] == '\0' || last[0] == '\0') {
            (void)!buf_printf(&names, "%s%.*s", names.len > 0 ? ", " : "", (int)n, rest);
        }
        last = rest;
    }
    return err_usage(err, "%s%s: there is no such member; here may stand %s", prefix,
                     text_of_str(key).s, names.data != NULL ? (const char *)names.data : "none");
}

static int walk(struct config *c, const char *prefix, json_t *object, struct err *err);

static int take_at(struct config *c, const char *prefix, const char *key, json_t *value,
                   struct err *err)
{
    char path[PATH_SIZE];
    const struct config_member *m = NULL;
    int n = snprintf(path, sizeof(path), "%s%s", prefix, key);

    /* A key with a dot would be another member's path. */
    if (n < 0 || (size_t)n >= sizeof(path) - 1 || strchr(key, '.') != NULL || key[0] == '\0') {
        return unknown(prefix, key, err);
    }
    m = find(path);
    if (m != NULL) {
        return take(c, m, value, err);
    }
    if (!is_group(path)) {
        return unknown(prefix, key, err);
    }
    if (!json_is_object(value)) {
        return err_usage(err, "%s: give an object", path);
    }
    path[n] = '.';
    path[n + 1] = '\0';
    return walk(c, path, value, err);
}

/* No deeper than the table: a group in a group is unknown. */
static int walk(struct config *c, const char *prefix, json_t *object, struct err *err)
{
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach(object, key, value)
    {
        int r = take_at(c, prefix, key, value, err);

        if (r < 0) {
            return r;
        }
    }
    return 0;
}

int config_check(const struct config *c, struct err *err)
{
    bool tls = c->tls_cert != NULL;

    if (tls != (c->tls_key != NULL)) {
        return err_usage(err, "tls: give both cert and key, or neither");
    }
    if (c->request_bytes > c->requests_bytes) {
        return err_usage(err, "request_bytes: it is more than requests_bytes, so no such request "
                              "could be received");
    }
    if (c->listen.n == 0) {
        return err_usage(err, "listen: nowhere to take requests");
    }
    for (size_t i = 0; i < c->listen.n; i++) {
        struct config_address a;
        int r = config_address(c->listen.v[i], &a, err);

        if (r < 0) {
            return err_wrap(err, "listen");
        }
        if (!a.local && !tls) {
            return err_usage(err,
                             "listen: '%s' can be reached from elsewhere, and tokens would cross "
                             "the network in the clear; give tls, or listen on a loopback address",
                             text_of_str(c->listen.v[i]).s);
        }
    }
    return 0;
}

static void json_decref_p(json_t **json)
{
    json_decref(*json);
}

int config_parse(struct config *c, const char *name, const char *text, size_t len, struct err *err)
{
    json_error_t fault = {.line = 0};
    on_scope_exit(json_decref_p) json_t *root =
        json_loadb(text, len, JSON_REJECT_DUPLICATES, &fault);
    int r = 0;

    if (root == NULL) {
        return err_usage(err, "%s: line %d, column %d: %s", name, fault.line, fault.column,
                         text_of_str(fault.text).s);
    }
    if (!json_is_object(root)) {
        return err_usage(err, "%s: the configuration is one JSON object", name);
    }
    r = walk(c, "", root, err);
    if (r == 0) {
        r = config_check(c, err);
    }
    settle_images(c);
    return r < 0 ? err_wrap(err, "%s", name) : 0;
}

int config_load(struct config *c, const char *path, struct err *err)
{
    auto_buf struct buf text = BUF_INIT(CONFIG_BYTES_MAX);
    auto_fd int fd = -1;
    struct stat st = {0};
    int r = fd_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0, &fd, err);

    if (r < 0) {
        err->class = ERR_USAGE; /* the operator named it */
        return r;
    }
    if (fstat(fd, &st) < 0) {
        return err_sys(err, "look at '%s'", path);
    }
    if (!S_ISREG(st.st_mode) || (st.st_uid != 0 && st.st_uid != geteuid()) ||
        (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return err_usage(err,
                         "'%s': a configuration is a regular file that only root or user %u can "
                         "write; see to it with chown and `chmod go-w`",
                         path, (unsigned int)geteuid());
    }
    r = fd_read_all(fd, path, &text, err);
    if (r < 0) {
        return r;
    }
    return config_parse(c, path, text.data != NULL ? (const char *)text.data : "", text.len, err);
}

/* --- reload --- */

static bool same_texts(struct texts a, struct texts b)
{
    bool same = *a.n == *b.n;

    for (size_t i = 0; same && i < *a.n; i++) {
        same = strcmp(a.v[i], b.v[i]) == 0;
    }
    return same;
}

static size_t size_of(const struct config_member *m)
{
    return m->kind == CONFIG_NUMBER ? sizeof(uint64_t)
           : m->kind == CONFIG_BOOL ? sizeof(bool)
                                    : sizeof(uint32_t);
}

static bool same(struct config *a, struct config *b, const struct config_member *m)
{
    if (is_list(m)) {
        return same_texts(texts_of(a, m), texts_of(b, m));
    }
    if (m->kind == CONFIG_TEXT) {
        const char *x = *(char **)config_place(a, m);
        const char *y = *(char **)config_place(b, m);

        return (x == NULL) == (y == NULL) && (x == NULL || strcmp(x, y) == 0);
    }
    return memcmp(config_place(a, m), config_place(b, m), size_of(m)) == 0;
}

/* Lists and texts change places, so that each config goes on owning what it has. */
static void move(struct config *c, struct config *next, const struct config_member *m)
{
    if (is_list(m)) {
        struct texts to = texts_of(c, m);
        struct texts from = texts_of(next, m);

        clear_texts(to);
        for (; *to.n < *from.n; (*to.n)++) {
            to.v[*to.n] = STEAL_PTR(&from.v[*to.n]);
        }
        *from.n = 0;
    } else if (m->kind == CONFIG_TEXT) {
        char **to = config_place(c, m);

        free(*to);
        *to = STEAL_PTR((char **)config_place(next, m));
    } else {
        memcpy(config_place(c, m), config_place(next, m), size_of(m));
    }
}

int config_reload(struct config *c, struct config *next, struct buf *ret_kept, struct err *err)
{
    for (size_t i = 0; i < config_members_len; i++) {
        const struct config_member *m = &config_members[i];

        if (same(c, next, m)) {
            continue;
        }
        if (m->reload) {
            move(c, next, m);
        } else if (buf_printf(ret_kept, "%s\n", m->path) < 0) {
            return no_memory(err);
        }
    }
    settle_images(c);
    return 0;
}
