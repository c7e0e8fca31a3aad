/*
 * config.h - airlockd's configuration: one strict JSON file, checked as a whole.
 *
 * One table (config-table.c) has every member with its type, range, default, whether a reload can
 * change it, and what it is for; the reader goes by it, and docs/airlockd.schema.json is made from
 * it. Unknown or repeated members, wrong types and values out of range are refused with the
 * member's path and what is allowed.
 */
#pragma once

#include <sys/socket.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "daemon/capacity.h"
#include "daemon/tenant.h"

#define CONFIG_BYTES_MAX MIB
#define CONFIG_LIST_MAX  32u

enum config_log {
    CONFIG_LOG_ERROR,
    CONFIG_LOG_WARNING,
    CONFIG_LOG_INFO,
    CONFIG_LOG_DEBUG,
};

/* Strings are owned; NULL = not given. A list's texts come first. */
struct config_list {
    char *v[CONFIG_LIST_MAX];
    size_t n;
};

struct config {
    struct config_list listen;  /* as config_address() takes them; at least one */
    struct config_list hosts;   /* further names taken in Host */
    struct config_list origins; /* values of Origin that are taken */
    char *user;                 /* whom the front half becomes; NULL: it stays who it is */
    char *tls_cert, *tls_key;   /* PEM files; both or neither */
    bool require_tokens;        /* also on loopback, where by default nobody needs one */
    uint64_t pool;              /* machines held ready; 0 = none */
    uint64_t pool_percent;      /* of the time, for restoring them */
    uint64_t waits;             /* requests of one tenant that wait for a job or follow one */
    uint64_t jobs_max;          /* that wait, of all tenants */
    uint64_t queue_bytes;       /* of their specifications together */
    uint64_t connections, connections_per_address;
    uint64_t request_bytes, requests_bytes;       /* of one body, of all at once */
    uint64_t head_ns, body_ns, idle_ns, stall_ns; /* deadlines of requests */
    struct capacity_config capacity;              /* 0 = by the host */
    uint64_t retention_age_ms, retention_bytes;   /* of jobs' bytes; 0 = no limit */
    uint64_t retention_rows_ms;                   /* of what is known of jobs without bytes */
    uint64_t retries;  /* of a job whose machine failed before the program started */
    uint64_t drain_ns; /* at a stop: for jobs that run */
    enum config_log log;
    struct config_list images; /* of default_quota, which has copies of them */
    struct tenant_quota default_quota;
};

void config_init(struct config *c) nonnull_all; /* the defaults of the table */
void config_fini(struct config *c) nonnull_all;
#define auto_config on_scope_exit(config_fini)

/*
 * Into an initialised config, whose values stay where the text has none. name is for messages.
 * ERR_USAGE with the member's path and what is allowed; *c may then be half changed.
 */
must_use int config_parse(struct config *c, const char *name, const char *text, size_t len,
                          struct err *err) nonnull_all;
/* The same from a file. ERR_USAGE also if others than we or root own it, or can write it. */
must_use int config_load(struct config *c, const char *path, struct err *err) nonnull_all;

/* What needs the whole: once more where the command line changed something of it. ERR_USAGE. */
must_use int config_check(const struct config *c, struct err *err) nonnull_all;

/*
 * Moves from *next what a reload can change. What it can't and differs stays, and its path is
 * appended to ret_kept, with a newline: it needs a restart. ERR_HOST/-ENOMEM.
 */
must_use int config_reload(struct config *c, struct config *next, struct buf *ret_kept,
                           struct err *err) nonnull_all;

/* The JSON Schema (2020-12) of the file, as in docs/airlockd.schema.json. */
must_use int config_schema(struct buf *out, struct err *err) nonnull_all;

struct config_address {
    struct sockaddr_storage addr; /* AF_INET, AF_INET6 or AF_UNIX */
    socklen_t len;
    bool local; /* a unix socket or a loopback address */
};

/*
 * "127.0.0.1:7380", "[::1]:7380" or "unix:/PATH". No names: what they mean would be decided by
 * whoever answers. ERR_USAGE.
 */
must_use int config_address(const char *text, struct config_address *ret,
                            struct err *err) nonnull_all;
