#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/log.h"
#include "test.h"

struct fixture {
    struct event_base *base;
    int read_fd, write_fd;
    struct log *log;
    char text[256 * 1024];
};

static void begin_with(struct fixture *f, enum log_level level)
{
    struct err err = ERR_INIT;

    f->base = event_base_new();
    assert_non_null(f->base);
    assert_ok(log_new(f->base, f->write_fd, level, &f->log, &err), &err);
}

static void begin(struct fixture *f, enum log_level level)
{
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    f->read_fd = fds[0];
    f->write_fd = fds[1];
    begin_with(f, level);
}

/* What can be read now. */
static const char *output(struct fixture *f)
{
    size_t n = 0;
    ssize_t got = 0;

    (void)fcntl(f->read_fd, F_SETFL, O_NONBLOCK);
    while ((got = read(f->read_fd, f->text + n, sizeof(f->text) - 1 - n)) > 0) {
        n += (size_t)got;
    }
    f->text[n] = '\0';
    return f->text;
}

static void end(struct fixture *f)
{
    log_free(f->log);
    event_base_free(f->base);
    (void)close(f->read_fd);
    (void)close(f->write_fd);
}

static void a_line_has_time_level_event_job_and_fields(void **state)
{
    static struct fixture f;
    const char *line = NULL;

    begin(&f, LOG_INFO);
    log_event(f.log, LOG_INFO, "job-ended", "0123", LOG_TEXT("verdict", "success"),
              LOG_NUMBER("ms", 12));
    log_event(f.log, LOG_DEBUG, "too-much", NULL);
    line = output(&f);
    assert_memory_equal(line, "time=20", 7);
    assert_string_equal(strstr(line, " level="),
                        " level=info event=job-ended job=0123 verdict=success ms=12\n");
    end(&f);
}

static void values_can_not_make_lines_or_fields(void **state)
{
    static struct fixture f;
    const char *line = NULL;

    begin(&f, LOG_INFO);
    log_event(f.log, LOG_INFO, "x", NULL, LOG_TEXT("a", "b\nlevel=error"),
              LOG_TEXT("c", "d\" e=\"f"), LOG_TEXT("g", "back\\"), LOG_TEXT("h", "\x1b[31m\xff"),
              LOG_TEXT("i", ""));
    line = strstr(output(&f), " a=");
    assert_non_null(line);
    assert_string_equal(line, " a=\"b\\x0alevel=error\" c=\"d\\\" e=\\\"f\" g=\"back\\\\\" "
                              "h=\"\\x1b[31m\\xff\" i=\"\"\n");
    end(&f);
}

static void long_values_are_cut(void **state)
{
    static struct fixture f;
    char value[2000];

    begin(&f, LOG_INFO);
    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    log_event(f.log, LOG_INFO, "x", NULL, LOG_TEXT("a", value));
    assert_true(strlen(output(&f)) < 400);
    assert_non_null(strstr(f.text, "vvv...\"\n"));
    end(&f);
}

static void nobody_reads_and_nobody_waits(void **state)
{
    static struct fixture f;

    begin(&f, LOG_INFO);
    for (unsigned int i = 0; i < 20000; i++) {
        log_event(f.log, LOG_INFO, "flood", NULL, LOG_NUMBER("i", i));
    }
    assert_true(log_lost(f.log) > 0);
    /* Somebody reads again: the buffered lines come, whole and in order, then what was lost. */
    for (unsigned int i = 0; i < 100; i++) {
        (void)output(&f);
        (void)event_base_loop(f.base, EVLOOP_NONBLOCK);
    }
    log_event(f.log, LOG_INFO, "after", NULL);
    assert_non_null(strstr(output(&f), "event=after"));
    end(&f);
}

static void lost_lines_are_told(void **state)
{
    static struct fixture f;
    bool told = false;

    begin(&f, LOG_INFO);
    for (unsigned int i = 0; i < 20000; i++) {
        log_event(f.log, LOG_INFO, "flood", NULL);
    }
    for (unsigned int i = 0; i < 100; i++) {
        told = told || strstr(output(&f), "event=log-lost lines=") != NULL;
        (void)event_base_loop(f.base, EVLOOP_NONBLOCK);
    }
    assert_true(told);
    end(&f);
}

static void a_socket_works_as_well(void **state)
{
    static struct fixture f;
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    f.read_fd = fds[0];
    f.write_fd = fds[1];
    begin_with(&f, LOG_WARNING);
    for (unsigned int i = 0; i < 20000; i++) {
        log_event(f.log, LOG_ERROR, "flood", NULL);
    }
    assert_non_null(strstr(output(&f), "level=error event=flood\n"));
    end(&f);
}

static void the_descriptor_of_others_stays_blocking(void **state)
{
    static struct fixture f;

    begin(&f, LOG_INFO);
    log_event(f.log, LOG_INFO, "x", NULL);
    assert_int_equal(fcntl(f.write_fd, F_GETFL) & O_NONBLOCK, 0);
    end(&f);
}

/* No event tells that a disk has room again: the next line finds out. */
static void a_file_that_was_full_goes_on(void **state)
{
    static struct fixture f;
    struct rlimit before = {0};
    struct rlimit tight = {0};
    const char *text = NULL;

    (void)state;
    f.write_fd = memfd_create("log", MFD_CLOEXEC);
    assert_true(f.write_fd >= 0);
    f.read_fd = dup(f.write_fd);
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    tight = (struct rlimit){.rlim_cur = 100, .rlim_max = before.rlim_max};
    begin_with(&f, LOG_INFO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    for (unsigned int i = 0; i < 10; i++) {
        log_event(f.log, LOG_INFO, "early", NULL, LOG_NUMBER("n", i));
    }
    assert_int_equal(lseek(f.read_fd, 0, SEEK_END), 100);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    log_event(f.log, LOG_INFO, "late", NULL);
    assert_int_equal(lseek(f.read_fd, 0, SEEK_SET), 0);
    text = output(&f);
    for (unsigned int i = 0; i < 10; i++) {
        char words[32];

        (void)snprintf(words, sizeof(words), "event=early n=%u\n", i);
        assert_non_null(strstr(text, words));
    }
    assert_non_null(strstr(text, "event=late\n"));
    assert_int_equal(log_lost(f.log), 0);
    end(&f);
}

TEST_MAIN(T(a_line_has_time_level_event_job_and_fields), T(values_can_not_make_lines_or_fields),
          T(long_values_are_cut), T(nobody_reads_and_nobody_waits), T(lost_lines_are_told),
          T(a_socket_works_as_well), T(the_descriptor_of_others_stays_blocking),
          T(a_file_that_was_full_goes_on))
