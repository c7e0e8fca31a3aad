/*
 * log.h - what happened, for the operator: one logfmt line an event.
 *
 *   time=2026-11-30T07:30:00.123Z level=info event=job-ended job=ID verdict=success run_ms=12
 *
 * Writing never waits: lines go through a bounded buffer; those that find no room are counted and
 * told as event=log-lost when there is room again. No bytes of a user belong in here; what could
 * hold some all the same (names, tenants) is quoted and escaped.
 */
#pragma once

#include <event2/event.h>

#include "base/base.h"
#include "base/err.h"

struct log;

enum log_level {
    LOG_ERROR,
    LOG_WARNING,
    LOG_INFO,
    LOG_DEBUG
};

#define LOG_VALUE_MAX  256u /* longer values are cut and end in "..." */
#define LOG_BUFFER_MAX (256 * KIB)

struct log_field {
    const char *key;  /* a constant: a-z and '_'; NULL ends the list */
    const char *text; /* NULL: the number */
    uint64_t number;
};

#define LOG_TEXT(k, v)                       \
    (struct log_field)                       \
    {                                        \
        .key = (k), .text = (v), .number = 0 \
    }
#define LOG_NUMBER(k, v)                        \
    (struct log_field)                          \
    {                                           \
        .key = (k), .text = NULL, .number = (v) \
    }

/* fd is borrowed and must outlive the log; lines above level are not written. */
must_use int log_new(struct event_base *base, int fd, enum log_level level, struct log **ret,
                     struct err *err) nonnull_all;
/* Writes what can be written without waiting, drops the rest. NULL is fine. */
void log_free(struct log *log);
void log_set_level(struct log *log, enum log_level level) nonnull_all;
/* Lines that found no room since the start. */
uint64_t log_lost(const struct log *log) nonnull_all;

/* The first field is the event; job may be NULL. log NULL: nothing is written (tests). */
void log_put(struct log *log, enum log_level level, const char *job, const struct log_field *fields)
    nonnull_args(4);

/* log_event(log, LOG_INFO, "job-ended", id, LOG_TEXT("verdict", v), LOG_NUMBER("run_ms", n)) */
#define log_event(log, level, event, job, ...) \
    log_put((log), (level), (job),             \
            (const struct log_field[]){LOG_TEXT("event", (event)), ##__VA_ARGS__, {.key = NULL}})
