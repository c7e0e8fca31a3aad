#include "sup/template-upkeep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

#include "sup/prefix.h"
#include "sup/template-internal.h"
#include "sys/fd.h"

const char *template_state_name(enum template_state state)
{
    static const char *const names[] = {
        [TEMPLATE_GOOD] = "good",
        [TEMPLATE_OTHER_BOOT] = "other_boot",
        [TEMPLATE_DAMAGED] = "damaged",
    };

    return names[state];
}

/* 0 with the verdict on the template in item, or the failure to look. */
static int judge(struct template_item *item, int r, struct err *err)
{
    auto_buf struct buf shown = BUF_INIT((size_t)4 * ERR_MSG_MAX + 1);
    const size_t known = strlen(TEMPLATE_UNUSED);
    const char *why = err->msg + (strncmp(err->msg, TEMPLATE_UNUSED, known) == 0 ? known : 0);

    if (r == 0 || err->class != ERR_USAGE) {
        return r;
    }
    item->state = err->errnum == ESTALE ? TEMPLATE_OTHER_BOOT : TEMPLATE_DAMAGED;
    (void)!str_escape(&shown, why, strlen(why), false);
    (void)snprintf(item->why, sizeof(item->why), "%s",
                   shown.data != NULL ? (const char *)shown.data : "");
    *err = (struct err)ERR_INIT;
    return 0;
}

static int check_memory(int fd, const struct template_footer *f, struct err *err)
{
    struct digest is = {.hex = ""};
    int r = template_digest_memory(fd, f->memory_bytes, &is, err);

    return r < 0 || digest_equal(&is, &f->memory)
               ? r
               : err_set(err, ERR_USAGE, EBADMSG, "its memory has another digest");
}

/* Damage comes before another boot: that one is only told of a template that is whole. */
static int examine(int dirfd, const struct digest *key, bool all, struct template_item *ret,
                   struct err *err)
{
    struct template_item item = {.key = *key};
    struct stat st = {0};
    auto_fd int fd = -1;
    int r = 0;

    if (fstatat(dirfd, key->hex, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        return err_sys(err, "template '%s'", key->hex);
    }
    item.disk_bytes = (uint64_t)st.st_blocks * 512;
    item.used = template_last_use(&st) / NS_PER_S;
    r = template_open(dirfd, key, &fd, &item.footer, err);
    if (r == -ELOOP) { /* a link in its place */
        err->class = ERR_USAGE;
    }
    if (r == 0 && all) {
        r = template_check_state(fd, &item.footer, err);
    }
    if (r == 0 && all) {
        r = check_memory(fd, &item.footer, err);
    }
    if (r == 0) {
        r = template_check_boot(&item.footer, err);
    }
    r = judge(&item, r, err);
    if (r == 0 && item.state == TEMPLATE_DAMAGED) {
        item.footer = (struct template_footer){.tsc_khz = 0};
    }
    *ret = item;
    return r;
}

static int last_used_first(const void *a, const void *b)
{
    const struct template_item *x = a;
    const struct template_item *y = b;

    if (x->used != y->used) {
        return x->used > y->used ? -1 : 1;
    }
    return strcmp(x->key.hex, y->key.hex);
}

int template_list(const struct store *store, struct template_item **ret, size_t *ret_n,
                  struct err *err)
{
    auto_free struct template_item *items = calloc(TEMPLATE_LIST_MAX, sizeof(*items));
    auto_dir DIR *dir = NULL;
    const struct dirent *e = NULL;
    auto_fd int dirfd = -1;
    auto_fd int again = -1;
    size_t n = 0;
    int r = items == NULL ? err_set(err, ERR_HOST, ENOMEM, "out of memory")
                          : template_open_dir(store, &dirfd, err);

    if (r == 0) {
        r = fd_reopen(dirfd, O_RDONLY | O_DIRECTORY, &again, err);
    }
    if (r < 0) {
        return r;
    }
    dir = fdopendir(again);
    if (dir == NULL) {
        return err_sys(err, "list the templates");
    }
    (void)STEAL_FD(&again);
    while (n < TEMPLATE_LIST_MAX &&
           (e = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe): own DIR */
        struct digest key = {.hex = ""};

        if (!digest_is_hex(e->d_name)) {
            continue;
        }
        memcpy(key.hex, e->d_name, sizeof(key.hex));
        r = examine(dirfd, &key, false, &items[n], err);
        if (r == -ENOENT) { /* removed while we looked */
            *err = (struct err)ERR_INIT;
            continue;
        }
        if (r < 0) {
            return r;
        }
        n++;
    }
    qsort(items, n, sizeof(*items), last_used_first);
    *ret = STEAL_PTR(&items);
    *ret_n = n;
    return 0;
}

int template_find(const struct store *store, const char *prefix, struct digest *ret,
                  struct err *err)
{
    static const struct prefix_kind kind = {.thing = "template",
                                            .article = "a",
                                            .name = "key",
                                            .list = "airlock template list",
                                            .digits = DIGEST_HEX_SIZE - 1};
    auto_free struct template_item *items = NULL;
    struct prefix p;
    size_t n = 0;
    int r = prefix_begin(&p, &kind, prefix, err);

    if (r == 0) {
        r = template_list(store, &items, &n, err);
    }
    for (size_t i = 0; i < n; i++) {
        prefix_offer(&p, items[i].key.hex);
    }
    if (r == 0) {
        r = prefix_end(&p, err);
    }
    if (r == 0) {
        (void)snprintf(ret->hex, sizeof(ret->hex), "%s", p.found);
    }
    return r;
}

int template_verify(const struct store *store, const struct digest *key, struct template_item *ret,
                    struct err *err)
{
    auto_fd int dirfd = -1;
    int r = template_open_dir(store, &dirfd, err);

    return r < 0 ? r : examine(dirfd, key, true, ret, err);
}

int template_remove(const struct store *store, const struct digest *key, struct err *err)
{
    auto_fd int dirfd = -1;
    auto_fd int lock = -1;
    int r = template_open_dir(store, &dirfd, err);

    if (r == 0) {
        r = template_lock(dirfd, NULL, NULL, &lock, err);
    }
    if (r < 0) {
        return r;
    }
    if (unlinkat(dirfd, key->hex, 0) < 0 && errno != ENOENT) {
        return err_sys(err, "remove template '%s'", key->hex);
    }
    return 0;
}
