#include "image/apt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "image/sources.h"
#include "image/tool.h"
#include "sys/fd.h"

#define ARGS_MAX     (PACKAGES_MAX + 16)
#define UPDATE_NS    (300 * NS_PER_S)
#define STAMP        "updated" /* its mtime: when the lists were last refreshed */
#define SOURCES_LIST "sources.list"

static int no_memory(struct err *err)
{
    return err_set(err, ERR_HOST, ENOMEM, "out of memory");
}

void apt_fini(struct apt *apt)
{
    free(apt->dir);
    free(apt->tmpdir);
    free(apt->env);
    fd_close_p(&apt->fd);
    fd_close_p(&apt->archives);
    *apt = (struct apt)APT_INIT;
}

static int run(const struct apt *apt, const char *const *argv, const char *cwd, struct buf *out,
               struct err *err)
{
    const char *const env[] = {apt->env, NULL};
    const struct tool tool = {.tmpdir = apt->tmpdir, .cwd = cwd, .env = env, .argv = argv};

    return tool_run(&tool, out, err);
}

/* The release's code name out of /etc/os-release. */
static int read_codename(char *ret, size_t size, struct err *err)
{
    auto_fd int fd = -1;
    auto_buf struct buf text = BUF_INIT(64 * KIB);
    const char *at = NULL;
    size_t len = 0;
    int r = fd_open(AT_FDCWD, "/etc/os-release", O_RDONLY, 0, &fd, err);

    if (r == 0) {
        r = fd_read_all(fd, "/etc/os-release", &text, err);
    }
    if (r < 0) {
        return r;
    }
    at = text.data != NULL ? strstr((const char *)text.data, "\nVERSION_CODENAME=") : NULL;
    if (at != NULL) {
        at += strlen("\nVERSION_CODENAME=");
        at += *at == '"';
        len = strspn(at, "abcdefghijklmnopqrstuvwxyz");
    }
    if (len == 0 || len >= size) {
        return err_usage(err, "/etc/os-release names no release; images are built on Debian only");
    }
    (void)snprintf(ret, size, "%.*s", (int)len, at);
    return 0;
}

static int add_source_file(const char *path, const char *codename, struct buf *out, struct err *err)
{
    auto_fd int fd = -1;
    auto_buf struct buf text = BUF_INIT(MIB);
    struct err why = ERR_INIT;
    size_t len = strlen(path);
    int r = fd_open(AT_FDCWD, path, O_RDONLY, 0, &fd, &why);

    if (r == -ENOENT) {
        return 0;
    }
    if (r == 0) {
        r = fd_read_all(fd, path, &text, &why);
    }
    if (r < 0) {
        *err = why;
        return r;
    }
    if (text.data == NULL) {
        return 0;
    }
    r = sources_filter((const char *)text.data, len > 8 && strcmp(path + len - 8, ".sources") == 0,
                       codename, out);
    return r < 0 ? err_set(err, ERR_HOST, -r, "too many package sources in '%s'", path) : 0;
}

static int is_source_file(const struct dirent *e)
{
    size_t len = strlen(e->d_name);

    return e->d_name[0] != '.' && ((len > 8 && strcmp(e->d_name + len - 8, ".sources") == 0) ||
                                   (len > 5 && strcmp(e->d_name + len - 5, ".list") == 0));
}

static int host_sources(const char *codename, struct buf *out, struct err *err)
{
    struct dirent **names = NULL;
    int n = scandir("/etc/apt/sources.list.d", &names, is_source_file, alphasort);
    int r = add_source_file("/etc/apt/sources.list", codename, out, err);

    for (int i = 0; i < n; i++) {
        char path[512];

        (void)snprintf(path, sizeof(path), "/etc/apt/sources.list.d/%s", names[i]->d_name);
        if (r == 0) {
            r = add_source_file(path, codename, out, err);
        }
        free(names[i]);
    }
    free(names);
    if (r == 0 && out->len == 0) {
        return err_set(err, ERR_USAGE, ENOENT,
                       "no Debian source for '%s' in /etc/apt/sources.list or sources.list.d; add: "
                       "deb http://deb.debian.org/debian %s main",
                       codename, codename);
    }
    return r;
}

/* How the host reaches its mirrors (proxies and the like), but nothing that weakens verification. */
static int host_transport(struct apt *apt, struct buf *conf, struct err *err)
{
    static const char *const kept[] = {"Acquire::http", "Acquire::Retries", "Acquire::ForceIPv",
                                       "Acquire::Check-Valid-Until", "Acquire::Check-Date"};
    static const char *const argv[] = {"apt-config", "dump", "--no-empty", NULL};
    const struct tool tool = {.tmpdir = apt->tmpdir, .argv = argv};
    auto_buf struct buf out = BUF_INIT(TOOL_OUT_MAX);
    int r = tool_run(&tool, &out, err);

    for (const char *line = (const char *)out.data; r == 0 && line != NULL && *line != '\0';) {
        size_t len = strcspn(line, "\n");

        for (size_t i = 0; r == 0 && i < ARRAY_LEN(kept); i++) {
            if (strncmp(line, kept[i], strlen(kept[i])) == 0) {
                r = buf_put(conf, line, len + (line[len] == '\n'));
            }
        }
        line += len + (line[len] == '\n');
    }
    return r == -ENOBUFS ? err_usage(err, "the host's apt configuration is too large") : r;
}

static int write_config(struct apt *apt, struct err *err)
{
    auto_buf struct buf conf = BUF_INIT(64 * KIB);
    const char *d = apt->dir;
    int r = 0;

    for (const char *c = d; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == '"' || *c == '\\') {
            return err_usage(err, "the state directory's path must not contain quotes, backslashes "
                                  "or control characters; give another one with --state DIR");
        }
    }
    r = host_transport(apt, &conf, err);
    if (r < 0) {
        return err_wrap(err, "read the host's apt configuration");
    }
    r = fd_write_atomic(apt->fd, "transport.conf", conf.data, conf.len, 0600, err);
    if (r < 0) {
        return r;
    }
    r = buf_printf(&conf,
                   "Dir \"%s\";\nDir::State \"%s\";\nDir::State::lists \"%s/lists/\";\n"
                   "Dir::State::status \"%s/status\";\nDir::Cache \"%s\";\n"
                   "Dir::Cache::archives \"%s/archives/\";\nDir::Cache::srcpkgcache \"\";\n"
                   "Dir::Etc \"%s\";\nDir::Etc::sourcelist \"%s/sources.list\";\n",
                   d, d, d, d, d, d, d, d);
    if (r == 0) {
        r = buf_printf(&conf,
                       "Dir::Etc::sourceparts \"/dev/null\";\nDir::Etc::main \"/dev/null\";\n"
                       "Dir::Etc::parts \"/dev/null\";\nDir::Etc::preferences \"/dev/null\";\n"
                       "Dir::Etc::preferencesparts \"/dev/null\";\n"
                       "Dir::Etc::trusted \"/dev/null\";\nDir::Etc::trustedparts \"/dev/null\";\n"
                       "Dir::Log \"/dev/null\";\nAPT::Architecture \"amd64\";\n"
                       "APT::Architectures \"amd64\";\nAPT::Install-Recommends \"false\";\n"
                       "APT::Sandbox::User \"\";\nAPT::Update::Error-Mode \"any\";\n"
                       "Acquire::Languages \"none\";\n"
                       "Acquire::AllowInsecureRepositories \"false\";\n"
                       "Acquire::AllowWeakRepositories \"false\";\n"
                       "Acquire::AllowDowngradeToInsecureRepositories \"false\";\n"
                       "APT::Get::AllowUnauthenticated \"false\";\n");
    }
    if (r < 0) {
        return err_set(err, ERR_HOST, -r, "apt configuration too large");
    }
    r = fd_write_atomic(apt->fd, "apt.conf", conf.data, conf.len, 0600, err);
    return r < 0 ? r : fd_write_atomic(apt->fd, "status", "", 0, 0600, err);
}

static int write_sources(struct apt *apt, struct err *err)
{
    auto_buf struct buf fresh = BUF_INIT(256 * KIB);
    auto_buf struct buf old = BUF_INIT(MIB);
    auto_fd int fd = -1;
    struct err ignored = ERR_INIT;
    int r = host_sources(apt->suite, &fresh, err);

    if (r < 0) {
        return r;
    }
    if (fd_open_nolink(apt->fd, SOURCES_LIST, O_RDONLY, 0, &fd, &ignored) == 0 &&
        fd_read_all(fd, SOURCES_LIST, &old, &ignored) == 0 && old.len == fresh.len &&
        memcmp(old.data, fresh.data, fresh.len) == 0) {
        return 0;
    }
    (void)unlinkat(apt->fd, STAMP, 0);
    return fd_write_atomic(apt->fd, SOURCES_LIST, fresh.data, fresh.len, 0600, err);
}

static int make_dirs(struct apt *apt, const struct store *store, struct err *err)
{
    static const char *const dirs[] = {"lists", "lists/partial", "archives", "archives/partial"};
    int r = 0;

    if (mkdirat(store->dirfd, "apt", 0700) < 0 && errno != EEXIST) {
        return err_sys(err, "create 'apt' in the state directory");
    }
    r = fd_open_nolink(store->dirfd, "apt", O_RDONLY | O_DIRECTORY, 0, &apt->fd, err);
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(dirs); i++) {
        if (mkdirat(apt->fd, dirs[i], 0700) < 0 && errno != EEXIST) {
            return err_sys(err, "create '%s/%s'", apt->dir, dirs[i]);
        }
    }
    return r < 0 ? r
                 : fd_open_nolink(apt->fd, "archives", O_RDONLY | O_DIRECTORY, 0, &apt->archives,
                                  err);
}

int apt_open(const struct store *store, struct apt *ret, struct err *err)
{
    auto_apt struct apt apt = APT_INIT;
    int r = tool_check_all(err);

    if (r == 0) {
        r = store_path(store, "apt", &apt.dir, err);
    }
    if (r == 0) {
        r = store_path(store, "tmp", &apt.tmpdir, err);
    }
    if (r == 0 && asprintf(&apt.env, "APT_CONFIG=%s/apt.conf", apt.dir) < 0) {
        apt.env = NULL;
        r = no_memory(err);
    }
    if (r == 0) {
        r = read_codename(apt.suite, sizeof(apt.suite), err);
    }
    if (r == 0 && access(SOURCES_KEYRING, R_OK) < 0) {
        r = err_set(err, ERR_USAGE, ENOENT,
                    "'" SOURCES_KEYRING
                    "' is missing; install it with: apt-get install debian-archive-keyring");
    }
    if (r == 0) {
        r = make_dirs(&apt, store, err);
    }
    if (r == 0) {
        r = write_config(&apt, err);
    }
    if (r == 0) {
        r = write_sources(&apt, err);
    }
    if (r < 0) {
        return r;
    }
    *ret = apt;
    apt = (struct apt)APT_INIT;
    return 0;
}

int apt_refresh(const struct apt *apt, uint64_t max_age_s, const struct build_progress *progress,
                struct err *err)
{
    static const char *const argv[] = {"apt-get", "-q", "update", NULL};
    const char *const env[] = {apt->env, NULL};
    const struct tool tool = {
        .tmpdir = apt->tmpdir, .env = env, .argv = argv, .timeout_ns = UPDATE_NS};
    auto_buf struct buf out = BUF_INIT(TOOL_OUT_MAX);
    struct stat st;
    time_t now = time(NULL);
    int r = 0;

    if (fstatat(apt->fd, STAMP, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtime <= now &&
        (uint64_t)(now - st.st_mtime) < max_age_s) {
        return 0;
    }
    if (progress->step != NULL) {
        progress->step(progress->ctx, "apt: refreshing Debian's package lists");
    }
    r = tool_run(&tool, &out, err);
    if (r < 0) {
        return err_wrap(err, "cannot reach or verify Debian's archive");
    }
    return fd_write_atomic(apt->fd, STAMP, "", 0, 0600, err);
}

bool apt_has_lists(const struct apt *apt)
{
    return faccessat(apt->fd, STAMP, F_OK, 0) == 0;
}

/* "Inst NAME (VERSION SUITE[, SUITE...] [ARCH])" of apt-get --simulate. */
static int parse_inst(const char *line, size_t len, struct package_set *set, struct err *err)
{
    char text[1024];
    char *save = NULL;
    char *open = NULL;
    char *close = NULL;
    char *suite = NULL;

    if (len >= sizeof(text)) {
        return err_set(err, ERR_HOST, EPROTO, "apt printed an over-long line");
    }
    (void)snprintf(text, sizeof(text), "%.*s", (int)len, line);
    save = text + strlen("Inst ");
    open = strstr(save, " (");
    suite = open != NULL ? strchr(open + 2, ' ') : NULL;
    close = suite != NULL ? strstr(suite, " [") : NULL;
    if (close == NULL || strchr(close, ']') == NULL) {
        return err_set(err, ERR_HOST, EPROTO, "apt printed what is not understood: %.200s", text);
    }
    *open = '\0';
    *suite = '\0';
    *close = '\0';
    *strchr(close + 2, ']') = '\0';
    if (!package_name_is_valid(save)) {
        return err_set(err, ERR_HOST, EPROTO, "apt printed an impossible package name: %.200s",
                       save);
    }
    return package_set_add(
        set,
        &(struct package){.name = save, .version = open + 2, .suite = suite + 1, .arch = close + 2},
        err);
}

/* "Key: value" at line into value; false if the line has another key. */
static bool field(const char *line, const char *key, char *value, size_t size)
{
    size_t len = strlen(key);

    if (strncmp(line, key, len) != 0) {
        return false;
    }
    (void)snprintf(value, size, "%.*s", (int)strcspn(line + len, "\n"), line + len);
    return true;
}

/* NAME=VERSION */
static void write_spec(const struct package *package, char *spec)
{
    (void)snprintf(spec, APT_FILE_MAX, "%.128s=%.256s", package->name, package->version);
}

/* Fills in the digests out of "apt-cache show NAME=VERSION...". */
static int add_digests(const struct apt *apt, struct package_set *set, struct err *err)
{
    const char *argv[ARGS_MAX] = {"apt-cache", "show"};
    auto_buf struct buf out = BUF_INIT(TOOL_OUT_MAX);
    auto_free char *specs = calloc(set->n + 1, APT_FILE_MAX);
    char name[256] = "";
    char version[256] = "";
    char hex[128];
    int r = 0;

    if (specs == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < set->n; i++) {
        write_spec(&set->v[i], specs + i * APT_FILE_MAX);
        argv[2 + i] = specs + i * APT_FILE_MAX;
    }
    r = run(apt, argv, NULL, &out, err);
    if (r < 0) {
        return r;
    }
    for (const char *line = (const char *)out.data; line != NULL && *line != '\0';) {
        if (field(line, "Package: ", name, sizeof(name))) {
            version[0] = '\0';
        }
        (void)field(line, "Version: ", version, sizeof(version));
        if (field(line, "SHA256: ", hex, sizeof(hex)) && digest_is_hex(hex)) {
            for (size_t i = 0; i < set->n; i++) {
                if (strcmp(set->v[i].name, name) == 0 && strcmp(set->v[i].version, version) == 0) {
                    (void)snprintf(set->v[i].sha256.hex, DIGEST_HEX_SIZE, "%.64s", hex);
                }
            }
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    for (size_t i = 0; i < set->n; i++) {
        if (set->v[i].sha256.hex[0] == '\0') {
            return err_set(err, ERR_HOST, EPROTO, "apt gives no SHA-256 for '%s'", set->v[i].name);
        }
    }
    return 0;
}

int apt_resolve(const struct apt *apt, const char *const *names, struct package_set *ret,
                struct err *err)
{
    const char *argv[ARGS_MAX] = {"apt-get", "install", "--simulate", "-y",
                                  "--no-install-recommends"};
    auto_package_set struct package_set set = {0};
    auto_buf struct buf out = BUF_INIT(TOOL_OUT_MAX);
    size_t n = 5;
    int r = 0;

    for (size_t i = 0; names[i] != NULL; i++) {
        if (n >= ARGS_MAX - 1) {
            return err_set(err, ERR_LIMIT, E2BIG, "more than %u packages", PACKAGES_MAX);
        }
        argv[n++] = names[i];
    }
    r = run(apt, argv, NULL, &out, err);
    for (const char *line = (const char *)out.data; r == 0 && line != NULL && *line != '\0';) {
        size_t len = strcspn(line, "\n");

        if (strncmp(line, "Inst ", 5) == 0) {
            r = parse_inst(line, len, &set, err);
        }
        line += len + (line[len] == '\n');
    }
    if (r == 0 && set.n == 0) {
        r = err_set(err, ERR_HOST, EPROTO, "apt found nothing to take");
    }
    if (r == 0) {
        package_set_sort(&set);
        r = add_digests(apt, &set, err);
    }
    if (r < 0) {
        return r;
    }
    package_set_fini(ret);
    *ret = set;
    set = (struct package_set){0};
    return 0;
}

void apt_file_name(const struct package *package, char ret[APT_FILE_MAX])
{
    char version[300];
    size_t n = 0;

    for (const char *c = package->version; *c != '\0' && n + 4 < sizeof(version); c++) {
        if (*c == ':') {
            n += (size_t)snprintf(version + n, sizeof(version) - n, "%%3a");
        } else {
            version[n++] = *c;
        }
    }
    version[n] = '\0';
    (void)snprintf(ret, APT_FILE_MAX, "%.128s_%s_%.16s.deb", package->name, version, package->arch);
}

/* True if the archive is there and is what the signed lists say. */
static bool have_archive(const struct apt *apt, const struct package *package)
{
    auto_fd int fd = -1;
    char name[APT_FILE_MAX];
    struct err ignored = ERR_INIT;
    struct digest digest = {0};
    uint64_t bytes = 0;

    apt_file_name(package, name);
    return fd_open_nolink(apt->archives, name, O_RDONLY, 0, &fd, &ignored) == 0 &&
           digest_of_fd(fd, &digest, &bytes, &ignored) == 0 &&
           digest_equal(&digest, &package->sha256);
}

int apt_fetch(const struct apt *apt, const struct package_set *set, struct err *err)
{
    const char *argv[ARGS_MAX] = {"apt-get", "-q", "download"};
    auto_buf struct buf out = BUF_INIT(TOOL_OUT_MAX);
    auto_free char *archives = NULL;
    auto_free char *specs = calloc(set->n + 1, APT_FILE_MAX);
    size_t n = 3;
    int r = 0;

    if (specs == NULL || asprintf(&archives, "%s/archives", apt->dir) < 0) {
        return no_memory(err);
    }
    for (size_t i = 0; i < set->n; i++) {
        char name[APT_FILE_MAX];

        if (have_archive(apt, &set->v[i])) {
            continue;
        }
        apt_file_name(&set->v[i], name);
        (void)unlinkat(apt->archives, name, 0);
        write_spec(&set->v[i], specs + i * APT_FILE_MAX);
        argv[n++] = specs + i * APT_FILE_MAX;
    }
    if (n == 3) {
        return 0;
    }
    r = run(apt, argv, archives, &out, err);
    if (r < 0) {
        return err_wrap(err, "download packages");
    }
    for (size_t i = 0; i < set->n; i++) {
        if (!have_archive(apt, &set->v[i])) {
            return err_set(err, ERR_HOST, EBADMSG,
                           "the downloaded archive of '%s' is not the one Debian signed; try again",
                           set->v[i].name);
        }
    }
    return 0;
}

int apt_clean(const struct apt *apt, struct err *err)
{
    static const char *const argv[] = {"apt-get", "-q", "autoclean", NULL};
    auto_buf struct buf out = BUF_INIT(TOOL_OUT_MAX);

    return run(apt, argv, NULL, &out, err);
}
