/* tokens-fixture.h - a directory of tokens that a case makes and leaves without trace. */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/tenant-file.h"
#include "sys/fd.h"
#include "test.h"

struct tokens {
    char path[32];
    int fd;
};

static inline struct tokens tokens_new(void)
{
    struct tokens t = {.path = "/tmp/tokens-XXXXXX", .fd = -1};

    assert_non_null(mkdtemp(t.path));
    t.fd = open(t.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(t.fd >= 0);
    return t;
}

static inline void tokens_fini(struct tokens *t)
{
    struct err err = ERR_INIT;

    fd_close_p(&t->fd);
    assert_ok(fd_remove_tree(AT_FDCWD, t->path, &err), &err);
}

#define auto_tokens on_scope_exit(tokens_fini)

/* A file of these bytes, in place: the directory does not change if the file was there. */
static inline void write_file(const struct tokens *t, const char *name, const char *text,
                              mode_t mode)
{
    auto_fd int fd = openat(t->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
}

static inline struct token new_token(const struct tokens *t, const char *tenant,
                                     char text[TOKEN_TEXT_SIZE])
{
    struct token token = {0};
    struct err err = ERR_INIT;

    (void)snprintf(token.tenant, sizeof(token.tenant), "%s", tenant);
    assert_ok(token_create(t->fd, &token, text, &err), &err);
    return token;
}
