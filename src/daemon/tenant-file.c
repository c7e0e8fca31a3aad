#include "daemon/tenant-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sup/prefix.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define ID_BYTES     8u
#define ID_LEN       (TOKEN_ID_SIZE - 1)
#define SECRET_BYTES 32u
#define NAME_SIZE    (ID_LEN + sizeof(".json"))
#define NAME_MAX_LEN 255u

/* --- a new one --- */

static const char base64url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static int draw(uint8_t *bytes, size_t n, struct err *err)
{
    ssize_t got = 0;

    do { /* up to 256 bytes come whole, once the kernel's generator is seeded: random(7) */
        got = getrandom(bytes, n, 0);
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)n ? 0 : err_sys(err, "random bytes from the kernel");
}

/* RFC 4648, section 5, without padding: 43 characters. */
static void put_secret(const uint8_t bytes[SECRET_BYTES], char *out)
{
    uint32_t bits = 0;
    unsigned int n = 0;

    for (size_t i = 0; i < SECRET_BYTES; i++) {
        bits = bits << 8 | bytes[i];
        n += 8;
        while (n >= 6) {
            n -= 6;
            *out = base64url[bits >> n & 63];
            out++;
        }
    }
    *out = base64url[bits << (6 - n) & 63];
    out[1] = '\0';
}

/* Random id and secret; the text and the digest of the secret. */
static int make_secret(struct token *token, char text[TOKEN_TEXT_SIZE], struct err *err)
{
    uint8_t bytes[ID_BYTES + SECRET_BYTES];
    char secret[TOKEN_SECRET_LEN + 1];
    int r = draw(bytes, sizeof(bytes), err);

    if (r < 0) {
        return r;
    }
    for (size_t i = 0; i < ID_BYTES; i++) {
        (void)snprintf(token->id + 2 * i, 3, "%02x", bytes[i]);
    }
    put_secret(bytes + ID_BYTES, secret);
    digest_of_data(secret, TOKEN_SECRET_LEN, &token->digest);
    (void)snprintf(text, TOKEN_TEXT_SIZE, "alk_%s_%s", token->id, secret);
    explicit_bzero(bytes, sizeof(bytes));
    explicit_bzero(secret, sizeof(secret));
    return r;
}

/* --- files --- */

static void file_name(const char *id, char out[NAME_SIZE])
{
    (void)snprintf(out, NAME_SIZE, "%.*s.json", (int)ID_LEN, id);
}

/* An unnamed file gets its name when all is in it: never half a token, never over another one. */
static int store(int tokens_fd, const char *name, const struct buf *text, struct err *err)
{
    auto_fd int fd = -1;
    struct stat dir = {0};
    char self[40];
    int r = fd_open_tmp(tokens_fd, &fd, err);

    if (r < 0) {
        return r;
    }
    if (fstat(tokens_fd, &dir) < 0 || fchown(fd, dir.st_uid, dir.st_gid) < 0) {
        return err_sys(err, "give '%s' to the owner of the tokens' directory", name);
    }
    r = fd_write_full(fd, text->data, text->len, err);
    if (r < 0) {
        return err_wrap(err, "'%s'", name);
    }
    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    if (fsync(fd) < 0 || linkat(AT_FDCWD, self, tokens_fd, name, AT_SYMLINK_FOLLOW) < 0 ||
        fsync(tokens_fd) < 0) {
        return err_sys(err, "store '%s'", name);
    }
    return 0;
}

int token_create(int tokens_fd, struct token *token, char ret_text[TOKEN_TEXT_SIZE],
                 struct err *err)
{
    auto_buf struct buf text = BUF_INIT(TOKEN_FILE_MAX);
    char name[NAME_SIZE];
    char secret[TOKEN_TEXT_SIZE] = "";
    struct token again;
    int r = make_secret(token, secret, err);

    if (r == 0) {
        token->created_ms = clock_ns(CLOCK_REALTIME) / NS_PER_MS;
        r = token_format(token, &text, err);
    }
    if (r == 0) { /* what the daemon would refuse is not written */
        r = token_parse((const char *)text.data, text.len, &again, err);
    }
    if (r == 0) {
        file_name(token->id, name);
        r = store(tokens_fd, name, &text, err);
    }
    if (r == 0) {
        memcpy(ret_text, secret, TOKEN_TEXT_SIZE);
    }
    explicit_bzero(secret, sizeof(secret));
    return r;
}

static int check_file(int tokens_fd, int fd, struct err *err)
{
    struct stat dir = {0};
    struct stat st = {0};

    if (fstat(tokens_fd, &dir) < 0 || fstat(fd, &st) < 0) {
        return err_sys(err, "look at a token's file");
    }
    if (!S_ISREG(st.st_mode)) {
        return err_usage(err, "is no regular file");
    }
    if ((st.st_uid != 0 && st.st_uid != dir.st_uid) || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return err_set(err, ERR_USAGE, EPERM,
                       "others may write it; chown it to uid %u and chmod it to 0600",
                       (unsigned int)dir.st_uid);
    }
    return 0;
}

static int read_token(int tokens_fd, const char *id, const char *name, struct token *ret,
                      struct err *err)
{
    auto_buf struct buf text = BUF_INIT(TOKEN_FILE_MAX);
    auto_fd int fd = -1;
    /* Not blocking: it may be a FIFO. */
    int r = fd_open_nolink(tokens_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd, err);

    if (r == 0) {
        r = check_file(tokens_fd, fd, err);
    }
    if (r == 0) {
        r = fd_read_all(fd, "it", &text, err);
    }
    if (r == 0) {
        r = token_parse(text.data != NULL ? (const char *)text.data : "", text.len, ret, err);
    }
    if (r == 0 && strcmp(ret->id, id) != 0) {
        r = err_usage(err, "id: is not the one in the name of the file");
    }
    return r;
}

int token_load(int tokens_fd, const char *id, struct token *ret, struct err *err)
{
    char name[NAME_SIZE];
    struct token token;
    int r = 0;

    if (!token_id_ok(id)) {
        return err_usage(err, "the name of a token's file is %u lower-case hex digits and '.json'",
                         ID_LEN);
    }
    file_name(id, name);
    r = read_token(tokens_fd, id, name, &token, err);
    if (r == 0) {
        *ret = token;
    }
    return r;
}

/* --- the directory --- */

/* A directory that is there, or is made as its parent's owner's. */
static int open_dir(int parent, const char *name, bool make, int *ret_fd, struct err *err)
{
    struct stat st = {0};
    bool made = make && mkdirat(parent, name, 0700) == 0;
    int r = 0;

    if (make && !made && errno != EEXIST) {
        return err_sys(err, "make '%s' in the state directory", name);
    }
    r = fd_open_nolink(parent, name, O_RDONLY | O_DIRECTORY, 0, ret_fd, err);
    if (r == 0 && made && (fstat(parent, &st) < 0 || fchown(*ret_fd, st.st_uid, st.st_gid) < 0)) {
        r = err_sys(err, "give '%s' to the owner of its directory", name);
        fd_close_p(ret_fd);
    }
    return r;
}

int token_open_dir(int state_fd, bool make, int *ret_fd, struct err *err)
{
    auto_fd int daemon = -1;
    auto_fd int tokens = -1;
    int r = open_dir(state_fd, "daemon", make, &daemon, err);

    if (r == 0) {
        r = open_dir(daemon, "tokens", make, &tokens, err);
    }
    if (r == 0) {
        *ret_fd = STEAL_FD(&tokens);
    }
    return r;
}

struct names {
    char (*v)[NAME_MAX_LEN + 1];
    size_t n, cap;
};

static void names_fini(struct names *names)
{
    free(names->v);
}

#define auto_names on_scope_exit(names_fini)

static int add_name(struct names *names, const char *name, struct err *err)
{
    if (names->n == TOKEN_FILES_MAX) {
        return err_set(err, ERR_LIMIT, E2BIG, "more than %u token files; revoke some",
                       TOKEN_FILES_MAX);
    }
    if (names->n == names->cap) {
        size_t cap = names->cap == 0 ? 16 : 2 * names->cap;
        void *v = reallocarray(names->v, cap, sizeof(*names->v));

        if (v == NULL) {
            return err_sys_num(err, ENOMEM, "list the tokens");
        }
        names->v = v;
        names->cap = cap;
    }
    (void)snprintf(names->v[names->n], sizeof(*names->v), "%s", name);
    names->n++;
    return 0;
}

static bool is_token_file(const char *name)
{
    size_t len = strlen(name);

    return name[0] != '.' && len > 5 && strcmp(name + len - 5, ".json") == 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static int list_names(int tokens_fd, struct names *names, struct err *err)
{
    auto_fd int fd = -1;
    auto_dir DIR *dir = NULL;
    struct dirent *entry = NULL;
    int r = fd_open_nolink(tokens_fd, ".", O_RDONLY | O_DIRECTORY, 0, &fd, err);

    if (r < 0) {
        return r;
    }
    dir = fdopendir(fd);
    if (dir == NULL) {
        return err_sys(err, "list the tokens");
    }
    (void)STEAL_FD(&fd);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): own DIR */
    for (errno = 0; (entry = readdir(dir)) != NULL; errno = 0) {
        if (is_token_file(entry->d_name)) {
            r = add_name(names, entry->d_name, err);
            if (r < 0) {
                return r;
            }
        }
    }
    if (errno != 0) {
        return err_sys(err, "list the tokens");
    }
    if (names->n > 1) {
        qsort(names->v, names->n, sizeof(*names->v), compare_names);
    }
    return 0;
}

int token_each(int tokens_fd, token_found_fn *found, void *ctx, struct err *err)
{
    auto_names struct names names = {0};
    int r = list_names(tokens_fd, &names, err);

    for (size_t i = 0; i < names.n && r == 0; i++) {
        r = found(ctx, names.v[i], err);
    }
    return r;
}

int token_revoke(int tokens_fd, const char *id, char ret_id[TOKEN_ID_SIZE], struct err *err)
{
    static const struct prefix_kind kind = {.thing = "token",
                                            .article = "a",
                                            .name = "id",
                                            .list = "airlock token list",
                                            .digits = ID_LEN};
    auto_names struct names names = {0};
    char name[NAME_SIZE];
    struct prefix p;
    int r = prefix_begin(&p, &kind, id, err);

    if (r == 0) {
        r = list_names(tokens_fd, &names, err);
    }
    for (size_t i = 0; i < names.n && r == 0; i++) {
        names.v[i][strlen(names.v[i]) - 5] = '\0';
        if (token_id_ok(names.v[i])) {
            prefix_offer(&p, names.v[i]);
        }
    }
    if (r == 0) {
        r = prefix_end(&p, err);
    }
    if (r < 0) {
        return r;
    }
    file_name(p.found, name);
    if (unlinkat(tokens_fd, name, 0) < 0 || fsync(tokens_fd) < 0) {
        return err_sys(err, "remove the token '%s'", name);
    }
    memcpy(ret_id, p.found, TOKEN_ID_SIZE);
    return 0;
}
