/*
 * How it works.  A member is EMPTY, PREPARING (its supervisor restores), WAITING or LEAVING (its
 * socket is closed, its process not yet reaped).  The plan is a list of classes, one for each
 * machine; every tick matches members and plan in order, lets go of what nobody wants and starts
 * what is missing, within the pace.  An epoll descriptor holds the sockets of members, the pidfds of
 * those that leave and one timer for the rest, so that the owner has one descriptor to wait for.
 */
#include "sup/pool.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/fd.h"

/* Those that leave take their time, and others take their place meanwhile. */
#define SEATS ((size_t)2 * POOL_MEMBERS_MAX)
/* How long one that was let go may clean up before it is killed. */
#define LEAVE_NS (15 * NS_PER_S)

enum member_state {
    EMPTY,
    PREPARING,
    WAITING,
    LEAVING
};

struct member {
    enum member_state state;
    struct sup sup;
    struct machine_class class;
    uint64_t since_ns; /* when it came into this state */
};

struct pool {
    struct pool_config config;
    struct member members[SEATS];
    struct machine_class plan[POOL_MEMBERS_MAX];
    size_t n_plan;
    uint64_t not_before_ns; /* no machine is restored until then */
    uint64_t retry_ns;      /* how long after the next failure */
    struct pool_stats stats;
    int epoll_fd, timer_fd;
};

static const struct pool_source real_source = {
    .class_of = class_of,
    .prepare = sup_prepare,
    .start = sup_start,
};

static void watch(const struct pool *pool, int fd)
{
    struct epoll_event ev = {.events = EPOLLIN};

    (void)epoll_ctl(pool->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

static void unwatch(const struct pool *pool, int fd)
{
    (void)epoll_ctl(pool->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static void enter(struct member *m, enum member_state state)
{
    m->state = state;
    m->since_ns = clock_mono_ns();
}

/* Nobody is there any more. */
static void vacate(struct member *m)
{
    sup_fini(&m->sup);
    m->sup = (struct sup)SUP_INIT;
    m->state = EMPTY;
}

/* Closing the socket is the order to clean up. */
static void dismiss(struct pool *pool, struct member *m)
{
    unwatch(pool, m->sup.fd);
    fd_close_p(&m->sup.fd);
    watch(pool, m->sup.proc.pidfd);
    enter(m, LEAVING);
}

static void note_why(struct pool *pool, const char *text, size_t len)
{
    (void)snprintf(pool->stats.why, sizeof(pool->stats.why), "%.*s", (int)len, text);
}

/* It came to nothing, and the next one might not either: later. */
static void failed(struct pool *pool)
{
    pool->stats.failed++;
    pool->not_before_ns = clock_mono_ns() + pool->retry_ns;
    pool->retry_ns =
        pool->retry_ns * 2 < POOL_RETRY_MAX_NS ? pool->retry_ns * 2 : POOL_RETRY_MAX_NS;
}

static void restored(struct pool *pool, struct member *m)
{
    uint64_t now = clock_mono_ns();
    uint64_t took = now - m->since_ns;

    pool->stats.restored++;
    pool->stats.restore_ns = took;
    pool->retry_ns = POOL_RETRY_MIN_NS;
    pool->not_before_ns =
        now + took / pool->config.restore_percent * (100 - pool->config.restore_percent);
    enter(m, WAITING);
}

/* Its end, told or not. */
static void lost(struct pool *pool, struct member *m, const char *why, size_t len)
{
    note_why(pool, why, len);
    if (m->state == WAITING) {
        pool->stats.died++;
    } else {
        failed(pool);
    }
    dismiss(pool, m);
}

/* One event of a member whose socket can be read. */
static void hear(struct pool *pool, struct member *m)
{
    static const char gone[] = "the supervisor of a waiting machine was killed";
    struct sup_event ev = {0};
    struct err err = ERR_INIT;
    char byte = 0;

    if (recv(m->sup.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
        lost(pool, m, gone, strlen(gone));
        return;
    }
    if (sup_next(&m->sup, &ev, &err) <= 0) {
        lost(pool, m, err.msg, strlen(err.msg));
        return;
    }
    if (ev.kind == SUP_UNFIT) {
        lost(pool, m, (const char *)ev.data, ev.len);
    } else if (ev.kind == SUP_WAITS && m->state == PREPARING) {
        restored(pool, m);
    }
}

static void hear_all(struct pool *pool)
{
    struct pollfd fds[SEATS];

    for (size_t i = 0; i < SEATS; i++) {
        const struct member *m = &pool->members[i];

        fds[i] = (struct pollfd){.fd = m->state == EMPTY     ? -1
                                       : m->state == LEAVING ? m->sup.proc.pidfd
                                                             : m->sup.fd,
                                 .events = POLLIN};
    }
    if (poll(fds, SEATS, 0) <= 0) {
        return;
    }
    for (size_t i = 0; i < SEATS; i++) {
        struct member *m = &pool->members[i];

        if (fds[i].revents == 0) {
            continue;
        }
        if (m->state == LEAVING) {
            unwatch(pool, m->sup.proc.pidfd);
            vacate(m);
        } else {
            hear(pool, m);
        }
    }
}

static void end_old(struct pool *pool)
{
    uint64_t now = clock_mono_ns();

    for (size_t i = 0; i < SEATS; i++) {
        struct member *m = &pool->members[i];

        if (m->state == WAITING && now - m->since_ns >= pool->config.age_max_ns) {
            pool->stats.retired++;
            dismiss(pool, m);
        } else if (m->state == LEAVING && now - m->since_ns >= LEAVE_NS) {
            proc_kill(&m->sup.proc); /* its reaper does the rest */
        }
    }
}

/*
 * Gives each planned machine a member, those that wait before those that do not; members that are
 * left over go. The classes still missing come in missing[], in the plan's order.
 */
static size_t match(struct pool *pool, const struct machine_class *missing[POOL_MEMBERS_MAX])
{
    bool wanted[SEATS] = {false};
    size_t n = 0;

    for (size_t p = 0; p < pool->n_plan; p++) {
        size_t found = SEATS;

        for (size_t i = 0; i < SEATS && (found == SEATS || pool->members[found].state != WAITING);
             i++) {
            const struct member *m = &pool->members[i];

            if (!wanted[i] && (m->state == WAITING || (m->state == PREPARING && found == SEATS)) &&
                class_equal(&m->class, &pool->plan[p])) {
                found = i;
            }
        }
        if (found < SEATS) {
            wanted[found] = true;
        } else {
            missing[n++] = &pool->plan[p];
        }
    }
    for (size_t i = 0; i < SEATS; i++) {
        struct member *m = &pool->members[i];

        if (!wanted[i] && (m->state == WAITING || m->state == PREPARING)) {
            pool->stats.retired++;
            dismiss(pool, m);
        }
    }
    return n;
}

static unsigned int count(const struct pool *pool, enum member_state state)
{
    unsigned int n = 0;

    for (size_t i = 0; i < SEATS; i++) {
        n += pool->members[i].state == state;
    }
    return n;
}

static void begin(struct pool *pool, const struct machine_class *class)
{
    struct err err = ERR_INIT;

    for (size_t i = 0; i < SEATS; i++) {
        struct member *m = &pool->members[i];

        if (m->state != EMPTY) {
            continue;
        }
        if (pool->config.source->prepare(class, pool->config.store, &m->sup, &err) < 0) {
            note_why(pool, err.msg, strlen(err.msg));
            vacate(m);
            failed(pool);
            return;
        }
        m->class = *class;
        enter(m, PREPARING);
        watch(pool, m->sup.fd);
        return;
    }
}

/* pool_fd() can be read from then on; UINT64_MAX = not by the clock. */
static void set_timer(const struct pool *pool, uint64_t at)
{
    uint64_t now = clock_mono_ns();
    struct itimerspec it = {.it_value = {0}};

    if (at != UINT64_MAX) {
        at = at > now ? at : now + 1;
        it.it_value.tv_sec = (time_t)(at / NS_PER_S);
        it.it_value.tv_nsec = (long)(at % NS_PER_S);
    }
    (void)timerfd_settime(pool->timer_fd, TFD_TIMER_ABSTIME, &it, NULL);
}

/* The timer is for what no descriptor tells: age, a retry, the pace. */
static uint64_t next_alarm(const struct pool *pool, bool some_missing)
{
    uint64_t at = some_missing ? pool->not_before_ns : UINT64_MAX;

    for (size_t i = 0; i < SEATS; i++) {
        const struct member *m = &pool->members[i];
        uint64_t end = m->state == WAITING   ? m->since_ns + pool->config.age_max_ns
                       : m->state == LEAVING ? m->since_ns + LEAVE_NS
                                             : UINT64_MAX;

        at = end < at ? end : at;
    }
    return at;
}

void pool_tick(struct pool *pool)
{
    const struct machine_class *missing[POOL_MEMBERS_MAX];
    uint64_t expired = 0;
    size_t n = 0;
    size_t begun = 0;

    (void)!read(pool->timer_fd, &expired, sizeof(expired));
    hear_all(pool);
    end_old(pool);
    n = match(pool, missing);
    while (begun < n && count(pool, PREPARING) < pool->config.restores &&
           clock_mono_ns() >= pool->not_before_ns) {
        begin(pool, missing[begun++]);
    }
    set_timer(pool, next_alarm(pool, begun < n && count(pool, PREPARING) < pool->config.restores));
}

int pool_new(const struct pool_config *config, struct pool **ret, struct err *err)
{
    auto_pool struct pool *pool = NULL;

    if (config->members_max == 0 || config->members_max > POOL_MEMBERS_MAX ||
        config->restores > POOL_MEMBERS_MAX || config->restore_percent > 100) {
        return err_usage(err,
                         "a pool holds 1 to %u machines, and spends 1 to 100 percent of the "
                         "time on them",
                         POOL_MEMBERS_MAX);
    }
    pool = calloc(1, sizeof(*pool));
    if (pool == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < SEATS; i++) {
        pool->members[i].sup = (struct sup)SUP_INIT;
    }
    pool->config = *config;
    pool->config.restores = config->restores != 0 ? config->restores : 1;
    pool->config.restore_percent = config->restore_percent != 0 ? config->restore_percent : 100;
    pool->config.age_max_ns = config->age_max_ns != 0 ? config->age_max_ns : POOL_AGE_NS;
    pool->config.source = config->source != NULL ? config->source : &real_source;
    pool->retry_ns = POOL_RETRY_MIN_NS;
    pool->timer_fd = -1;
    pool->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (pool->epoll_fd < 0) {
        return err_sys(err, "epoll_create1");
    }
    pool->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (pool->timer_fd < 0) {
        return err_sys(err, "timerfd_create");
    }
    watch(pool, pool->timer_fd);
    *ret = STEAL_PTR(&pool);
    return 0;
}

void pool_free(struct pool *pool)
{
    uint64_t deadline = clock_mono_ns() + LEAVE_NS;

    if (pool == NULL) {
        return;
    }
    /* All at once first, so that they clean up side by side. */
    for (size_t i = 0; i < SEATS; i++) {
        fd_close_p(&pool->members[i].sup.fd);
    }
    for (size_t i = 0; i < SEATS; i++) {
        struct member *m = &pool->members[i];
        uint64_t now = clock_mono_ns();
        struct proc_end end = {0};
        struct err ignored = ERR_INIT;

        if (m->sup.proc.pid > 0) {
            (void)!proc_wait(&m->sup.proc, deadline > now ? deadline - now : 0, &end, &ignored);
            proc_kill(&m->sup.proc);
        }
        vacate(m);
    }
    fd_close_p(&pool->timer_fd);
    fd_close_p(&pool->epoll_fd);
    free(pool);
}

static bool same_plan(const struct pool *pool, const struct machine_class *plan, size_t n)
{
    bool same = n == pool->n_plan;

    for (size_t i = 0; i < n && same; i++) {
        same = class_equal(&plan[i], &pool->plan[i]);
    }
    return same;
}

int pool_plan(struct pool *pool, const struct spec *const *specs, size_t n, struct err *err)
{
    auto_free struct machine_class *plan = calloc(POOL_MEMBERS_MAX, sizeof(*plan));
    size_t planned = 0;
    bool told = false; /* the class of the spec before */

    if (plan == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < n && planned < pool->config.members_max; i++) {
        struct err why = ERR_INIT;

        /* The same one again is the same class. */
        if (i > 0 && specs[i] == specs[i - 1]) {
            if (told) {
                plan[planned] = plan[planned - 1];
                planned++;
            }
            continue;
        }
        told =
            pool->config.source->class_of(pool->config.store, specs[i], &plan[planned], &why) == 0;
        planned += told;
        if (!told && why.errnum == ENOMEM) {
            *err = why;
            return -ENOMEM;
        }
    }
    if (!same_plan(pool, plan, planned)) {
        memcpy(pool->plan, plan, sizeof(pool->plan));
        pool->n_plan = planned;
        set_timer(pool, 0); /* the next tick does it */
    }
    return 0;
}

int pool_fd(const struct pool *pool)
{
    return pool->epoll_fd;
}

int pool_wait(struct pool *pool, uint64_t timeout_ns, struct err *err)
{
    uint64_t deadline = clock_mono_ns() + timeout_ns;

    for (;;) {
        struct pollfd p = {.fd = pool->epoll_fd, .events = POLLIN};
        uint64_t now = 0;

        pool_tick(pool);
        if (count(pool, WAITING) >= pool->n_plan) {
            return 0;
        }
        now = clock_mono_ns();
        if (now >= deadline) {
            return err_set(err, ERR_HOST, ETIMEDOUT,
                           "only %u of %zu machines wait for a job%s%.900s", count(pool, WAITING),
                           pool->n_plan, pool->stats.why[0] != '\0' ? ": " : "", pool->stats.why);
        }
        if (poll(&p, 1, (int)((deadline - now) / NS_PER_MS) + 1) < 0 && errno != EINTR) {
            return err_sys(err, "poll");
        }
    }
}

/* The one that has waited longest, and not too long; SEATS = none. */
static size_t find(const struct pool *pool, const struct machine_class *class)
{
    uint64_t now = clock_mono_ns();
    size_t best = SEATS;

    for (size_t i = 0; i < SEATS; i++) {
        const struct member *m = &pool->members[i];

        if (m->state == WAITING && now - m->since_ns < pool->config.age_max_ns &&
            class_equal(&m->class, class) &&
            (best == SEATS || m->since_ns < pool->members[best].since_ns)) {
            best = i;
        }
    }
    return best;
}

enum pool_outlook pool_outlook(const struct pool *pool, const struct spec *spec)
{
    struct machine_class class;
    struct err ignored = ERR_INIT;
    bool failing = pool->retry_ns != POOL_RETRY_MIN_NS;

    if (pool->config.source->class_of(pool->config.store, spec, &class, &ignored) < 0) {
        return POOL_NONE;
    }
    if (find(pool, &class) < SEATS) {
        return POOL_HAS;
    }
    for (size_t i = 0; i < pool->n_plan && !failing; i++) {
        if (class_equal(&pool->plan[i], &class)) {
            return POOL_COMING;
        }
    }
    return POOL_NONE;
}

int pool_submit(struct pool *pool, const struct spec *spec, bool streaming, struct sup *ret,
                bool *ret_hit, struct err *err)
{
    struct machine_class class;
    struct err why = ERR_INIT;
    size_t at = SEATS;

    *ret_hit = false;
    /* Without a class there is no such member; the job itself will say what is wrong. */
    if (pool->config.source->class_of(pool->config.store, spec, &class, &why) == 0) {
        at = find(pool, &class);
    }
    for (; at < SEATS; at = find(pool, &class)) {
        struct member *m = &pool->members[at];

        why = (struct err)ERR_INIT;
        unwatch(pool, m->sup.fd);
        set_timer(pool, 0); /* its seat is free after the next tick */
        if (sup_submit(&m->sup, spec, streaming, POOL_TAKE_NS, &why) == 0) {
            *ret = m->sup;
            m->sup = (struct sup)SUP_INIT;
            m->state = EMPTY;
            pool->stats.hits++;
            *ret_hit = true;
            return 0;
        }
        pool->stats.died++;
        note_why(pool, why.msg, strlen(why.msg));
        vacate(m);
    }
    pool->stats.misses++;
    return pool->config.source->start(spec, pool->config.store, streaming, ret, err);
}

void pool_stats(const struct pool *pool, struct pool_stats *ret)
{
    *ret = pool->stats;
    ret->planned = (unsigned int)pool->n_plan;
    ret->waiting = count(pool, WAITING);
    ret->preparing = count(pool, PREPARING);
}
