/*
 * tenant-file.h - one token, as a file and as what its bearer shows.
 *
 *   {"token":1,"id":"HEX16","tenant":"NAME","digest":"sha256:HEX","created_ms":N,"note":"TEXT",
 *    "quota":{"concurrent":N,"queued":N,"rate_per_minute":N,"rate_burst":N,"wall_ms":N,"cpu_ms":N,
 *             "memory_bytes":N,"kept_bytes":N,"images":["NAME"],"isolation":"hardware"|"emulated",
 *             "pinned":BOOL}}
 *
 * "note", "quota" and each member of it may be missing: then the default counts. Strict otherwise.
 * The file is read only if it is a regular one of the directory's owner or root, and nobody
 * else may write it.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "daemon/tenant.h"
#include "sys/digest.h"

#define TOKEN_ID_SIZE    17u /* 16 lower-case hex digits and the NUL */
#define TOKEN_SECRET_LEN 43u /* 32 bytes in base64url without padding */
#define TOKEN_TEXT_SIZE  (4u + 16u + 1u + TOKEN_SECRET_LEN + 1u)
#define TOKEN_NOTE_SIZE  201u
#define TOKEN_FILE_MAX   (16 * KIB)
#define TOKEN_FILES_MAX  4096u

/* Members of "quota" that the file gives; the others are the default's. */
enum token_given {
    TOKEN_CONCURRENT = 1 << 0,
    TOKEN_QUEUED = 1 << 1,
    TOKEN_RATE = 1 << 2,
    TOKEN_BURST = 1 << 3,
    TOKEN_WALL = 1 << 4,
    TOKEN_CPU = 1 << 5,
    TOKEN_MEMORY = 1 << 6,
    TOKEN_KEPT = 1 << 7,
    TOKEN_IMAGES = 1 << 8,
    TOKEN_ISOLATION = 1 << 9,
    TOKEN_PINNED = 1 << 10,
};

struct token {
    char id[TOKEN_ID_SIZE];
    char tenant[JOB_TENANT_SIZE];
    struct digest digest; /* SHA-256 of the secret's 43 characters */
    uint64_t created_ms;  /* real time */
    char note[TOKEN_NOTE_SIZE];
    struct tenant_quota quota; /* only what is in given counts */
    unsigned int given;        /* of enum token_given */
};

/* defaults with what the token gives. */
void token_quota(const struct token *token, const struct tenant_quota *defaults,
                 struct tenant_quota *ret) nonnull_all;

must_use bool token_id_ok(const char *id) nonnull_all;

/* The JSON form; ERR_USAGE names the member. No message repeats a value. */
must_use int token_parse(const char *text, size_t len, struct token *ret,
                         struct err *err) nonnull_all;
/* One line of JSON that token_parse() takes. */
must_use int token_format(const struct token *token, struct buf *out, struct err *err) nonnull_all;

/*
 * "Bearer alk_ID_SECRET" (the scheme in any case, one blank): true, the id, and the secret's
 * digest. False for any other form. Bounded by the form: a value of any length may come in.
 */
must_use bool token_from_header(const char *value, char ret_id[TOKEN_ID_SIZE],
                                struct digest *ret_digest) nonnull_all;
/* In constant time; both are digests of the form that digest.h makes. */
must_use bool token_digest_equal(const struct digest *a, const struct digest *b) nonnull_all;

/*
 * Fills token->id and digest, writes the file (0600, owner and group of the directory, never over
 * another) and returns what its bearer shows. tenant, note and quota are checked as in a file:
 * ERR_USAGE.
 */
must_use int token_create(int tokens_fd, struct token *token, char ret_text[TOKEN_TEXT_SIZE],
                          struct err *err) nonnull_all;

/*
 * STATE/daemon/tokens, of the state directory state_fd; the caller owns *ret_fd. With make what is
 * missing is made, 0700, the tokens' directory its parent's owner's; else -ENOENT if it is not there.
 */
must_use int token_open_dir(int state_fd, bool make, int *ret_fd, struct err *err) nonnull_all;

/* Reads ID.json. ERR_USAGE/-ENOENT if there is none; any other failure: it is not to be used. */
must_use int token_load(int tokens_fd, const char *id, struct token *ret,
                        struct err *err) nonnull_all;

/*
 * Calls found() for each file whose name ends in ".json", sorted by name; names may be no id. A
 * non-zero return ends it and is returned. ERR_LIMIT beyond TOKEN_FILES_MAX files.
 */
typedef int token_found_fn(void *ctx, const char *name, struct err *err);
must_use int token_each(int tokens_fd, token_found_fn *found, void *ctx, struct err *err)
    nonnull_args(2, 4);

/* Removes the file, and the directory is flushed. id may be the beginning of just one. */
must_use int token_revoke(int tokens_fd, const char *id, char ret_id[TOKEN_ID_SIZE],
                          struct err *err) nonnull_all;
