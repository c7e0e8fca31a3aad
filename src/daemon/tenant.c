/*
 * How it works: all tokens are in memory, sorted by id. An id is no secret, so it is looked up by
 * comparison; the secret only ever as its digest, in constant time, and against a digest that
 * matches nothing if there is no such id. A failed look at the directory leaves no tokens at all, so that
 * nobody is let in by what may have been revoked.
 *
 * A change is seen by the directory's time of change, which the kernel counts in ticks: a second
 * change within a tick of the first leaves it as it was. So a directory that changed just before it
 * was read is read again. A file that was changed in place is seen by its own times. Times that lie ahead
 * tell that the clock was set back: a change sets them back, too, so that they are no reason to read all
 * with every request until the clock has come there again.
 */
#include "daemon/tenant.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/tenant-file.h"
#include "job/text.h"
#include "sys/clock.h"

#define FILES_EVERY_NS NS_PER_S
#define TICK_NS        (50 * NS_PER_MS) /* of file times: 10 ms at most, and some */
#define FILE_NAME_SIZE 256u

const struct tenant_quota tenant_quota_default = {
    .concurrent = 16,
    .queued = 256,
    .rate_burst = 60, /* of a rate that a token gives; none by itself: the queue is bounded */
    .kept_bytes = GIB,
    .isolation = SPEC_ISOLATION_HARDWARE,
};

/* What tells that a file is another one, or has other contents. */
struct stamp {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec changed, modified;
};

struct file {
    char name[FILE_NAME_SIZE];
    struct stamp stamp;
    bool usable;
    struct token token; /* if usable */
};

struct tenants {
    int tokens_fd; /* borrowed */
    struct tenant_quota defaults;
    void (*complain)(void *ctx, const char *text);
    void *ctx;
    struct file *files; /* sorted by name, and so by id */
    size_t n, cap;
    bool loaded;      /* else nothing is in files */
    bool again;       /* the directory had just changed when it was read */
    bool ahead;       /* a time lies ahead of the clock's */
    struct stamp dir; /* before it was read */
    uint64_t files_seen_ns;
    struct digest nobody; /* of no secret */
};

void tenant_local(const struct tenant_quota *quota, struct tenant *ret)
{
    *ret = (struct tenant){.name = TENANT_LOCAL, .quota = *quota};
    ret->quota.isolation = SPEC_ISOLATION_EMULATED;
}

static struct stamp stamp_of(const struct stat *st)
{
    return (struct stamp){
        .dev = st->st_dev,
        .ino = st->st_ino,
        .size = st->st_size,
        .changed = st->st_ctim,
        .modified = st->st_mtim,
    };
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same_stamp(const struct stamp *a, const struct stamp *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           same_time(&a->changed, &b->changed) && same_time(&a->modified, &b->modified);
}

struct loading {
    struct tenants *t;
    struct file *files;
    size_t n, cap;
    bool again, ahead;
};

static void note_time(struct loading *l, const struct stamp *s)
{
    uint64_t now = clock_ns(CLOCK_REALTIME);
    uint64_t then = (uint64_t)s->changed.tv_sec * NS_PER_S + (uint64_t)s->changed.tv_nsec;

    l->ahead = l->ahead || then > now + TICK_NS;
    l->again = l->again || (then + TICK_NS > now && then <= now + TICK_NS);
}

/* --- reading --- */

static const struct file *find_name(const struct file *files, size_t n, const char *name)
{
    size_t low = 0;

    while (low < n) {
        size_t middle = low + (n - low) / 2;
        int order = strcmp(files[middle].name, name);

        if (order == 0) {
            return &files[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            n = middle;
        }
    }
    return NULL;
}

static int add_file(struct loading *l, const struct file *file, struct err *err)
{
    if (l->n == l->cap) {
        size_t cap = l->cap == 0 ? 16 : 2 * l->cap;
        struct file *files = reallocarray(l->files, cap, sizeof(*files));

        if (files == NULL) {
            return err_sys_num(err, ENOMEM, "keep the tokens");
        }
        l->files = files;
        l->cap = cap;
    }
    l->files[l->n] = *file;
    l->n++;
    return 0;
}

static void complain(const struct tenants *t, const char *name, const struct err *why)
{
    char text[ERR_MSG_MAX + TEXT_MAX + 64];

    if (t->complain != NULL) {
        (void)snprintf(text, sizeof(text), "token file '%s' is not used: %s", text_of_str(name).s,
                       why->msg);
        t->complain(t->ctx, text);
    }
}

static int load_file(void *ctx, const char *name, struct err *err)
{
    struct loading *l = ctx;
    const struct file *before = find_name(l->t->files, l->t->n, name);
    struct file file = {0};
    struct err why = ERR_INIT;
    struct stat st = {0};
    char id[FILE_NAME_SIZE];

    (void)snprintf(file.name, sizeof(file.name), "%s", name);
    (void)snprintf(id, sizeof(id), "%.*s", (int)(strlen(file.name) - strlen(".json")), file.name);
    if (fstatat(l->t->tokens_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno == ENOENT) { /* revoked meanwhile */
            return 0;
        }
        (void)err_sys(&why, "look at it");
    } else {
        file.stamp = stamp_of(&st);
        note_time(l, &file.stamp);
        if (token_load(l->t->tokens_fd, id, &file.token, &why) == -ENOENT) {
            return 0;
        }
    }
    file.usable = why.class == ERR_NONE;
    if (!file.usable && (before == NULL || !same_stamp(&before->stamp, &file.stamp))) {
        complain(l->t, name, &why);
    }
    return add_file(l, &file, err);
}

static void forget(struct tenants *t)
{
    free(t->files);
    t->files = NULL;
    t->n = 0;
    t->loaded = false;
}

static int look_at_dir(const struct tenants *t, struct stamp *ret, struct err *err)
{
    struct stat st = {0};

    if (fstat(t->tokens_fd, &st) < 0) {
        return err_sys(err, "look at the tokens' directory");
    }
    *ret = stamp_of(&st);
    return 0;
}

/* All anew. What is kept if it fails is nothing. */
static int load(struct tenants *t, uint64_t now_ns, struct err *err)
{
    struct loading l = {.t = t};
    int r = look_at_dir(t, &t->dir, err);

    if (r == 0) {
        note_time(&l, &t->dir);
        r = token_each(t->tokens_fd, load_file, &l, err);
    }
    forget(t);
    if (r < 0) {
        free(l.files);
        return err_wrap(err, "read the tokens");
    }
    t->files = l.files;
    t->n = l.n;
    t->again = l.again;
    t->ahead = l.ahead;
    t->files_seen_ns = now_ns;
    t->loaded = true;
    return 0;
}

static bool files_changed(const struct tenants *t)
{
    struct stat st = {0};
    struct stamp stamp;

    for (size_t i = 0; i < t->n; i++) {
        if (fstatat(t->tokens_fd, t->files[i].name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            return true;
        }
        stamp = stamp_of(&st);
        if (!same_stamp(&stamp, &t->files[i].stamp)) {
            return true;
        }
    }
    return false;
}

int tenants_refresh(struct tenants *t, uint64_t now_ns, struct err *err)
{
    struct stamp dir;
    int r = 0;

    if (t->tokens_fd < 0) {
        return 0;
    }
    r = look_at_dir(t, &dir, err);
    if (r < 0) {
        forget(t);
        return r;
    }
    if (!t->loaded || t->again || !same_stamp(&dir, &t->dir)) {
        return load(t, now_ns, err);
    }
    if (now_ns - t->files_seen_ns >= FILES_EVERY_NS) {
        t->files_seen_ns = now_ns;
        return t->ahead || files_changed(t) ? load(t, now_ns, err) : 0;
    }
    return 0;
}

int tenants_new(const struct tenants_config *config, struct tenants **ret, struct err *err)
{
    auto_tenants struct tenants *t = calloc(1, sizeof(*t));
    int r = 0;

    if (t == NULL) {
        return err_sys_num(err, ENOMEM, "keep the tokens");
    }
    t->tokens_fd = config->tokens_fd;
    t->defaults = config->defaults != NULL ? *config->defaults : tenant_quota_default;
    t->complain = config->complain;
    t->ctx = config->ctx;
    memset(t->nobody.hex, '-', sizeof(t->nobody.hex) - 1);
    if (t->tokens_fd >= 0) {
        r = load(t, 0, err);
    }
    if (r == 0) {
        *ret = STEAL_PTR(&t);
    }
    return r;
}

void tenants_free(struct tenants *t)
{
    if (t != NULL) {
        free(t->files);
        free(t);
    }
}

void tenants_set_defaults(struct tenants *t, const struct tenant_quota *defaults)
{
    t->defaults = *defaults;
}

bool tenants_empty(const struct tenants *t)
{
    return t->tokens_fd < 0 || (t->loaded && t->n == 0);
}

/* --- looking up --- */

/* Of several tokens of a tenant the newest one's; of two as new that with the larger id. */
static const struct token *newest(const struct tenants *t, const char *name)
{
    const struct token *best = NULL;

    for (size_t i = 0; i < t->n; i++) {
        const struct file *f = &t->files[i];

        if (f->usable && strcmp(f->token.tenant, name) == 0 &&
            (best == NULL || f->token.created_ms >= best->created_ms)) {
            best = &f->token;
        }
    }
    return best;
}

int tenants_by_name(const struct tenants *t, const char *name, struct tenant *ret)
{
    const struct token *token = newest(t, name);

    if (token == NULL) {
        return 0;
    }
    *ret = (struct tenant){0};
    memcpy(ret->name, token->tenant, sizeof(ret->name));
    token_quota(token, &t->defaults, &ret->quota);
    return 1;
}

int tenants_find(struct tenants *t, const char *authorization, uint64_t now_ns, struct tenant *ret,
                 struct err *err)
{
    struct digest shown = {0};
    char id[TOKEN_ID_SIZE];
    char name[TOKEN_ID_SIZE + sizeof(".json")];
    const struct file *file = NULL;
    int r = tenants_refresh(t, now_ns, err);
    bool right = false;

    if (r < 0) {
        return r;
    }
    if (authorization == NULL || !token_from_header(authorization, id, &shown)) {
        return 0;
    }
    (void)snprintf(name, sizeof(name), "%s.json", id);
    file = find_name(t->files, t->n, name);
    if (file != NULL && !file->usable) {
        file = NULL;
    }
    right = token_digest_equal(&shown, file != NULL ? &file->token.digest : &t->nobody);
    return right && file != NULL ? tenants_by_name(t, file->token.tenant, ret) : 0;
}
