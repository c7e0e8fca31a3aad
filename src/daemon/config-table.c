#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/num.h"

#include "daemon/config-internal.h"
#include "image/manifest.h"
#include "job/text.h"
#include "sup/pool.h"

#define HOUR_MS (3600ull * 1000)

const char *config_kind_text(enum config_kind kind)
{
    switch (kind) {
    case CONFIG_BOOL:
        return "true or false";
    case CONFIG_NUMBER:
        return "a whole number";
    case CONFIG_TEXT:
    case CONFIG_CHOICE:
        return "a string";
    case CONFIG_LIST:
        break;
    }
    return "an array of strings";
}

/* --- checks of texts --- */

static int take_port(const char *text, const char *at, uint16_t *ret, struct err *err)
{
    uint64_t port = 0;

    if (strlen(at) > 5 || num_parse_u64(at, &port) < 0 || port == 0 || port > UINT16_MAX) {
        return err_usage(err, "'%s' has no port from 1 to 65535", text_of_str(text).s);
    }
    *ret = htons((uint16_t)port);
    return 0;
}

static int unix_address(const char *path, struct config_address *ret, struct err *err)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    size_t len = strlen(path);

    if (path[0] != '/' || len >= sizeof(un.sun_path)) {
        return err_usage(err, "a unix socket has an absolute path of at most %zu bytes",
                         sizeof(un.sun_path) - 1);
    }
    memcpy(un.sun_path, path, len);
    memcpy(&ret->addr, &un, sizeof(un));
    ret->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
    ret->local = true;
    return 0;
}

static int ip6_address(const char *text, struct config_address *ret, struct err *err)
{
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    const char *end = strchr(text, ']');
    char host[INET6_ADDRSTRLEN] = "";
    size_t len = end != NULL ? (size_t)(end - text) - 1 : SIZE_MAX;

    if (len >= sizeof(host) || end[1] != ':') {
        return err_usage(err, "'%s' is not [ADDRESS]:PORT", text_of_str(text).s);
    }
    memcpy(host, text + 1, len);
    if (inet_pton(AF_INET6, host, &in6.sin6_addr) != 1) {
        return err_usage(err, "'%s' has no IPv6 address", text_of_str(text).s);
    }
    ret->len = sizeof(in6);
    ret->local = IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
    if (take_port(text, end + 2, &in6.sin6_port, err) < 0) {
        return -EINVAL;
    }
    memcpy(&ret->addr, &in6, sizeof(in6));
    return 0;
}

static int ip4_address(const char *text, struct config_address *ret, struct err *err)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    const char *colon = strchr(text, ':');
    char host[INET_ADDRSTRLEN] = "";
    size_t len = colon != NULL ? (size_t)(colon - text) : SIZE_MAX;

    if (len >= sizeof(host)) {
        return err_usage(err,
                         "'%s' is none of ADDRESS:PORT, [ADDRESS]:PORT and unix:/PATH; names are "
                         "not looked up",
                         text_of_str(text).s);
    }
    memcpy(host, text, len);
    if (inet_pton(AF_INET, host, &in.sin_addr) != 1) {
        return err_usage(err, "'%s' has no IPv4 address; names are not looked up",
                         text_of_str(text).s);
    }
    ret->len = sizeof(in);
    ret->local = (ntohl(in.sin_addr.s_addr) >> 24) == 127;
    if (take_port(text, colon + 1, &in.sin_port, err) < 0) {
        return -EINVAL;
    }
    memcpy(&ret->addr, &in, sizeof(in));
    return 0;
}

int config_address(const char *text, struct config_address *ret, struct err *err)
{
    static const char prefix[] = "unix:";
    struct config_address a = {.len = 0};
    int r = strncmp(text, prefix, strlen(prefix)) == 0
                ? unix_address(text + strlen(prefix), &a, err)
            : text[0] == '[' ? ip6_address(text, &a, err)
                             : ip4_address(text, &a, err);

    if (r == 0) {
        *ret = a;
    }
    return r;
}

static int check_address(const char *text, struct err *err)
{
    struct config_address ignored;

    return config_address(text, &ignored, err);
}

/* Every byte is one of set. */
static bool is_made_of(const char *text, const char *set)
{
    return text[0] != '\0' && text[strspn(text, set)] == '\0';
}

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define DIGIT "0123456789"

static int check_host(const char *text, struct err *err)
{
    return is_made_of(text, LOWER DIGIT ".-") && strlen(text) <= 253
               ? 0
               : err_usage(err, "a name of a host has 1 to 253 of a-z, 0-9, '.' and '-'");
}

static int check_origin(const char *text, struct err *err)
{
    const char *rest = strncmp(text, "https://", 8) == 0  ? text + 8
                       : strncmp(text, "http://", 7) == 0 ? text + 7
                                                          : "";

    return is_made_of(rest, LOWER DIGIT ".-:[]") && strlen(text) <= 300
               ? 0
               : err_usage(err, "an origin is http://HOST[:PORT] or https://HOST[:PORT]");
}

static int check_user(const char *text, struct err *err)
{
    bool ok = is_made_of(text, LOWER DIGIT "_-") && strlen(text) <= 32 && text[0] != '-' &&
              strchr(DIGIT, text[0]) == NULL;

    return ok && strcmp(text, "root") != 0
               ? 0
               : err_usage(err, "a user is a name of a-z, 0-9, '_' and '-', and not root");
}

static int check_path(const char *text, struct err *err)
{
    return text[0] == '/' && strlen(text) < 4096
               ? 0
               : err_usage(err, "an absolute path is needed, of less than 4096 bytes");
}

static int check_image(const char *text, struct err *err)
{
    return image_name_is_valid(text) ? 0 : err_usage(err, "that is no name of an image");
}

/* --- the table --- */

static const char *const levels[] = {"error", "warning", "info", "debug", NULL};
static const char *const isolations[] = {"emulated", "hardware", NULL};

#define AT(field) .offset = offsetof(struct config, field)
#define NUMBER(name, field, default_, min_, max_, scale_)                               \
    .path = (name), .kind = CONFIG_NUMBER, AT(field), .def = (default_), .min = (min_), \
    .max = (max_), .scale = (scale_)

/* clang-format off */
const struct config_member config_members[] = {
    {.path = "listen", .kind = CONFIG_LIST, AT(listen), .list_min = 1, .def_text = "127.0.0.1:7380",
     .check = check_address,
     .pattern = "^(unix:/.+|[0-9.]+:[0-9]{1,5}|\\[[0-9A-Fa-f:.]+\\]:[0-9]{1,5})$",
     .help = "where requests are taken: ADDRESS:PORT, [ADDRESS]:PORT or unix:/PATH; sockets that "
             "systemd passes take its place"},
    {.path = "hosts", .kind = CONFIG_LIST, AT(hosts), .check = check_host,
     .pattern = "^[a-z0-9.-]{1,253}$",
     .help = "names that requests may call this server by, beside its addresses and localhost"},
    {.path = "origins", .kind = CONFIG_LIST, AT(origins), .check = check_origin,
     .pattern = "^https?://[][a-z0-9.:-]+$",
     .help = "web pages that may send requests from a browser; by default none"},
    {.path = "user", .kind = CONFIG_TEXT, AT(user), .check = check_user,
     .pattern = "^[a-z_][a-z0-9_-]{0,31}$",
     .help = "the user that everything but the launcher runs as; needed if started as root"},
    {.path = "tls.cert", .kind = CONFIG_TEXT, AT(tls_cert), .check = check_path, .pattern = "^/",
     .help = "PEM file with the server's certificate and those above it"},
    {.path = "tls.key", .kind = CONFIG_TEXT, AT(tls_key), .check = check_path, .pattern = "^/",
     .help = "PEM file with its private key"},
    {.path = "require_tokens", .kind = CONFIG_BOOL, .reload = true, AT(require_tokens), .def = 0,
     .help = "ask for a token on unix sockets and loopback addresses, too"},
    {NUMBER("pool", pool, 0, 0, POOL_MEMBERS_MAX, 1),
     .help = "machines held ready for jobs to come"},
    {NUMBER("pool_percent", pool_percent, 25, 1, 100, 1),
     .help = "of the time in which machines may be made ready"},
    {NUMBER("waits", waits, 256, 0, 4096, 1),
     .help = "requests of one tenant that wait for a job, or follow one, at once"},
    {NUMBER("connections", connections, 256, 1, 4096, 1), .help = "most at once"},
    {NUMBER("connections_per_address", connections_per_address, 0, 0, 4096, 1),
     .help = "most at once from one TCP address; 0: no limit of its own"},
    {NUMBER("request_bytes", request_bytes, 16 * MIB, 4 * KIB, SPEC_JSON_MAX, 1),
     .help = "most bytes of one request's body"},
    {NUMBER("requests_bytes", requests_bytes, 256 * MIB, 4 * KIB, 64 * GIB, 1),
     .help = "most bytes of bodies that are being received, together"},
    {NUMBER("deadlines.head_seconds", head_ns, 10, 1, 300, NS_PER_S),
     .help = "until the head of a request is there"},
    {NUMBER("deadlines.body_seconds", body_ns, 30, 1, 3600, NS_PER_S),
     .help = "until its body is there"},
    {NUMBER("deadlines.idle_seconds", idle_ns, 60, 1, 3600, NS_PER_S),
     .help = "between two requests of a connection"},
    {NUMBER("deadlines.stall_seconds", stall_ns, 60, 1, 3600, NS_PER_S),
     .help = "for a client that takes nothing of its answer"},
    {NUMBER("queue.jobs_max", jobs_max, 1000, 1, 100000, 1),
     .help = "jobs that wait, of all tenants together"},
    {NUMBER("queue.bytes", queue_bytes, 2 * GIB, MIB, 1024 * GIB, 1),
     .help = "bytes that the waiting ones keep, together"},
    {NUMBER("capacity.machines", capacity.host.machines, 0, 0, LEDGER_NUMBERS, 1),
     .help = "most at once; 0: 64"},
    {NUMBER("capacity.memory_bytes", capacity.host.memory_total_bytes, 0, 0, 1024 * GIB * 1024, 1),
     .help = "memory for all machines and the reserve; 0: what the host has"},
    {NUMBER("capacity.memory_reserve_bytes", capacity.host.memory_reserve_bytes, 0, 0, 1024 * GIB, 1),
     .help = "memory that no machine gets; 0: 256 MiB"},
    {NUMBER("capacity.vcpus_per_cpu", capacity.host.vcpus_per_cpu, 0, 0, 64, 1),
     .help = "virtual CPUs on each of the host's; 0: 4"},
    {NUMBER("capacity.disk_reserve_bytes", capacity.host.disk_reserve_bytes, 0, 0, 1024 * GIB, 1),
     .help = "of the state directory's disk, what no machine gets; 0: 256 MiB"},
    {NUMBER("capacity.processes", capacity.processes, 0, 0, 1ull << 22, 1),
     .help = "processes and threads of all machines; 0: half of what the kernel allows"},
    {NUMBER("capacity.descriptors", capacity.fds, 0, 0, 1ull << 20, 1),
     .help = "of the daemon, for jobs that run; 0: half of its RLIMIT_NOFILE"},
    {NUMBER("retention.age_hours", retention_age_ms, 24, 0, 87600, HOUR_MS), .reload = true,
     .help = "how long the bytes of an ended job are kept; 0: no limit"},
    {NUMBER("retention.bytes", retention_bytes, 10 * GIB, 0, 1024 * GIB * 1024, 1), .reload = true,
     .help = "most that all ended jobs keep; the oldest go first; 0: no limit"},
    {NUMBER("retention.rows_days", retention_rows_ms, 30, 1, 3650, 24 * HOUR_MS), .reload = true,
     .help = "how long is known that there was a job"},
    {NUMBER("retries", retries, 2, 0, 10, 1), .reload = true,
     .help = "further machines for a job whose machine failed before the program started"},
    {NUMBER("drain_seconds", drain_ns, 60, 0, 86400, NS_PER_S), .reload = true,
     .help = "how long a stop waits for jobs that run, before it cancels them"},
    {.path = "log.level", .kind = CONFIG_CHOICE, .reload = true, AT(log), .def = CONFIG_LOG_INFO,
     .choices = levels, .help = "the least that is logged"},
    {NUMBER("default_quota.concurrent", default_quota.concurrent, 16, 1, LEDGER_NUMBERS, 1),
     .reload = true, .help = "jobs of one tenant that run at once"},
    {NUMBER("default_quota.queued", default_quota.queued, 256, 1, 100000, 1), .reload = true,
     .help = "jobs of one tenant that wait"},
    {NUMBER("default_quota.rate_per_minute", default_quota.rate_per_minute, 0, 0, 60000000, 1),
     .reload = true, .help = "jobs of one tenant accepted in a minute; 0: no limit"},
    {NUMBER("default_quota.rate_burst", default_quota.rate_burst, 60, 0, 1000000, 1), .reload = true,
     .help = "of these at once, after a quiet time"},
    {NUMBER("default_quota.wall_ms", default_quota.wall_ns, 0, 0, 86400000, NS_PER_MS),
     .reload = true, .help = "most that a job may ask for; 0: whatever airlock can enforce"},
    {NUMBER("default_quota.cpu_ms", default_quota.cpu_ns, 0, 0, 86400000, NS_PER_MS), .reload = true,
     .help = "the same"},
    {NUMBER("default_quota.memory_bytes", default_quota.memory_bytes, 0, 0, 1024 * GIB, 1),
     .reload = true, .help = "the same"},
    {NUMBER("default_quota.kept_bytes", default_quota.kept_bytes, GIB, 0, 1024 * GIB, 1),
     .reload = true, .help = "most that a tenant's ended jobs keep; 0: no limit of its own"},
    {.path = "default_quota.images", .kind = CONFIG_LIST, .reload = true, AT(images),
     .check = check_image, .pattern = "^[a-z0-9][a-z0-9._-]{0,63}$",
     .help = "images that jobs may use; none: all"},
    {.path = "default_quota.isolation", .kind = CONFIG_CHOICE, .reload = true,
     AT(default_quota.isolation), .def = SPEC_ISOLATION_HARDWARE, .choices = isolations,
     .help = "the weakest isolation that jobs are run with; emulated is an opt-in"},
    {.path = "default_quota.pinned", .kind = CONFIG_BOOL, .reload = true, AT(default_quota.pinned),
     .help = "images only as NAME@sha256:HEX"},
};
/* clang-format on */
const size_t config_members_len = ARRAY_LEN(config_members);
