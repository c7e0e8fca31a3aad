#include "job/verdict.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Told-only events may use the list only up to here. */
#define EVENTS_TOLD_MAX 48

static const struct {
    const char *name;
    bool guest; /* the guest said so */
    bool decides;
    enum airlock_verdict verdict;
    const char *reason; /* NULL: the event's own */
} kinds[EVENT_KINDS] = {
    [EVENT_REJECTED] = {"rejected", false, true, AIRLOCK_REJECTED, NULL},
    [EVENT_CAPACITY] = {"capacity", false, true, AIRLOCK_CAPACITY_REJECTED, NULL},
    [EVENT_STDOUT_CAP] = {"stdout_cap", false, true, AIRLOCK_OUTPUT_OVERFLOW, "stdout"},
    [EVENT_STDERR_CAP] = {"stderr_cap", false, true, AIRLOCK_OUTPUT_OVERFLOW, "stderr"},
    [EVENT_WALL_LIMIT] = {"wall_limit", false, true, AIRLOCK_TIMEOUT, "wall"},
    [EVENT_CPU_LIMIT] = {"cpu_limit", false, true, AIRLOCK_TIMEOUT, "cpu"},
    [EVENT_HOST_OOM] = {"host_oom", false, true, AIRLOCK_OOM, "host"},
    [EVENT_CANCELED] = {"canceled", false, true, AIRLOCK_CANCELED, NULL},
    [EVENT_EXIT] = {"exit", true, true, AIRLOCK_SUCCESS, NULL},
    [EVENT_OUTPUT_BYTES_CAP] = {"output_bytes_cap", false, true, AIRLOCK_OUTPUT_OVERFLOW,
                                "output_bytes"},
    [EVENT_OUTPUT_FILES_CAP] = {"output_files_cap", false, true, AIRLOCK_OUTPUT_OVERFLOW,
                                "output_files"},
    [EVENT_OUTPUT_DEPTH_CAP] = {"output_depth_cap", false, true, AIRLOCK_OUTPUT_OVERFLOW,
                                "output_depth"},
    [EVENT_OUTPUT_RULE] = {"output_rule", false, true, AIRLOCK_OUTPUT_REJECTED, NULL},
    [EVENT_PROTOCOL] = {"protocol_error", false, true, AIRLOCK_SANDBOX_FAILURE, NULL},
    [EVENT_AGENT_FAILED] = {"agent_failed", true, true, AIRLOCK_SANDBOX_FAILURE, NULL},
    [EVENT_DEADLINE] = {"deadline", false, true, AIRLOCK_SANDBOX_FAILURE, NULL},
    [EVENT_MONITOR_EXIT] = {"monitor_exit", false, true, AIRLOCK_SANDBOX_FAILURE, NULL},
    [EVENT_HOST_FAULT] = {"host_fault", false, true, AIRLOCK_SANDBOX_FAILURE, NULL},
    [EVENT_ACCEPTED] = {"accepted", false, true, AIRLOCK_SUCCESS, NULL},
    [EVENT_OOM_KILL] = {"oom_kill", true, false, AIRLOCK_SUCCESS, NULL},
    [EVENT_PIDS_REFUSED] = {"pids_refused", true, false, AIRLOCK_SUCCESS, NULL},
    [EVENT_KERNEL_PANIC] = {"kernel_panic", true, false, AIRLOCK_SUCCESS, NULL},
    [EVENT_OUTPUT_DROPPED] = {"output_dropped", false, false, AIRLOCK_SUCCESS, NULL},
};

/* Cut text ends with a whole character: half of one is no UTF-8 and could not be told in JSON. */
static void put_detail(char out[EVENT_DETAIL_MAX], const char *detail)
{
    size_t len = strlen(detail);

    if (len >= EVENT_DETAIL_MAX) {
        len = EVENT_DETAIL_MAX - 1;
        while (len > 0 && ((unsigned char)detail[len] & 0xc0) == 0x80) {
            len--;
        }
    }
    memcpy(out, detail, len);
    out[len] = '\0';
}

void events_add(struct events *ev, enum event_kind kind, uint64_t at_ns, const char *reason,
                const char *detail)
{
    struct event *e = NULL;

    assert(kind < EVENT_KINDS);
    if (ev->n >= (kinds[kind].decides ? EVENTS_MAX : EVENTS_TOLD_MAX)) {
        /* The first deciding events are the ones that count, and they are in. */
        ev->lost++;
        return;
    }
    e = &ev->list[ev->n++];
    e->kind = kind;
    e->at_ns = at_ns;
    e->reason = reason;
    put_detail(e->detail, detail != NULL ? detail : "");
}

/* The earliest deciding event that comes after the one given (NULL: of all). */
static const struct event *next_deciding(const struct events *ev, const struct event *after)
{
    const struct event *best = NULL;

    for (size_t i = 0; i < ev->n; i++) {
        const struct event *e = &ev->list[i];

        if (!kinds[e->kind].decides || e == after) {
            continue;
        }
        if (after != NULL &&
            (e->at_ns < after->at_ns || (e->at_ns == after->at_ns && e->kind <= after->kind))) {
            continue;
        }
        if (best == NULL || e->at_ns < best->at_ns ||
            (e->at_ns == best->at_ns && e->kind < best->kind)) {
            best = e;
        }
    }
    return best;
}

static struct verdict by_event(const struct event *e)
{
    if (e->kind == EVENT_ACCEPTED) {
        return (struct verdict){AIRLOCK_SUCCESS, NULL, e};
    }
    return (struct verdict){
        .verdict = kinds[e->kind].verdict,
        .reason = kinds[e->kind].reason != NULL ? kinds[e->kind].reason : e->reason,
        .decided_by = e,
    };
}

struct verdict verdict_decide(const struct events *ev)
{
    const struct event *first = next_deciding(ev, NULL);
    const struct event *next = NULL;

    if (first == NULL || first->kind == EVENT_ACCEPTED) {
        /* No report at all, or an acceptance without one: our fault, never a made-up success. */
        return (struct verdict){AIRLOCK_SANDBOX_FAILURE, "no_report", first};
    }
    if (first->kind != EVENT_EXIT) {
        return by_event(first);
    }
    if (!ev->has_exit) {
        return (struct verdict){AIRLOCK_SANDBOX_FAILURE, "no_report", first};
    }
    if (ev->exit.oom_killed_main) {
        return (struct verdict){AIRLOCK_OOM, "guest", first};
    }
    if (ev->exit.signaled || ev->exit.code != 0) {
        return (struct verdict){AIRLOCK_USER_EXCEPTION, ev->exit.signaled ? "signal" : "exit_code",
                                first};
    }
    next = next_deciding(ev, first);
    if (next == NULL || next->kind == EVENT_EXIT) {
        return (struct verdict){AIRLOCK_SANDBOX_FAILURE, "no_report", first};
    }
    return by_event(next);
}

const char *verdict_name(enum airlock_verdict v)
{
    static const char *const names[] = {
        [AIRLOCK_SUCCESS] = "success",
        [AIRLOCK_USER_EXCEPTION] = "user_exception",
        [AIRLOCK_REJECTED] = "rejected",
        [AIRLOCK_TIMEOUT] = "timeout",
        [AIRLOCK_OOM] = "oom",
        [AIRLOCK_OUTPUT_OVERFLOW] = "output_overflow",
        [AIRLOCK_OUTPUT_REJECTED] = "output_rejected",
        [AIRLOCK_SANDBOX_FAILURE] = "sandbox_failure",
        [AIRLOCK_CAPACITY_REJECTED] = "capacity_rejected",
        [AIRLOCK_CANCELED] = "canceled",
    };

    assert((size_t)v < ARRAY_LEN(names));
    return names[v];
}

int verdict_find(const char *name)
{
    for (int v = 0; name != NULL && v < VERDICT_COUNT; v++) {
        if (strcmp(verdict_name((enum airlock_verdict)v), name) == 0) {
            return v;
        }
    }
    return -1;
}

const char *event_name(enum event_kind kind)
{
    assert(kind < EVENT_KINDS);
    return kinds[kind].name;
}

const char *event_source(enum event_kind kind)
{
    assert(kind < EVENT_KINDS);
    return kinds[kind].guest ? "guest" : "host";
}

bool event_decides(enum event_kind kind)
{
    assert(kind < EVENT_KINDS);
    return kinds[kind].decides;
}

const char *signal_name(uint32_t number, char text[24])
{
    const char *abbrev = number < 32 ? sigabbrev_np((int)number) : NULL;

    if (abbrev != NULL) {
        (void)snprintf(text, 24, "SIG%s", abbrev);
    } else if (number >= 34 && number <= 64) {
        /* 34 is SIGRTMIN as the C library counts; 32 and 33 are its own. */
        (void)snprintf(text, 24, "SIGRTMIN+%u", (unsigned int)number - 34);
    } else {
        (void)snprintf(text, 24, "signal %u", (unsigned int)number);
    }
    return text;
}
