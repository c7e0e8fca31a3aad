/*
 * airlockd.c - the daemon's command line, and the order in which it is put together.
 *
 * How it works.  While everything may still be done: configuration, launcher (forked: it stays
 * privileged), listening sockets, state directory.  Then the privileges go for good, and what
 * strangers' bytes come near to is made: store, service, HTTP.  One event loop runs it all.
 */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/str.h"

#include "cli/opt.h"
#include "daemon/config.h"
#include "daemon/jobfiles.h"
#include "daemon/jobstore.h"
#include "daemon/launcher.h"
#include "daemon/log.h"
#include "daemon/metrics.h"
#include "daemon/notify.h"
#include "daemon/server.h"
#include "daemon/service-run.h"
#include "daemon/tenant-file.h"
#include "daemon/tenant.h"
#include "image/store.h"
#include "sys/account.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define DEFAULT_USER "airlock"
#define BACKLOG      1024
#define DRAIN_TICK   (100 * NS_PER_MS)
#define EXIT_FAILED  1

struct daemon_options {
    const char *state;
    const char *config;
    const char *user;
    struct config_list listen;
    bool check;
    bool schema;
};

struct listener {
    int fd;
    enum server_kind kind;
    char *path; /* of a socket that we made, to be removed; or NULL */
};

struct daemon {
    struct daemon_options options;
    struct config config;
    struct user owner; /* whom the front half becomes */
    struct notify notify;
    struct listener listeners[CONFIG_LIST_MAX + NOTIFY_LISTEN_MAX];
    size_t n_listeners;
    int state_fd, daemon_fd, jobs_fd, tokens_fd;
    char *state_path; /* for messages */
    struct launcher *launcher;
    struct event_base *base;
    struct log *log;
    struct metrics *metrics;
    struct jobstore *store;
    struct tenants *tenants;
    struct service *service;
    struct server *server;
    struct event *terminate, *interrupt, *hangup, *watchdog, *drain;
    uint64_t drain_end_ns;
    unsigned int stops; /* asked for so many times */
    int exit_code;
};

static int take_listen(void *config, const struct opt *opt, char *value, struct err *err)
{
    struct daemon_options *o = config;
    struct config_address address;
    int r = config_address(value, &address, err);

    (void)opt;
    if (r == 0 && o->listen.n == CONFIG_LIST_MAX) {
        r = err_usage(err, "--listen: at most %u", CONFIG_LIST_MAX);
    }
    if (r == 0) {
        o->listen.v[o->listen.n] = strdup(value);
        r = o->listen.v[o->listen.n] == NULL ? err_set(err, ERR_HOST, ENOMEM, "out of memory") : 0;
        o->listen.n += r == 0;
    }
    return r;
}

static const struct opt opts[] = {
    OPT_VALUE("state", "DIR", struct daemon_options, state,
              "where images, the guest kernel and the jobs are kept"),
    {.name = "listen",
     .arg = "ADDRESS",
     .help = "127.0.0.1:7380, [::1]:7380 or unix:/PATH; may be given more than once\n"
             "(default: the configuration's, or 127.0.0.1:7380)",
     .take = take_listen,
     .many = true},
    OPT_VALUE("config", "FILE", struct daemon_options, config,
              "configuration, JSON; docs/airlockd.schema.json describes it"),
    OPT_VALUE("user", "NAME", struct daemon_options, user,
              "started as root: who everything but the launcher runs as (default: " DEFAULT_USER
              ")"),
    OPT_FLAG("check", struct daemon_options, check,
             "read the configuration, say what is wrong with it, and end"),
    OPT_FLAG("schema", struct daemon_options, schema, "print the schema of the configuration"),
};

static const struct opt_cmd cmd = {
    .name = "airlockd",
    .usage = "[options]",
    .about =
        "Runs programs that nobody trusts for whoever asks over HTTP, each in a virtual machine\n"
        "of its own. docs/airlockd.md has a quick start and the API.",
    .epilog =
        "SIGTERM: no more jobs are taken, those that run may end (drain_seconds), then it ends; "
        "again:\nat once. SIGHUP: the configuration is read again.\n"
        "Exit codes: 0 it was told to end, 1 it failed, 2 wrong command line or "
        "configuration.",
    .opts = opts,
    .n_opts = ARRAY_LEN(opts),
};

/* The file, and over it the command line. */
static int read_config(const struct daemon_options *o, struct config *ret, struct err *err)
{
    int r = o->config != NULL ? config_load(ret, o->config, err) : 0;

    if (r == 0 && o->user != NULL) {
        char *user = strdup(o->user);

        if (user == NULL) {
            return err_set(err, ERR_HOST, ENOMEM, "out of memory");
        }
        free(ret->user);
        ret->user = user;
    }
    if (r == 0 && o->listen.n > 0) {
        for (size_t i = 0; i < ret->listen.n; i++) {
            free(ret->listen.v[i]);
            ret->listen.v[i] = NULL;
        }
        ret->listen.n = 0;
        for (size_t i = 0; i < o->listen.n; i++) {
            ret->listen.v[i] = strdup(o->listen.v[i]);
            if (ret->listen.v[i] == NULL) {
                return err_set(err, ERR_HOST, ENOMEM, "out of memory");
            }
            ret->listen.n++;
        }
    }
    return r < 0 ? r : config_check(ret, err);
}

/* Root never serves: a user is needed, and there is no silent second choice. */
static int choose_user(struct config *config, struct user *ret, struct err *err)
{
    struct err none = ERR_INIT;

    if (geteuid() != 0 || config->user != NULL) {
        return user_find(config->user, ret, err);
    }
    if (user_find(DEFAULT_USER, ret, &none) < 0) {
        return err_usage(err, "started as root, airlockd needs a user to become: make one with "
                              "`useradd --system " DEFAULT_USER "`, or name one with --user");
    }
    config->user = strdup(DEFAULT_USER);
    return config->user != NULL ? 0 : err_set(err, ERR_HOST, ENOMEM, "out of memory");
}

/* A socket that a dead daemon left is in the way; one that somebody listens on is not ours. */
static int clear_path(const struct config_address *a, const char *path, struct err *err)
{
    auto_fd int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct stat st = {0};

    if (lstat(path, &st) < 0) {
        return errno == ENOENT ? 0 : err_sys(err, "look at '%s'", path);
    }
    if (!S_ISSOCK(st.st_mode)) {
        return err_usage(err, "'%s' is there and is no socket; remove it or choose another path",
                         path);
    }
    if (connect(probe, (const struct sockaddr *)&a->addr, a->len) == 0 || errno != ECONNREFUSED) {
        return err_usage(err, "somebody listens on '%s' already", path);
    }
    return unlink(path) < 0 ? err_sys(err, "remove '%s'", path) : 0;
}

/* Nothing that root makes for somebody else is theirs by itself. */
static bool must_give(const struct daemon *d)
{
    return d->owner.uid != geteuid();
}

static int listen_on(struct daemon *d, const char *text, struct err *err)
{
    const char *path = strncmp(text, "unix:", 5) == 0 ? text + 5 : NULL;
    struct config_address a = {.len = 0};
    auto_fd int fd = -1;
    const int on = 1;
    int r = config_address(text, &a, err);

    if (r == 0 && path != NULL) {
        r = clear_path(&a, path, err);
    }
    if (r < 0) {
        return r;
    }
    fd = socket(a.addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || (path == NULL && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0) ||
        bind(fd, (const struct sockaddr *)&a.addr, a.len) < 0 || listen(fd, BACKLOG) < 0) {
        return err_sys(err, "listen on '%s'", text);
    }
    if (path != NULL) {
        if ((must_give(d) && lchown(path, d->owner.uid, d->owner.gid) < 0) ||
            chmod(path, 0660) < 0) {
            return err_sys(err, "give '%s' to its user", path);
        }
    }
    d->listeners[d->n_listeners++] =
        (struct listener){.fd = STEAL_FD(&fd),
                          .kind = path != NULL ? SERVER_UNIX : SERVER_TCP,
                          .path = path != NULL ? strdup(path) : NULL};
    return 0;
}

/* Sockets of the service manager come instead of those of the configuration. */
static int open_listeners(struct daemon *d, struct err *err)
{
    struct notify_listen given[NOTIFY_LISTEN_MAX];
    size_t n = 0;
    int r = notify_listen(given, &n, err);

    for (size_t i = 0; r == 0 && i < n; i++) {
        struct sockaddr_storage addr = {0};
        socklen_t len = sizeof(addr);

        if (getsockname(given[i].fd, (struct sockaddr *)&addr, &len) < 0) {
            r = err_sys(err, "a socket of the service manager");
        }
        d->listeners[d->n_listeners++] = (struct listener){
            .fd = given[i].fd, .kind = addr.ss_family == AF_UNIX ? SERVER_UNIX : SERVER_TCP};
    }
    for (size_t i = 0; r == 0 && n == 0 && i < d->config.listen.n; i++) {
        r = listen_on(d, d->config.listen.v[i], err);
    }
    return r;
}

/* STATE/daemon is the user's own; it is reached by its descriptor alone from then on. */
static int open_state(struct daemon *d, struct err *err)
{
    auto_store struct store store = STORE_INIT;
    int r = store_open(d->options.state, &store, err);

    if (r < 0) {
        return r;
    }
    if (mkdirat(store.dirfd, "daemon", 0700) < 0 && errno != EEXIST) {
        return err_sys(err, "make 'daemon' in the state directory");
    }
    d->state_fd = STEAL_FD(&store.dirfd);
    d->state_path = STEAL_PTR(&store.path);
    r = fd_open_nolink(d->state_fd, "daemon", O_RDONLY | O_DIRECTORY, 0, &d->daemon_fd, err);
    if (r == 0 && must_give(d) && fchown(d->daemon_fd, d->owner.uid, d->owner.gid) < 0) {
        r = err_sys(err, "give 'daemon' in the state directory to '%s'", d->config.user);
    }
    if (r == 0) {
        r = token_open_dir(d->state_fd, true, &d->tokens_fd, err);
    }
    /* It may be older than its user. */
    if (r == 0 && must_give(d) && fchown(d->tokens_fd, d->owner.uid, d->owner.gid) < 0) {
        r = err_sys(err, "give 'daemon/tokens' in the state directory to '%s'", d->config.user);
    }
    return r;
}

static int start_launcher(struct daemon *d, struct err *err)
{
    const struct launcher_config config = {.state = d->options.state,
                                           .user = d->config.user,
                                           .pool = (unsigned int)d->config.pool,
                                           .pool_percent = (unsigned int)d->config.pool_percent,
                                           .capacity = d->config.capacity.host};

    return launcher_start(&config, &d->launcher, err);
}

static void on_token_complaint(void *ctx, const char *text)
{
    struct daemon *d = ctx;

    log_event(d->log, LOG_WARNING, "token-refused", NULL, LOG_TEXT("why", text));
}

static void on_lost(void *ctx)
{
    struct daemon *d = ctx;

    d->exit_code = EXIT_FAILED;
    (void)event_base_loopbreak(d->base);
}

static int make_service(struct daemon *d, struct err *err)
{
    const struct tenants_config tenants = {.tokens_fd = d->tokens_fd,
                                           .defaults = &d->config.default_quota,
                                           .complain = on_token_complaint,
                                           .ctx = d};
    struct service_config config = {.base = d->base,
                                    .launcher = d->launcher,
                                    .log = d->log,
                                    .config = &d->config,
                                    .state_fd = d->state_fd,
                                    .lost = on_lost,
                                    .ctx = d};
    int r = jobstore_open(d->daemon_fd, JOBSTORE_SYNC_NORMAL, &d->store, err);

    if (r == 0) {
        r = jobfiles_open_jobs(d->daemon_fd, &d->jobs_fd, err);
    }
    if (r == 0) {
        r = tenants_new(&tenants, &d->tenants, err);
    }
    if (r == 0) {
        r = metrics_new(&d->metrics, err);
    }
    if (r < 0) {
        return r;
    }
    config.store = d->store;
    config.jobs_fd = d->jobs_fd;
    config.tenants = d->tenants;
    config.metrics = d->metrics;
    return service_new(&config, &d->service, err);
}

static int make_server(struct daemon *d, struct err *err)
{
    const struct config *c = &d->config;
    struct server_options o;
    int r = 0;

    server_options_init(&o);
    o.base = d->base;
    o.service = d->service;
    o.authorize = service_authorize;
    o.authorize_ctx = d->service;
    o.log = d->log;
    o.metrics = d->metrics;
    o.hosts = (const char *const *)c->hosts.v;
    o.n_hosts = c->hosts.n;
    o.origins = (const char *const *)c->origins.v;
    o.n_origins = c->origins.n;
    o.tls_cert = c->tls_cert;
    o.tls_key = c->tls_key;
    o.connections = c->connections;
    o.per_address = c->connections_per_address;
    o.head_ns = c->head_ns;
    o.body_ns = c->body_ns;
    o.idle_ns = c->idle_ns;
    o.stall_ns = c->stall_ns;
    o.waits = c->waits;
    o.body_bytes = c->request_bytes;
    o.bodies_bytes = c->requests_bytes;
    r = server_new(&o, &d->server, err);
    for (size_t i = 0; r == 0 && i < d->n_listeners; i++) {
        r = server_listen(d->server, &d->listeners[i].fd, d->listeners[i].kind, err);
    }
    return r;
}

/* ---- signals ---- */

static void end_now(struct daemon *d)
{
    (void)event_base_loopbreak(d->base);
}

static void on_drain(evutil_socket_t fd, short what, void *ctx)
{
    struct daemon *d = ctx;
    bool late = clock_mono_ns() > d->drain_end_ns;

    (void)fd;
    (void)what;
    if (service_running(d->service) == 0 && (late || server_pending(d->server) == 0)) {
        end_now(d);
    } else if (late) {
        service_cancel_all(d->service);
    }
}

static void on_stop(evutil_socket_t fd, short what, void *ctx)
{
    const struct timeval tick = {.tv_usec = DRAIN_TICK / 1000};
    struct daemon *d = ctx;
    struct err err = ERR_INIT;

    (void)fd;
    (void)what;
    if (++d->stops > 1) {
        log_event(d->log, LOG_WARNING, "ending-now", NULL,
                  LOG_NUMBER("running", service_running(d->service)));
        end_now(d);
        return;
    }
    log_event(d->log, LOG_INFO, "draining", NULL,
              LOG_NUMBER("running", service_running(d->service)),
              LOG_NUMBER("seconds", d->config.drain_ns / NS_PER_S));
    service_drain(d->service);
    server_close_listeners(d->server);
    d->drain_end_ns = clock_mono_ns() + d->config.drain_ns;
    if (notify_stopping(&d->notify, &err) < 0 ||
        notify_extend(&d->notify, d->config.drain_ns + 60 * NS_PER_S, &err) < 0) {
        log_event(d->log, LOG_WARNING, "notify", NULL, LOG_TEXT("error", err.msg));
    }
    (void)event_add(d->drain, &tick);
}

static int reload(struct daemon *d, struct err *err)
{
    auto_config struct config next;
    auto_buf struct buf kept = BUF_INIT(64 * KIB);
    int r = 0;

    config_init(&next);
    r = read_config(&d->options, &next, err);
    if (r == 0 && next.user == NULL && d->config.user != NULL) {
        next.user = strdup(d->config.user);
    }
    if (r == 0 && d->config.tls_cert != NULL) { /* before anything is changed that would stay so */
        r = server_reload_tls(d->server, err);
    }
    if (r == 0) {
        r = config_reload(&d->config, &next, &kept, err);
    }
    if (r == 0 && kept.len > 0) {
        log_event(d->log, LOG_WARNING, "reload-needs-restart", NULL,
                  LOG_TEXT("members", (const char *)kept.data));
    }
    return r;
}

static void on_hangup(evutil_socket_t fd, short what, void *ctx)
{
    struct daemon *d = ctx;
    struct err err = ERR_INIT;
    struct err ignored = ERR_INIT;

    (void)fd;
    (void)what;
    (void)!notify_reloading(&d->notify, &ignored);
    if (reload(d, &err) < 0) {
        log_event(d->log, LOG_ERROR, "reload-failed", NULL, LOG_TEXT("error", err.msg));
    } else {
        log_set_level(d->log, (enum log_level)d->config.log);
        service_reloaded(d->service);
        log_event(d->log, LOG_INFO, "reloaded", NULL);
    }
    (void)!notify_ready(&d->notify, &ignored);
}

static void on_watchdog(evutil_socket_t fd, short what, void *ctx)
{
    struct daemon *d = ctx;
    struct err err = ERR_INIT;

    (void)fd;
    (void)what;
    if (notify_watchdog(&d->notify, &err) < 0) {
        log_event(d->log, LOG_WARNING, "notify", NULL, LOG_TEXT("error", err.msg));
    }
}

static int make_events(struct daemon *d, struct err *err)
{
    uint64_t watchdog_us = d->notify.watchdog_ns / 1000;
    const struct timeval every = {.tv_sec = (time_t)(watchdog_us / 1000000),
                                  .tv_usec = (suseconds_t)(watchdog_us % 1000000)};

    d->terminate = evsignal_new(d->base, SIGTERM, on_stop, d);
    d->interrupt = evsignal_new(d->base, SIGINT, on_stop, d);
    d->hangup = evsignal_new(d->base, SIGHUP, on_hangup, d);
    d->drain = event_new(d->base, -1, EV_PERSIST, on_drain, d);
    d->watchdog = event_new(d->base, -1, EV_PERSIST, on_watchdog, d);
    if (d->terminate == NULL || d->interrupt == NULL || d->hangup == NULL || d->drain == NULL ||
        d->watchdog == NULL || event_add(d->terminate, NULL) < 0 ||
        event_add(d->interrupt, NULL) < 0 || event_add(d->hangup, NULL) < 0 ||
        (watchdog_us > 0 && event_add(d->watchdog, &every) < 0)) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    return 0;
}

/* ---- together ---- */

/* A pipe or terminal is opened anew for it, which its user alone may not be allowed to. */
static int make_log(struct daemon *d, struct err *err)
{
    d->base = event_base_new();
    if (d->base == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "no event loop");
    }
    return log_new(d->base, STDERR_FILENO, (enum log_level)d->config.log, &d->log, err);
}

/* Connections and machines: as many as the host's operator allows. */
static void raise_descriptors(void)
{
    struct rlimit limit = {.rlim_cur = 0};

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int prepare(struct daemon *d, struct err *err)
{
    int r = notify_open(&d->notify, err);

    if (r == 0) {
        r = choose_user(&d->config, &d->owner, err);
    }
    if (r == 0) {
        (void)umask(022); /* the launcher's: what a jail shows must be readable in it */
        r = start_launcher(d, err);
    }
    (void)umask(077);
    if (r == 0) {
        r = open_listeners(d, err);
    }
    if (r == 0) {
        r = open_state(d, err);
    }
    if (r == 0) {
        r = make_log(d, err);
    }
    if (r == 0) {
        r = launcher_drop_privileges(d->config.user, err);
    }
    return r < 0 ? r : launcher_confine(err);
}

static int serve(struct daemon *d, struct err *err)
{
    int r = make_events(d, err);

    if (r == 0) {
        r = make_service(d, err);
        r = r < 0 ? err_wrap(err, "'%s'", d->state_path) : 0;
    }
    if (r == 0) {
        r = make_server(d, err);
    }
    if (r == 0) {
        r = notify_ready(&d->notify, err);
    }
    if (r < 0) {
        return r;
    }
    for (size_t i = 0; i < d->config.listen.n; i++) {
        log_event(d->log, LOG_INFO, "listening", NULL, LOG_TEXT("address", d->config.listen.v[i]));
    }
    if (event_base_dispatch(d->base) < 0) {
        return err_set(err, ERR_HOST, EIO, "the event loop failed");
    }
    log_event(d->log, LOG_INFO, "ended", NULL);
    return 0;
}

static void free_event(struct event *ev)
{
    if (ev != NULL) {
        event_free(ev);
    }
}

static void daemon_fini(struct daemon *d)
{
    server_free(d->server);
    service_free(d->service);
    launcher_free(d->launcher);
    tenants_free(d->tenants);
    jobstore_free(d->store);
    log_free(d->log);
    metrics_free(d->metrics);
    free_event(d->terminate);
    free_event(d->interrupt);
    free_event(d->hangup);
    free_event(d->drain);
    free_event(d->watchdog);
    for (size_t i = 0; i < d->n_listeners; i++) {
        fd_close_p(&d->listeners[i].fd);
        if (d->listeners[i].path != NULL) {
            (void)unlink(d->listeners[i].path); /* where the directory is the user's */
            free(d->listeners[i].path);
        }
    }
    for (size_t i = 0; i < d->options.listen.n; i++) {
        free(d->options.listen.v[i]);
    }
    fd_close_p(&d->state_fd);
    fd_close_p(&d->daemon_fd);
    fd_close_p(&d->jobs_fd);
    fd_close_p(&d->tokens_fd);
    notify_close(&d->notify);
    free(d->state_path);
    if (d->base != NULL) {
        event_base_free(d->base);
    }
    config_fini(&d->config);
}

static int print_schema(struct err *err)
{
    auto_buf struct buf text = BUF_INIT(MIB);
    int r = config_schema(&text, err);

    if (r < 0) {
        return r;
    }
    if (fwrite(text.data, 1, text.len, stdout) != text.len || fflush(stdout) != 0) {
        return err_sys(err, "write to standard output");
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct daemon d = {
        .state_fd = -1, .daemon_fd = -1, .jobs_fd = -1, .tokens_fd = -1, .notify = NOTIFY_INIT};
    struct opt_rest rest = {0};
    struct err err = ERR_INIT;
    int r = 0;

    if (!opt_start(&cmd, argc, argv, &d.options, &rest, &d.exit_code)) {
        return d.exit_code;
    }
    if (rest.n > 0) {
        return opt_mistake(&cmd, "'%s' is one word too many", rest.operands[0]);
    }
    (void)signal(SIGPIPE, SIG_IGN);
    raise_descriptors();
    config_init(&d.config);
    r = d.options.schema ? print_schema(&err) : read_config(&d.options, &d.config, &err);
    if (r == 0 && d.options.check) {
        (void)puts("the configuration is good");
    }
    if (r == 0 && !d.options.schema && !d.options.check) {
        r = prepare(&d, &err);
        r = r < 0 ? r : serve(&d, &err);
    }
    if (r < 0) {
        d.exit_code = opt_fail(&cmd, &err);
    }
    daemon_fini(&d);
    return d.exit_code;
}
