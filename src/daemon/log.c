/*
 * How it works: a line is made on the stack and written at once if nothing waits; what the
 * descriptor does not take goes to a buffer, which an event empties. How to write without waiting
 * depends on what it is: a socket has MSG_DONTWAIT; a pipe or terminal is opened anew, so that
 * O_NONBLOCK is ours alone and not that of everybody who shares the descriptor; a file never
 * makes anybody wait long enough to matter, and epoll does not take it.
 */
#include "daemon/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"

#include "sys/clock.h"
#include "sys/fd.h"

#define LOG_LINE_MAX 4096u /* also what a pipe takes in one piece */

struct log {
    int fd;     /* borrowed */
    int own_fd; /* opened anew; -1 = none */
    bool is_socket, is_file;
    enum log_level level;
    struct buf waiting;
    struct event *writable;
    uint64_t lost, lost_told;
};

static const char *const level_names[] = {
    [LOG_ERROR] = "error",
    [LOG_WARNING] = "warning",
    [LOG_INFO] = "info",
    [LOG_DEBUG] = "debug",
};

/* Bytes written; 0 if it would wait, or failed: the log has nowhere to complain. */
static size_t write_some(const struct log *log, const void *data, size_t len)
{
    ssize_t n = 0;

    if (log->is_socket) {
        n = send(log->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else {
        n = write(log->own_fd >= 0 ? log->own_fd : log->fd, data, len);
    }
    return n > 0 ? (size_t)n : 0;
}

static void flush_waiting(struct log *log)
{
    while (log->waiting.len > 0) {
        size_t n = write_some(log, log->waiting.data, log->waiting.len);

        if (n == 0) {
            break;
        }
        buf_consume(&log->waiting, n);
    }
}

static void put_line(struct log *log, const void *line, size_t len)
{
    size_t n = 0;

    if (log->writable == NULL) { /* no event says that a file's disk has room again */
        flush_waiting(log);
    }
    n = log->waiting.len == 0 ? write_some(log, line, len) : 0;
    if (n == len) {
        return;
    }
    if (buf_put(&log->waiting, (const char *)line + n, len - n) < 0) {
        log->lost++;
        return;
    }
    if (log->writable != NULL) {
        (void)event_add(log->writable, NULL);
    }
}

static void tell_lost(struct log *log)
{
    uint64_t lines = log->lost - log->lost_told;

    if (lines > 0 && log->waiting.len == 0) {
        log->lost_told = log->lost;
        log_event(log, LOG_WARNING, "log-lost", NULL, LOG_NUMBER("lines", lines));
    }
}

static void on_writable(evutil_socket_t fd, short what, void *ctx)
{
    struct log *log = ctx;

    (void)fd;
    (void)what;
    flush_waiting(log);
    if (log->waiting.len > 0) {
        (void)event_add(log->writable, NULL);
    }
    tell_lost(log);
}

int log_new(struct event_base *base, int fd, enum log_level level, struct log **ret,
            struct err *err)
{
    struct log *log = NULL;
    struct stat st;
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fstat(fd, &st) < 0) {
        return err_sys(err, "look at the log's descriptor");
    }
    log = calloc(1, sizeof(*log));
    if (log == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "set up the log: out of memory");
    }
    *log =
        (struct log){.fd = fd, .own_fd = -1, .level = level, .waiting = BUF_INIT(LOG_BUFFER_MAX)};
    log->is_socket = S_ISSOCK(st.st_mode);
    log->is_file = S_ISREG(st.st_mode) || S_ISBLK(st.st_mode);
    if (!log->is_socket && !log->is_file && (flags & O_NONBLOCK) == 0) {
        char path[40];

        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        log->own_fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        if (log->own_fd < 0) {
            int e = errno;

            log_free(log);
            return err_sys_num(err, e, "open the log anew, to write without waiting");
        }
    }
    if (!log->is_file) {
        log->writable =
            event_new(base, log->own_fd >= 0 ? log->own_fd : fd, EV_WRITE, on_writable, log);
        if (log->writable == NULL) {
            log_free(log);
            return err_set(err, ERR_HOST, ENOMEM, "set up the log: out of memory");
        }
    }
    *ret = log;
    return 0;
}

void log_free(struct log *log)
{
    if (log == NULL) {
        return;
    }
    flush_waiting(log);
    tell_lost(log);
    if (log->writable != NULL) {
        event_free(log->writable);
    }
    fd_close_p(&log->own_fd);
    buf_fini(&log->waiting);
    free(log);
}

void log_set_level(struct log *log, enum log_level level)
{
    log->level = level;
}

uint64_t log_lost(const struct log *log)
{
    return log->lost;
}

/* Plain words as they are, everything else in quotes, escaped. */
static int put_value(struct buf *line, const char *text)
{
    size_t len = strnlen(text, LOG_VALUE_MAX + 1);
    bool cut = len > LOG_VALUE_MAX;
    int r = 0;

    len = cut ? LOG_VALUE_MAX : len;
    if (len > 0 && !cut &&
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/+@%{},") ==
            len) {
        return buf_put(line, text, len);
    }
    r = buf_put(line, "\"", 1);
    /* Run by run: UTF-8 has no quote or backslash within a character. */
    for (size_t at = 0; at < len && r == 0;) {
        size_t run = at + strcspn(text + at, "\"\\") < len ? strcspn(text + at, "\"\\") : len - at;

        r = str_escape(line, text + at, run, false);
        at += run;
        if (r == 0 && at < len) {
            r = buf_printf(line, "\\%c", text[at++]);
        }
    }
    return r == 0 ? buf_printf(line, "%s\"", cut ? "..." : "") : r;
}

static int put_field(struct buf *line, const char *key, const char *text)
{
    int r = buf_printf(line, " %s=", key);

    return r == 0 ? put_value(line, text) : r;
}

static int make_line(struct buf *line, enum log_level level, const char *job,
                     const struct log_field *fields)
{
    uint64_t now = clock_ns(CLOCK_REALTIME);
    time_t seconds = (time_t)(now / NS_PER_S);
    struct tm tm;
    char stamp[32];
    int r = 0;

    (void)gmtime_r(&seconds, &tm);
    (void)strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm);
    r = buf_printf(line, "time=%s.%03uZ level=%s", stamp,
                   (unsigned int)(now % NS_PER_S / NS_PER_MS), level_names[level]);
    if (r == 0) {
        r = put_field(line, fields->key, fields->text);
        fields++;
    }
    if (r == 0 && job != NULL) {
        r = put_field(line, "job", job);
    }
    for (; fields->key != NULL && r == 0; fields++) {
        r = fields->text != NULL ? put_field(line, fields->key, fields->text)
                                 : buf_printf(line, " %s=%" PRIu64, fields->key, fields->number);
    }
    return r == 0 ? buf_put(line, "\n", 1) : r;
}

void log_put(struct log *log, enum log_level level, const char *job, const struct log_field *fields)
{
    auto_buf struct buf line = BUF_INIT(LOG_LINE_MAX);

    if (log == NULL || level > log->level) {
        return;
    }
    if (make_line(&line, level, job, fields) < 0) {
        log->lost++; /* too long, or no memory */
        return;
    }
    put_line(log, line.data, line.len);
    if (log->is_file) {
        tell_lost(log);
    }
}
