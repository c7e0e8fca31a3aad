/*
 * verdict.h - what happened to a job, and the one pure function that decides its verdict.
 *
 * The supervisor appends events with host monotonic times; nothing else is a ground for the
 * verdict.  The first deciding event wins; at the same nanosecond the earlier one in the order of
 * enum event_kind.  An exit with 0 is decided only by what follows it: a fault, a cap or a broken
 * output, or EVENT_ACCEPTED.  Without EVENT_ACCEPTED nothing is a success.
 */
#pragma once

#include "base/base.h"

#include "airlock/verdict.h"
#include "proto/msg.h"

enum event_kind {
    /* nothing started */
    EVENT_REJECTED,
    EVENT_CAPACITY,
    /* decided by the host while the machine lives */
    EVENT_STDOUT_CAP,
    EVENT_STDERR_CAP,
    EVENT_WALL_LIMIT,
    EVENT_CPU_LIMIT,
    EVENT_HOST_OOM,
    EVENT_CANCELED,
    /* the guest's report, evidence */
    EVENT_EXIT,
    /* after the exit */
    EVENT_OUTPUT_BYTES_CAP,
    EVENT_OUTPUT_FILES_CAP,
    EVENT_OUTPUT_DEPTH_CAP,
    EVENT_OUTPUT_RULE,
    /* faults of machine or host, in whatever phase */
    EVENT_PROTOCOL,     /* the channel carried what it must not */
    EVENT_AGENT_FAILED, /* the agent says it could not do its part */
    EVENT_DEADLINE,     /* boot, start, collect, ... took longer than they may */
    EVENT_MONITOR_EXIT, /* the monitor ended by itself, whatever its exit status */
    EVENT_HOST_FAULT,   /* a system call, the disk, the export */
    /* the last step of a good run */
    EVENT_ACCEPTED,
    /* told, never deciding */
    EVENT_OOM_KILL, /* oom_kill counted in the guest's job cgroup */
    EVENT_PIDS_REFUSED,
    EVENT_KERNEL_PANIC,
    EVENT_OUTPUT_DROPPED,
    EVENT_KINDS,
};

#define EVENT_DETAIL_MAX 1024 /* = ERR_MSG_MAX: the remedy stands at the end of a message */
#define EVENTS_MAX       64

struct event {
    enum event_kind kind;
    uint64_t at_ns; /* host monotonic, from submission */
    /*
     * REJECTED, CAPACITY, OUTPUT_RULE: the reason ("image", "memory", ...); faults: the phase
     * ("boot", "run", ...). Short fixed text of ours.
     */
    const char *reason;
    char detail[EVENT_DETAIL_MAX]; /* for people; guest bytes in it are already escaped */
};

struct events {
    struct event list[EVENTS_MAX];
    size_t n;
    uint64_t lost; /* told-only events that found no room; deciding ones always find some */
    bool has_exit;
    struct msg_exit exit; /* with EVENT_EXIT */
};

/* Appends; told-only kinds leave room for deciding ones. detail may be NULL. */
void events_add(struct events *ev, enum event_kind kind, uint64_t at_ns, const char *reason,
                const char *detail) nonnull_args(1);

struct verdict {
    enum airlock_verdict verdict;
    const char *reason;             /* which limit, rule or phase; NULL with success and canceled */
    const struct event *decided_by; /* NULL only if nothing at all was recorded */
};

/* Pure: same events, same verdict. */
struct verdict verdict_decide(const struct events *ev) nonnull_all;

#define VERDICT_COUNT (AIRLOCK_CANCELED + 1)

const char *verdict_name(enum airlock_verdict v);
/* The verdict of this name; -1 if it is none, or NULL. */
int verdict_find(const char *name);
const char *event_name(enum event_kind kind);
/* "host" or "guest": who said so. */
const char *event_source(enum event_kind kind);
/* True if the kind can decide a verdict. */
bool event_decides(enum event_kind kind);
/* "SIGSEGV" for a signal number of x86-64 Linux, "SIGRTMIN+3", or "signal 99". */
const char *signal_name(uint32_t number, char text[24]);
