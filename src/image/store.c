/*
 * How it works: an image is used through its manifest only, and a manifest is renamed into place
 * after everything it names was flushed. So a crash leaves at most an object nobody names, which
 * the next store_collect() removes, or rubbish in tmp/, which the next holder of the lock removes.
 * Readers take no lock: an object that an update removed between manifest and open is looked up
 * once more through the new manifest.
 */
#include "image/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sys/fd.h"
#include "sys/memo.h"

#define STORE_LIST_MAX 4096

static int no_memory(struct err *err)
{
    return err_set(err, ERR_HOST, ENOMEM, "out of memory");
}

static int default_path(char **ret, struct err *err)
{
    const char *data = getenv("XDG_DATA_HOME"); /* NOLINT(concurrency-mt-unsafe): one thread */
    const char *home = getenv("HOME");          /* NOLINT(concurrency-mt-unsafe): one thread */
    int n = 0;

    if (geteuid() == 0) {
        n = asprintf(ret, "/var/lib/airlock");
    } else if (data != NULL && data[0] == '/') {
        n = asprintf(ret, "%s/airlock", data);
    } else if (home != NULL && home[0] == '/') {
        n = asprintf(ret, "%s/.local/share/airlock", home);
    } else {
        return err_usage(err, "no place for the state: neither XDG_DATA_HOME nor HOME is set; give "
                              "one with --state DIR");
    }
    if (n < 0) {
        *ret = NULL;
        return no_memory(err);
    }
    return 0;
}

/* Others must not be able to swap what machines boot from. */
static int check_owner(int fd, const char *path, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0) {
        return err_sys(err, "stat '%s'", path);
    }
    if (st.st_uid != geteuid()) {
        return err_set(err, ERR_USAGE, EPERM,
                       "state directory '%s' belongs to uid %u, not to you (uid %u); give another "
                       "one with --state DIR",
                       path, (unsigned)st.st_uid, (unsigned)geteuid());
    }
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return err_set(err, ERR_USAGE, EPERM,
                       "state directory '%s' can be written by others (mode %04o); make it private "
                       "with: chmod 700 '%s'",
                       path, (unsigned)(st.st_mode & 07777), path);
    }
    return 0;
}

static int open_subdir(int dirfd, const char *name, int *ret, struct err *err)
{
    if (mkdirat(dirfd, name, 0700) < 0 && errno != EEXIST) {
        return err_sys(err, "create '%s' in the state directory", name);
    }
    return fd_open_nolink(dirfd, name, O_RDONLY | O_DIRECTORY, 0, ret, err);
}

static int make_state(const char *path, struct err *err)
{
    auto_free char *parent = strdup(path);
    char *slash = NULL;
    int r = 0;

    if (parent == NULL) {
        return no_memory(err);
    }
    for (size_t len = strlen(parent); len > 1 && parent[len - 1] == '/'; len--) {
        parent[len - 1] = '\0';
    }
    slash = strrchr(parent, '/');
    if (slash != NULL && slash != parent) {
        *slash = '\0';
        r = fd_mkdir_parents(parent, err);
        if (r < 0) {
            return r;
        }
    }
    if (mkdir(path, 0700) < 0 && errno != EEXIST) {
        return err_sys(err, "create state directory '%s'", path);
    }
    return 0;
}

int store_open(const char *path, struct store *ret, struct err *err)
{
    auto_store struct store store = STORE_INIT;
    auto_free char *fallback = NULL;
    auto_fd int objects = -1;
    auto_fd int images = -1;
    int r = 0;

    if (path == NULL) {
        r = default_path(&fallback, err);
        if (r != 0 || fallback == NULL) {
            return r;
        }
        path = fallback;
    }
    if (path[0] == '\0') {
        return err_usage(err, "the name of the state directory is empty");
    }
    r = make_state(path, err);
    if (r < 0) {
        return r;
    }
    r = fd_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, &store.dirfd, err);
    if (r < 0) {
        return err_wrap(err, "state directory");
    }
    r = check_owner(store.dirfd, path, err);
    if (r < 0) {
        return r;
    }
    store.path = realpath(path, NULL);
    if (store.path == NULL) {
        return err_sys(err, "state directory '%s'", path);
    }
    r = open_subdir(store.dirfd, "tmp", &store.tmpfd, err);
    if (r == 0) {
        r = open_subdir(store.dirfd, "objects", &objects, err);
    }
    if (r == 0) {
        r = open_subdir(store.dirfd, "images", &images, err);
    }
    if (r < 0) {
        return err_wrap(err, "state directory '%s'", path);
    }
    *ret = store;
    store = (struct store)STORE_INIT;
    return 0;
}

void store_fini(struct store *store)
{
    free(store->path);
    store->path = NULL;
    fd_close_p(&store->dirfd);
    fd_close_p(&store->tmpfd);
}

void store_boot_fini(struct store_boot *boot)
{
    fd_close_p(&boot->kernel_fd);
    fd_close_p(&boot->initramfs_fd);
    fd_close_p(&boot->root_fd);
    free(boot->kernel_version);
    free(boot->image);
    boot->kernel_version = NULL;
    boot->image = NULL;
}

int store_path(const struct store *store, const char *name, char **ret, struct err *err)
{
    if (asprintf(ret, "%s/%s", store->path, name) < 0) {
        *ret = NULL;
        return no_memory(err);
    }
    return 0;
}

void store_list_free_p(char ***list)
{
    for (size_t i = 0; *list != NULL && (*list)[i] != NULL; i++) {
        free((*list)[i]);
    }
    free(*list);
    *list = NULL;
}

static int by_string(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names in directory fd that end with suffix, without it; sorted. */
static int list_dir(int fd, const char *suffix, char ***ret, struct err *err)
{
    auto_store_list char **list = calloc(STORE_LIST_MAX + 1, sizeof(*list));
    auto_dir DIR *dir = NULL;
    auto_fd int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct dirent *e = NULL;
    size_t n = 0;

    if (list == NULL) {
        return no_memory(err);
    }
    dir = own >= 0 ? fdopendir(own) : NULL;
    if (dir == NULL) {
        return err_sys(err, "list the state directory");
    }
    own = -1;
    while ((e = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe): own DIR */
        size_t len = strlen(e->d_name);
        size_t cut = strlen(suffix);

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || len <= cut ||
            strcmp(e->d_name + len - cut, suffix) != 0) {
            continue;
        }
        if (n >= STORE_LIST_MAX) {
            return err_set(err, ERR_LIMIT, E2BIG, "more than %d entries in the state directory",
                           STORE_LIST_MAX);
        }
        list[n] = strndup(e->d_name, len - cut);
        if (list[n++] == NULL) {
            return no_memory(err);
        }
    }
    qsort(list, n, sizeof(*list), by_string);
    *ret = STEAL_PTR(&list);
    return 0;
}

static int empty_tmp_once(const struct store *store, struct err *err)
{
    auto_store_list char **names = NULL;
    int r = list_dir(store->tmpfd, "", &names, err);

    for (size_t i = 0; r == 0 && names[i] != NULL; i++) {
        r = fd_remove_tree(store->tmpfd, names[i], err);
    }
    return r;
}

/* Helpers of a builder that was killed may still write for a moment. */
static int empty_tmp(const struct store *store, struct err *err)
{
    const struct timespec pause = {.tv_nsec = 200 * (long)NS_PER_MS};

    for (int attempt = 0;; attempt++) {
        struct err why = ERR_INIT;
        int r = empty_tmp_once(store, &why);

        if (r == 0) {
            return 0;
        }
        if (attempt >= 50) {
            *err = why;
            return err_wrap(err, "clean up after an interrupted build");
        }
        (void)nanosleep(&pause, NULL);
    }
}

int store_lock(const struct store *store, bool wait, int *ret_lock, struct err *err)
{
    auto_fd int fd = -1;
    int r = fd_open_nolink(store->dirfd, "lock", O_RDWR | O_CREAT, 0600, &fd, err);

    if (r < 0) {
        return err_wrap(err, "state directory '%s'", store->path);
    }
    while (flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB)) < 0) {
        if (errno == EWOULDBLOCK) {
            return err_set(err, ERR_LIMIT, EWOULDBLOCK,
                           "another airlock is building or removing images in '%s'; try again when "
                           "it has ended",
                           store->path);
        }
        if (errno != EINTR) {
            return err_sys(err, "lock state directory '%s'", store->path);
        }
    }
    r = empty_tmp(store, err);
    if (r < 0) {
        return r;
    }
    *ret_lock = STEAL_FD(&fd);
    return 0;
}

int store_put(const struct store *store, const char *name, struct object *ret, struct err *err)
{
    auto_fd int fd = -1;
    auto_fd int objects = -1;
    struct object object = {0};
    int r = fd_open_nolink(store->tmpfd, name, O_RDONLY, 0, &fd, err);

    if (r < 0) {
        return r;
    }
    r = digest_of_fd(fd, &object.digest, &object.bytes, err);
    if (r < 0) {
        return r;
    }
    if (fchmod(fd, 0444) < 0 || fsync(fd) < 0) {
        return err_sys(err, "flush '%s'", name);
    }
    r = fd_open_nolink(store->dirfd, "objects", O_RDONLY | O_DIRECTORY, 0, &objects, err);
    if (r < 0) {
        return r;
    }
    if (renameat(store->tmpfd, name, objects, object.digest.hex) < 0 || fsync(objects) < 0) {
        return err_sys(err, "store '%s'", name);
    }
    *ret = object;
    return 0;
}

#define MEMO_NAME_SIZE (sizeof("object-") + DIGEST_HEX_SIZE)

static void memo_name(const struct object *object, char ret[MEMO_NAME_SIZE])
{
    (void)snprintf(ret, MEMO_NAME_SIZE, "object-%s", object->digest.hex);
}

/* A wrong one is never remembered as right, even if its file did not change since: a bad disk. */
static int hash_and_compare(const struct store *store, int fd, const struct object *object,
                            bool *ret, struct err *err)
{
    struct digest digest = {0};
    char name[MEMO_NAME_SIZE];
    uint64_t bytes = 0;
    int r = digest_of_fd(fd, &digest, &bytes, err);

    *ret = r == 0 && digest_equal(&digest, &object->digest) && bytes == object->bytes;
    if (r == 0 && !*ret) {
        memo_name(object, name);
        memo_forget(store->dirfd, name);
    }
    return r;
}

/*
 * The same, but a file that had the right digest once is not read again while it is the same one
 * (memo.h): hashing some 100 MB at the start of every job would cost it 50 ms.
 */
static int compare_or_remember(const struct store *store, int fd, const char *path,
                               const struct object *object, bool *ret, struct err *err)
{
    auto_memo struct memo memo = MEMO_INIT;
    auto_buf struct buf text = BUF_INIT(DIGEST_HEX_SIZE);
    char name[MEMO_NAME_SIZE];
    int r = memo_begin(&memo, err);

    if (r == 0) {
        r = memo_add_fd(&memo, path, fd, err);
    }
    if (r < 0) {
        return r;
    }
    memo_name(object, name);
    if (memo_get(store->dirfd, name, &memo, &text)) {
        *ret = true;
        return 0;
    }
    r = hash_and_compare(store, fd, object, ret, err);
    if (r == 0 && *ret) {
        memo_put(store->dirfd, name, &memo, "", 0);
    }
    return r;
}

/* What is opened, for messages. */
struct what {
    const char *name;
    const char *remedy;
};

static int open_object(const struct store *store, const struct object *object, struct what what,
                       bool remember, int *ret_fd, struct err *err)
{
    auto_fd int fd = -1;
    char path[sizeof("objects/") + DIGEST_HEX_SIZE];
    struct err why = ERR_INIT;
    bool same = false;
    struct stat st;
    int r = 0;

    (void)snprintf(path, sizeof(path), "objects/%s", object->digest.hex);
    r = fd_open_nolink(store->dirfd, path, O_RDONLY | O_NONBLOCK, 0, &fd, &why);
    if (r == -ENOENT) {
        return err_set(err, ERR_USAGE, EBADMSG, "%s is missing (%s/%s); rebuild it with: %s",
                       what.name, store->path, path, what.remedy);
    }
    if (r < 0) {
        *err = why;
        return err_wrap(err, "%s", what.name);
    }
    if (fstat(fd, &st) < 0) {
        return err_sys(err, "%s", what.name);
    }
    if (S_ISREG(st.st_mode) && (uint64_t)st.st_size == object->bytes) {
        r = remember ? compare_or_remember(store, fd, path, object, &same, err)
                     : hash_and_compare(store, fd, object, &same, err);
        if (r < 0) {
            return err_wrap(err, "%s", what.name);
        }
    }
    if (!same) {
        return err_set(err, ERR_USAGE, EBADMSG,
                       "%s is corrupt (%s/%s does not match its digest); rebuild it with: %s",
                       what.name, store->path, path, what.remedy);
    }
    *ret_fd = STEAL_FD(&fd);
    return 0;
}

int store_open_object(const struct store *store, const struct object *object, const char *what,
                      const char *remedy, int *ret_fd, struct err *err)
{
    return open_object(store, object, (struct what){what, remedy}, false, ret_fd, err);
}

static int read_manifest(const struct store *store, const char *path, struct buf *json,
                         struct err *err)
{
    auto_fd int fd = -1;
    int r = fd_open_nolink(store->dirfd, path, O_RDONLY | O_NONBLOCK, 0, &fd, err);

    return r < 0 ? r : fd_read_all(fd, path, json, err);
}

/* Turns what went wrong with NAME's manifest into a message with its remedy. */
static int manifest_error(int r, const char *what, const char *name, struct err *err)
{
    struct err why = *err;
    bool builtin = strcmp(name, "python") == 0 || strcmp(name, "javascript") == 0 ||
                   strcmp(name, "kernel") == 0;

    *err = (struct err)ERR_INIT;
    if (r == -ENOENT) {
        return err_set(err, ERR_USAGE, ENOENT,
                       "%s was never built; build it with: airlock image build %s%s", what, name,
                       builtin ? "" : " --from python --packages ...");
    }
    if (why.class != ERR_HOST) {
        return err_set(err, ERR_USAGE, EBADMSG,
                       "%s: %.600s; rebuild it with: airlock image build %s%s", what, why.msg, name,
                       builtin ? "" : " --from python --packages ...");
    }
    *err = why;
    return err_wrap(err, "%s", what);
}

int store_read_image(const struct store *store, const char *name, struct image_manifest *ret,
                     struct err *err)
{
    auto_buf struct buf json = BUF_INIT(MANIFEST_MAX);
    auto_image_manifest struct image_manifest m = {0};
    char path[IMAGE_NAME_MAX + 32];
    char what[IMAGE_NAME_MAX + 32];
    int r = 0;

    if (!image_name_is_valid(name)) {
        return err_usage(err,
                         "'%.64s' is not a name for an image: a-z, 0-9, '.', '_' and '-', at most "
                         "%d characters, starting with a letter or digit",
                         name, IMAGE_NAME_MAX);
    }
    (void)snprintf(path, sizeof(path), "images/%s.json", name);
    (void)snprintf(what, sizeof(what), "image '%s'", name);
    r = read_manifest(store, path, &json, err);
    if (r == 0) {
        r = image_manifest_parse(&json, &m, err);
    }
    if (r == 0 && strcmp(m.name, name) != 0) {
        r = err_set(err, ERR_USAGE, EBADMSG, "the manifest is damaged: it is of image '%s'",
                    m.name);
    }
    if (r < 0) {
        return manifest_error(r, what, name, err);
    }
    *ret = m;
    m = (struct image_manifest){0};
    return 0;
}

int store_read_kernel(const struct store *store, struct kernel_manifest *ret, struct err *err)
{
    auto_buf struct buf json = BUF_INIT(MANIFEST_MAX);
    int r = read_manifest(store, "kernel.json", &json, err);

    if (r == 0) {
        r = kernel_manifest_parse(&json, ret, err);
    }
    return r < 0 ? manifest_error(r, "the guest kernel", "kernel", err) : 0;
}

int store_write_image(const struct store *store, const struct image_manifest *m, struct err *err)
{
    auto_buf struct buf json = BUF_INIT(MANIFEST_MAX);
    auto_fd int images = -1;
    char name[IMAGE_NAME_MAX + 8];
    int r = image_manifest_print(m, &json, err);

    if (r == 0) {
        r = fd_open_nolink(store->dirfd, "images", O_RDONLY | O_DIRECTORY, 0, &images, err);
    }
    if (r < 0) {
        return r;
    }
    (void)snprintf(name, sizeof(name), "%s.json", m->name);
    return fd_write_atomic(images, name, json.data, json.len, 0600, err);
}

int store_write_kernel(const struct store *store, const struct kernel_manifest *m, struct err *err)
{
    auto_buf struct buf json = BUF_INIT(MANIFEST_MAX);
    int r = kernel_manifest_print(m, &json, err);

    return r < 0 ? r : fd_write_atomic(store->dirfd, "kernel.json", json.data, json.len, 0600, err);
}

int store_list(const struct store *store, char ***ret, struct err *err)
{
    auto_fd int images = -1;
    auto_store_list char **all = NULL;
    size_t n = 0;
    int r = fd_open_nolink(store->dirfd, "images", O_RDONLY | O_DIRECTORY, 0, &images, err);

    if (r == 0) {
        r = list_dir(images, ".json", &all, err);
    }
    if (r != 0 || all == NULL) {
        return r;
    }
    for (size_t i = 0; all[i] != NULL; i++) {
        if (image_name_is_valid(all[i])) {
            all[n++] = all[i];
        } else {
            free(all[i]);
        }
    }
    all[n] = NULL;
    *ret = STEAL_PTR(&all);
    return 0;
}

/* Digests in use, at most three of the kernel and one of each image. */
struct refs {
    struct digest *v;
    size_t n;
};

static void refs_fini(struct refs *refs)
{
    free(refs->v);
}

static int collect_refs(const struct store *store, char *const *names, struct refs *refs,
                        struct err *err)
{
    auto_kernel_manifest struct kernel_manifest kernel = {0};
    size_t n = 0;
    int r = store_read_kernel(store, &kernel, err);

    while (names[n] != NULL) {
        n++;
    }
    refs->v = calloc(n + 3, sizeof(*refs->v));
    if (refs->v == NULL) {
        return -ENOMEM;
    }
    if (r == 0) {
        refs->v[refs->n++] = kernel.vmlinuz.digest;
        refs->v[refs->n++] = kernel.modules.digest;
        refs->v[refs->n++] = kernel.initramfs.digest;
    } else if (r != -ENOENT) {
        return r;
    }
    for (size_t i = 0; i < n; i++) {
        auto_image_manifest struct image_manifest m = {0};

        *err = (struct err)ERR_INIT;
        r = store_read_image(store, names[i], &m, err);
        if (r < 0) {
            return r;
        }
        refs->v[refs->n++] = m.root.digest;
    }
    return 0;
}

int store_collect(const struct store *store, struct err *err)
{
    on_scope_exit(refs_fini) struct refs refs = {0};
    auto_store_list char **names = NULL;
    auto_store_list char **objects = NULL;
    auto_fd int dir = -1;
    struct err damaged = ERR_INIT;
    int r = store_list(store, &names, err);

    if (r != 0 || names == NULL) {
        return r;
    }
    if (collect_refs(store, names, &refs, &damaged) < 0) {
        return 0;
    }
    r = fd_open_nolink(store->dirfd, "objects", O_RDONLY | O_DIRECTORY, 0, &dir, err);
    if (r == 0) {
        r = list_dir(dir, "", &objects, err);
    }
    for (size_t i = 0; r == 0 && objects != NULL && objects[i] != NULL; i++) {
        bool used = false;

        for (size_t k = 0; k < refs.n && !used; k++) {
            used = strcmp(refs.v[k].hex, objects[i]) == 0;
        }
        if (!used && unlinkat(dir, objects[i], 0) < 0 && errno != ENOENT) {
            return err_sys(err, "remove object '%s'", objects[i]);
        }
    }
    memo_clear(store->dirfd);
    return r;
}

int store_remove(const struct store *store, const char *name, struct err *err)
{
    bool kernel = strcmp(name, "kernel") == 0;
    char path[IMAGE_NAME_MAX + 32] = "kernel.json";

    if (!image_name_is_valid(name)) {
        return err_usage(err, "'%.64s' is not a name for an image", name);
    }
    if (!kernel) {
        (void)snprintf(path, sizeof(path), "images/%s.json", name);
    }
    if (unlinkat(store->dirfd, path, 0) < 0) {
        if (errno == ENOENT) {
            return err_set(err, ERR_USAGE, ENOENT,
                           "there is no image '%s'; see: airlock image list", name);
        }
        return err_sys(err, "remove image '%s'", name);
    }
    return store_collect(store, err);
}

/* Splits NAME[@sha256:HEX]; hex is "" without one. */
static int split_reference(const char *image, char name[IMAGE_NAME_MAX + 1], struct digest *hex,
                           struct err *err)
{
    size_t len = strcspn(image, "@");

    if (len > IMAGE_NAME_MAX) {
        return err_usage(err, "image '%.64s...' has too long a name", image);
    }
    (void)snprintf(name, IMAGE_NAME_MAX + 1, "%.*s", (int)len, image);
    *hex = (struct digest){0};
    if (image[len] == '\0') {
        return 0;
    }
    if (strncmp(image + len, "@sha256:", 8) != 0 || !digest_is_hex(image + len + 8)) {
        return err_usage(
            err,
            "image '%.160s': after '@' must come sha256: and 64 lower-case hexadecimal "
            "digits",
            image);
    }
    (void)snprintf(hex->hex, sizeof(hex->hex), "%s", image + len + 8);
    return 0;
}

static int open_kernel(const struct store *store, struct store_boot *boot, struct err *err)
{
    static const char remedy[] = "airlock image build kernel";
    auto_kernel_manifest struct kernel_manifest kernel = {0};
    int r = store_read_kernel(store, &kernel, err);

    if (r == 0) {
        r = open_object(store, &kernel.vmlinuz, (struct what){"the guest kernel", remedy}, true,
                        &boot->kernel_fd, err);
    }
    if (r == 0) {
        r = open_object(store, &kernel.initramfs, (struct what){"the guest's initramfs", remedy},
                        true, &boot->initramfs_fd, err);
    }
    if (r < 0) {
        return r;
    }
    boot->kernel = kernel.vmlinuz.digest;
    boot->initramfs = kernel.initramfs.digest;
    boot->kernel_version = STEAL_PTR(&kernel.package.version);
    return 0;
}

static int open_root(const struct store *store, const char *name, const struct digest *wanted,
                     struct store_boot *boot, struct err *err)
{
    auto_image_manifest struct image_manifest image = {0};
    char what[IMAGE_NAME_MAX + 32];
    char remedy[IMAGE_NAME_MAX + 32];
    int r = store_read_image(store, name, &image, err);

    if (r < 0) {
        return r;
    }
    if (wanted->hex[0] != '\0' && !digest_equal(wanted, &image.root.digest)) {
        return err_set(err, ERR_USAGE, ENOENT,
                       "image '%s' is sha256:%s now, not the sha256:%s asked for", name,
                       image.root.digest.hex, wanted->hex);
    }
    (void)snprintf(what, sizeof(what), "image '%s'", name);
    (void)snprintf(remedy, sizeof(remedy), "airlock image build %s", name);
    r = open_object(store, &image.root, (struct what){what, remedy}, true, &boot->root_fd, err);
    if (r < 0) {
        return r;
    }
    boot->root = image.root.digest;
    boot->image = STEAL_PTR(&image.name);
    return 0;
}

int store_open_boot(const struct store *store, const char *image, struct store_boot *ret,
                    struct err *err)
{
    char name[IMAGE_NAME_MAX + 1] = "";
    struct digest wanted = {0};
    int r = image != NULL ? split_reference(image, name, &wanted, err) : 0;

    if (r < 0) {
        return r;
    }
    for (int attempt = 0;; attempt++) {
        auto_store_boot struct store_boot boot = STORE_BOOT_INIT;
        struct err why = ERR_INIT;

        r = image != NULL ? open_root(store, name, &wanted, &boot, &why) : 0;
        if (r == 0) {
            r = open_kernel(store, &boot, &why);
        }
        if (r == 0) {
            *ret = boot;
            boot = (struct store_boot)STORE_BOOT_INIT;
            return 0;
        }
        if (r != -EBADMSG || attempt > 0) {
            *err = why;
            return r;
        }
    }
}
