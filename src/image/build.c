/*
 * How it works: our own apt (apt.h) says what the packages are, downloads and verifies them;
 * mmdebstrap then unpacks exactly those archives, from the same lists and without network, in its
 * mode that needs neither root nor namespaces and runs no maintainer script. rootfs.c does what
 * those scripts would have done, Python's byte code is compiled by the image's own Python, and
 * gensquashfs writes everything as root's with one fixed time, in sorted order: the same packages
 * give the same bytes whoever builds.
 */
#include "image/build.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "image/apt.h"
#include "image/build-internal.h"
#include "image/initramfs.h"
#include "image/rootfs.h"
#include "image/tool.h"
#include "sys/fd.h"
#include "sys/memo.h"

#define LISTS_FRESH_S 3600
#define MTIME         "mtime=1577836800,uid=0,gid=0,mode=0755"
#define LIBDIR        "lib/x86_64-linux-gnu"

static const char *const python_packages[] = {"base-files", "libc-bin",          "dash",
                                              "coreutils",  "netbase",           "tzdata",
                                              "python3",    "python3-distutils", NULL};
static const char *const javascript_packages[] = {"base-files", "libc-bin", "dash",   "coreutils",
                                                  "netbase",    "tzdata",   "nodejs", NULL};
static const struct image_base bases[] = {
    {"python", python_packages},
    {"javascript", javascript_packages},
};

static int no_memory(struct err *err)
{
    return err_set(err, ERR_HOST, ENOMEM, "out of memory");
}

void build_step(const struct build_progress *progress, const char *text)
{
    if (progress->step != NULL) {
        progress->step(progress->ctx, text);
    }
}

static void step(const struct build_progress *progress, const char *image, const char *what)
{
    char text[128];

    (void)snprintf(text, sizeof(text), "%.64s: %s", image, what);
    build_step(progress, text);
}

const struct image_base *image_base_get(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(bases); i++) {
        if (strcmp(bases[i].name, name) == 0) {
            return &bases[i];
        }
    }
    return NULL;
}

int image_base_packages(const struct image_base *base, const char *const *extra, const char ***ret,
                        struct err *err)
{
    size_t n = 0;
    size_t n_extra = 0;
    auto_free const char **names = NULL;

    while (base->packages[n] != NULL) {
        n++;
    }
    for (; extra != NULL && extra[n_extra] != NULL; n_extra++) {
        if (!package_name_is_valid(extra[n_extra])) {
            return err_usage(err, "'%.128s' is not the name of a Debian package", extra[n_extra]);
        }
    }
    if (n + n_extra > PACKAGES_MAX) {
        return err_set(err, ERR_LIMIT, E2BIG, "more than %u packages", PACKAGES_MAX);
    }
    names = calloc(n + n_extra + 1, sizeof(*names));
    if (names == NULL) {
        return no_memory(err);
    }
    memcpy(names, base->packages, n * sizeof(*names));
    for (size_t i = 0; i < n_extra; i++) {
        names[n + i] = extra[i];
    }
    *ret = STEAL_PTR(&names);
    return 0;
}

/* One image in the making. */
struct builder {
    const struct store *store;
    const struct apt *apt;
    const struct build_progress *progress;
    const char *image;
    char work[32]; /* directory below STATE/tmp: debs/, root/, root.sqfs */
};

/*
 * A name of its own: helpers of a build that was killed may run on for a moment, and must not write
 * into the next one.
 */
static int make_work(struct builder *b, struct err *err)
{
    uint64_t salt = 0;

    if (getrandom(&salt, sizeof(salt), 0) != (ssize_t)sizeof(salt)) {
        return err_sys(err, "getrandom");
    }
    (void)snprintf(b->work, sizeof(b->work), "build-%016" PRIx64, salt);
    if (mkdirat(b->store->tmpfd, b->work, 0700) < 0) {
        return err_sys(err, "create '%s/tmp/%s'", b->store->path, b->work);
    }
    return 0;
}

/* Absolute path of NAME in the work directory. */
static int work_path(const struct builder *b, const char *name, char **ret, struct err *err)
{
    if (asprintf(ret, "%s/%s/%s", b->apt->tmpdir, b->work, name) < 0) {
        *ret = NULL;
        return no_memory(err);
    }
    return 0;
}

/* Hard links of the set's archives in debs/, for mmdebstrap to take. */
static int gather(const struct builder *b, const struct package_set *set, struct err *err)
{
    auto_fd int debs = -1;
    char path[64];
    int r = 0;

    (void)snprintf(path, sizeof(path), "%s/debs", b->work);
    if (mkdirat(b->store->tmpfd, path, 0700) < 0) {
        return err_sys(err, "create '%s/tmp/%s'", b->store->path, path);
    }
    r = fd_open_nolink(b->store->tmpfd, path, O_RDONLY | O_DIRECTORY, 0, &debs, err);
    for (size_t i = 0; r == 0 && i < set->n; i++) {
        char name[APT_FILE_MAX];

        apt_file_name(&set->v[i], name);
        if (linkat(b->apt->archives, name, debs, name, 0) < 0) {
            return err_sys(err, "link '%s'", name);
        }
    }
    return r;
}

/* Comma-separated list of the set's names behind prefix. */
static int join_names(const char *prefix, const struct package_set *set, struct buf *out,
                      struct err *err)
{
    int r = buf_printf(out, "%s", prefix);

    for (size_t i = 0; r == 0 && i < set->n; i++) {
        r = buf_printf(out, "%s%s", i > 0 ? "," : "", set->v[i].name);
    }
    return r < 0 ? err_set(err, ERR_HOST, -r, "too many packages") : 0;
}

static int unpack(const struct builder *b, const struct package_set *set, const char *root,
                  struct err *err)
{
    const struct apt *apt = b->apt;
    /* Merged /usr first, so that nothing is unpacked beside it; then our lists and archives. */
    static const char hook[] =
        "--setup-hook=set -e; cd \"$1\"; mkdir -p usr/bin usr/sbin usr/lib usr/lib64 "
        "var/lib/apt/lists var/cache/apt/archives/partial; "
        "for d in bin sbin lib lib64; do ln -s usr/$d $d; done; "
        "cp -l -- \"$AIRLOCK_APT\"/lists/*_* var/lib/apt/lists/; "
        "cp -l -- \"$AIRLOCK_DEBS\"/*.deb var/cache/apt/archives/";
    auto_buf struct buf out = BUF_INIT(TOOL_OUT_MAX);
    auto_buf struct buf include = BUF_INIT(128 * KIB);
    auto_free char *conf = NULL;
    auto_free char *lists = NULL;
    auto_free char *debs = NULL;
    auto_free char *sources = NULL;
    int r = join_names("--include=", set, &include, err);

    if (r < 0) {
        return r;
    }
    if (asprintf(&conf, "--aptopt=%s/transport.conf", apt->dir) < 0 ||
        asprintf(&lists, "AIRLOCK_APT=%s", apt->dir) < 0 ||
        asprintf(&debs, "AIRLOCK_DEBS=%s/%s/debs", apt->tmpdir, b->work) < 0 ||
        asprintf(&sources, "%s/sources.list", apt->dir) < 0) {
        return no_memory(err);
    }
    return tool_run(
        &(struct tool){
            .tmpdir = apt->tmpdir,
            .env = (const char *const[]){lists, debs, NULL},
            .argv =
                (const char *const[]){
                    "mmdebstrap", "--mode=chrootless", "--variant=extract", "--format=directory",
                    "--skip=update,check/signed-by,essential/unlink,output/dev", "--quiet",
                    "--architectures=amd64",
                    "--keyring=/usr/share/keyrings/debian-archive-keyring.gpg",
                    "--aptopt=APT::Install-Recommends \"false\"",
                    "--aptopt=Acquire::Languages \"none\"", "--aptopt=APT::Sandbox::User \"\"",
                    conf, hook, (const char *)include.data, apt->suite, root, sources, NULL}},
        &out, err);
}

/* usr/bin/python3.N of the image into minor; false if it has none. */
static bool find_python(int root_fd, unsigned *ret_minor)
{
    for (unsigned minor = 9; minor < 30; minor++) {
        char path[64];

        (void)snprintf(path, sizeof(path), "usr/bin/python3.%u", minor);
        if (faccessat(root_fd, path, X_OK, 0) == 0) {
            *ret_minor = minor;
            return true;
        }
    }
    return false;
}

/*
 * Byte code that is not checked against its source at start-up (the root is read-only), with the
 * paths the guest will see. Run by the image's Python, as the host's may be another version.
 */
static int compile_dir(const struct apt *apt, const char *root, unsigned minor, const char *dir,
                       struct err *err)
{
    auto_buf struct buf out = BUF_INIT(TOOL_OUT_MAX);
    auto_free char *home = NULL;
    auto_free char *loader = NULL;
    auto_free char *libs = NULL;
    auto_free char *python = NULL;
    auto_free char *path = NULL;

    if (asprintf(&home, "PYTHONHOME=%s/usr", root) < 0 ||
        asprintf(&loader, "%s/usr/" LIBDIR "/ld-linux-x86-64.so.2", root) < 0 ||
        asprintf(&libs, "%s/usr/" LIBDIR, root) < 0 ||
        asprintf(&python, "%s/usr/bin/python3.%u", root, minor) < 0 ||
        asprintf(&path, "%s/%s", root, dir) < 0) {
        return no_memory(err);
    }
    return tool_run(
        &(struct tool){.tmpdir = apt->tmpdir,
                       .env = (const char *const[]){home, "PYTHONHASHSEED=0", NULL},
                       .argv = (const char *const[]){loader, "--library-path", libs, python, "-S",
                                                     "-s", "-B", "-m", "compileall", "-q",
                                                     "--invalidation-mode", "unchecked-hash", "-s",
                                                     root, "-p", "/", path, NULL}},
        &out, err);
}

static int compile_python(const struct apt *apt, int root_fd, const char *root, const char *image,
                          const struct build_progress *progress, struct err *err)
{
    struct err ignored = ERR_INIT;
    char dir[64];
    unsigned minor = 0;
    int r = 0;

    if (!find_python(root_fd, &minor)) {
        return 0;
    }
    step(progress, image, "compiling Python's library");
    (void)snprintf(dir, sizeof(dir), "usr/lib/python3.%u", minor);
    r = compile_dir(apt, root, minor, dir, err);
    if (r < 0) {
        return err_wrap(err, "compile Python's library");
    }
    /* Packages may hold files that are not meant to compile (test data, templates): those stay
     * source, which Python reads as well. */
    if (faccessat(root_fd, "usr/lib/python3/dist-packages", R_OK, 0) == 0 &&
        compile_dir(apt, root, minor, "usr/lib/python3/dist-packages", &ignored) < 0) {
        step(progress, image, "some modules of the packages stay uncompiled");
    }
    return 0;
}

static int pack(const struct apt *apt, const char *root, const char *file, struct err *err)
{
    auto_buf struct buf out = BUF_INIT(TOOL_OUT_MAX);

    return tool_run(
        &(struct tool){.tmpdir = apt->tmpdir,
                       .argv = (const char *const[]){"gensquashfs", "--pack-dir", root,
                                                     "--all-root", "--defaults", MTIME, "-c", "lz4",
                                                     "-X", "hc", "-q", "-f", file, NULL}},
        &out, err);
}

/* What is unpacked at root into what a guest boots from. */
static int finish_tree(const struct builder *b, const char *root, struct err *err)
{
    auto_fd int root_fd = -1;
    char path[64];
    int r = 0;

    (void)snprintf(path, sizeof(path), "%s/root", b->work);
    r = fd_open_nolink(b->store->tmpfd, path, O_RDONLY | O_DIRECTORY, 0, &root_fd, err);

    if (r == 0) {
        r = rootfs_prune(root_fd, err);
    }
    if (r == 0) {
        r = rootfs_complete(root_fd, err);
    }
    if (r == 0) {
        r = compile_python(b->apt, root_fd, root, b->image, b->progress, err);
    }
    return r < 0 ? r : rootfs_normalize(root_fd, err);
}

static int make_root(struct builder *b, const struct package_set *set, struct object *ret,
                     struct err *err)
{
    auto_free char *root = NULL;
    auto_free char *file = NULL;
    char name[64];
    int r = make_work(b, err);

    if (r == 0) {
        r = gather(b, set, err);
    }
    if (r == 0) {
        r = work_path(b, "root", &root, err);
    }
    if (r == 0) {
        r = work_path(b, "root.sqfs", &file, err);
    }
    if (r < 0) {
        return r;
    }
    step(b->progress, b->image, "unpacking packages");
    r = unpack(b, set, root, err);
    if (r == 0) {
        r = finish_tree(b, root, err);
    }
    if (r < 0) {
        return r;
    }
    step(b->progress, b->image, "compressing");
    r = pack(b->apt, root, file, err);
    if (r == 0) {
        (void)snprintf(name, sizeof(name), "%s/root.sqfs", b->work);
        r = store_put(b->store, name, ret, err);
    }
    return r < 0 ? r : fd_remove_tree(b->store->tmpfd, b->work, err);
}

/* Takes copies of what was asked for into the manifest. */
static int describe(const struct build_request *req, const struct image_base *base,
                    struct image_manifest *m, struct err *err)
{
    size_t n = 0;

    while (req->packages != NULL && req->packages[n] != NULL) {
        n++;
    }
    m->name = strdup(req->name);
    m->from = strdup(base->name);
    m->requested = calloc(n + 1, sizeof(*m->requested));
    if (m->name == NULL || m->from == NULL || m->requested == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        m->requested[i] = strdup(req->packages[i]);
        if (m->requested[i] == NULL) {
            return no_memory(err);
        }
    }
    m->created = (uint64_t)time(NULL);
    return 0;
}

static int check_request(const struct build_request *req, const struct image_base **ret,
                         struct err *err)
{
    const struct image_base *base = NULL;

    if (!image_name_is_valid(req->name) || strcmp(req->name, "kernel") == 0) {
        return err_usage(err,
                         "'%.64s' is not a name for an image: a-z, 0-9, '.', '_' and '-', at most "
                         "%d characters, starting with a letter or digit, and not 'kernel'",
                         req->name, IMAGE_NAME_MAX);
    }
    base = image_base_get(req->from != NULL ? req->from : req->name);
    if (base == NULL) {
        return req->from != NULL
                   ? err_usage(err,
                               "cannot build from '%.64s'; take --from python or --from javascript",
                               req->from)
                   : err_usage(
                         err,
                         "image '%s' is not built in (python and javascript are); say what it is "
                         "made from: airlock image build %s --from python --packages ...",
                         req->name, req->name);
    }
    if (image_base_get(req->name) != NULL &&
        (base != image_base_get(req->name) ||
         (req->packages != NULL && req->packages[0] != NULL))) {
        return err_usage(err, "'%s' is a built-in image; give yours another name", req->name);
    }
    *ret = base;
    return 0;
}

int image_build_locked(const struct store *store, const struct build_request *req,
                       uint64_t max_age_s, const struct build_progress *progress, struct err *err)
{
    const struct image_base *base = NULL;
    auto_free const char **names = NULL;
    auto_apt struct apt apt = APT_INIT;
    auto_image_manifest struct image_manifest m = {0};
    int r = check_request(req, &base, err);

    if (r != 0 || base == NULL) {
        return r;
    }
    r = image_base_packages(base, req->packages, &names, err);
    if (r != 0 || names == NULL) {
        return r;
    }
    r = describe(req, base, &m, err);
    if (r == 0) {
        r = apt_open(store, &apt, err);
    }
    if (r == 0) {
        r = apt_refresh(&apt, max_age_s, progress, err);
    }
    if (r < 0) {
        return r;
    }
    step(progress, req->name, "downloading packages");
    r = apt_resolve(&apt, names, &m.packages, err);
    if (r == 0) {
        r = apt_fetch(&apt, &m.packages, err);
    }
    if (r == 0) {
        r = make_root(&(struct builder){store, &apt, progress, req->name}, &m.packages, &m.root,
                      err);
    }
    if (r == 0) {
        r = store_write_image(store, &m, err);
    }
    return r < 0 ? r : store_collect(store, err);
}

int build_lock(const struct store *store, const struct build_progress *progress, int *ret_lock,
               struct err *err)
{
    struct err busy = ERR_INIT;
    int r = store_lock(store, false, ret_lock, &busy);

    if (r == -EWOULDBLOCK) {
        build_step(progress, "waiting for another airlock that is building images");
        return store_lock(store, true, ret_lock, err);
    }
    if (r < 0) {
        *err = busy;
    }
    return r;
}

int build_kernel(struct store *store, const struct build_progress *progress, struct err *err)
{
    auto_fd int lock = -1;
    int r = build_lock(store, progress, &lock, err);

    if (r == 0) {
        r = kernel_build_locked(store, LISTS_FRESH_S, progress, err);
    }
    return r < 0 ? err_wrap(err, "build the guest kernel (Debian's linux-image-cloud-amd64)") : 0;
}

int build_image(struct store *store, const struct build_request *req,
                const struct build_progress *progress, struct err *err)
{
    const struct image_base *base = NULL;
    auto_fd int lock = -1;
    int r = check_request(req, &base, err);

    if (r < 0) {
        return r;
    }
    r = build_lock(store, progress, &lock, err);
    if (r == 0) {
        r = image_build_locked(store, req, LISTS_FRESH_S, progress, err);
    }
    return r < 0 ? err_wrap(err, "build image '%s'", req->name) : 0;
}

/* Another agent in this binary: the initramfs is made anew from stored modules. */
static int refresh_initramfs(struct store *store, const struct build_progress *progress,
                             struct err *err)
{
    auto_kernel_manifest struct kernel_manifest m = {0};
    auto_fd int lock = -1;
    int r = build_lock(store, progress, &lock, err);

    if (r == 0) {
        r = store_read_kernel(store, &m, err);
    }
    if (r < 0) {
        return r;
    }
    build_step(progress, "kernel: putting this airlock's guest agent into the initramfs");
    r = initramfs_make(store, &m, err);
    if (r == 0) {
        r = store_write_kernel(store, &m, err);
    }
    return r < 0 ? r : store_collect(store, err);
}

/* The digest of our own agent, which changes only with our own executable. */
static int own_agent(const struct store *store, struct digest *ret, struct err *err)
{
    static const char name[] = "agent";
    auto_memo struct memo memo = MEMO_INIT;
    auto_buf struct buf text = BUF_INIT(DIGEST_HEX_SIZE);
    int r = memo_begin(&memo, err);

    if (r == 0) {
        r = memo_add_path(&memo, "/proc/self/exe", err);
    }
    if (r == 0 && memo_get(store->dirfd, name, &memo, &text) && text.data != NULL &&
        digest_is_hex((const char *)text.data)) {
        memcpy(ret->hex, text.data, sizeof(ret->hex));
        return 0;
    }
    if (r == 0) {
        initramfs_agent_digest(ret);
        memo_put(store->dirfd, name, &memo, ret->hex, strlen(ret->hex));
    }
    return r;
}

static int ensure_kernel(struct store *store, const struct build_progress *progress,
                         struct err *err)
{
    auto_kernel_manifest struct kernel_manifest m = {0};
    struct err why = ERR_INIT;
    struct digest agent = {0};
    int r = store_read_kernel(store, &m, &why);

    if (r == -ENOENT) {
        return build_kernel(store, progress, err);
    }
    if (r < 0) {
        *err = why;
        return r;
    }
    r = own_agent(store, &agent, err);
    if (r < 0 || digest_equal(&agent, &m.agent)) {
        return r;
    }
    return refresh_initramfs(store, progress, err);
}

int build_ensure(struct store *store, const char *image, const struct build_progress *progress,
                 struct err *err)
{
    auto_image_manifest struct image_manifest m = {0};
    struct err why = ERR_INIT;
    char name[IMAGE_NAME_MAX + 2];
    size_t len = strcspn(image, "@");
    int r = ensure_kernel(store, progress, err);

    if (r < 0) {
        return r;
    }
    (void)snprintf(name, sizeof(name), "%.*s", len < sizeof(name) ? (int)len : 65, image);
    r = store_read_image(store, name, &m, &why);
    if (r == -ENOENT && image_base_get(name) != NULL && image[len] == '\0') {
        return build_image(store, &(struct build_request){.name = name}, progress, err);
    }
    if (r < 0) {
        *err = why;
    }
    return r;
}
