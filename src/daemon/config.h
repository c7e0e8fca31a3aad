/*
 * config.h - airlockd's configuration: one strict JSON file, checked as a whole.
 *
 * One table (config_members[]) names every member with its type, range, default, whether a reload
 * can change it, and what it is for; the reader goes by it, and docs/airlockd.schema.json and
 * `airlockd --help-config` are made from it. Unknown or repeated members, wrong types and values
 * out of range are refused with the member's path and what is allowed.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "daemon/tenant.h"
#include "sup/ledger.h"

#define CONFIG_BYTES_MAX  MIB
#define CONFIG_LISTEN_MAX 16u
#define CONFIG_PATH_MAX   4096u

enum config_log {
    CONFIG_LOG_ERROR,
    CONFIG_LOG_WARNING,
    CONFIG_LOG_INFO,
    CONFIG_LOG_DEBUG,
};

struct config {
    char *listen[CONFIG_LISTEN_MAX]; /* "HOST:PORT", "[ADDR]:PORT" or "unix:/PATH"; checked */
    size_t n_listen;
    char *user;               /* NULL: airlockd stays who it is */
    char *tls_cert, *tls_key; /* PEM files; both or neither */
    bool require_tokens;      /* also on loopback, where by default nobody needs one */
    uint64_t pool;            /* machines held ready; 0 = none */
    uint64_t pool_percent;    /* of the time, for restoring them */
    uint64_t synchronous;     /* requests with ?wait at once */
    uint64_t jobs_max;        /* queue.jobs_max: jobs that wait, of all tenants */
    uint64_t queue_bytes;     /* queue.bytes: of their specifications together */
    uint64_t connections, connections_per_address;
    uint64_t request_bytes;               /* of one body */
    uint64_t header_ns, body_ns, idle_ns; /* deadlines of requests: head, body, between two */
    struct ledger_capacity capacity;      /* 0 = by the host */
    uint64_t retention_age_ns, retention_bytes, retention_rows_ns;
    uint64_t retries;    /* of a job whose machine failed before the program started */
    uint64_t drain_ns;   /* at a stop: for jobs that run */
    enum config_log log; /* log.level */
    struct tenant_quota default_quota;
};

void config_init(struct config *c) nonnull_all; /* the defaults of the table */
void config_fini(struct config *c) nonnull_all;
#define auto_config on_scope_exit(config_fini)

/* Into an initialised config. name is for messages. ERR_USAGE with path and remedy. */
must_use int config_parse(struct config *c, const char *name, const char *text, size_t len,
                          struct err *err) nonnull_all;
/* The same from a file. ERR_USAGE also if others than its owner or root can write it. */
must_use int config_load(struct config *c, const char *path, struct err *err) nonnull_all;

/*
 * Takes over from *next what a reload can change. What it can't and differs is left as it is, and
 * its paths are appended to ret_kept, one a line: a restart is needed for them.
 */
must_use int config_reload(struct config *c, const struct config *next, struct buf *ret_kept,
                           struct err *err) nonnull_all;

/* The JSON Schema (2020-12) of the file, as docs/airlockd.schema.json. */
must_use int config_schema(struct buf *out, struct err *err) nonnull_all;
