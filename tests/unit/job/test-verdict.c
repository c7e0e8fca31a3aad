#include <stdio.h>
#include <string.h>

#include "job/verdict.h"
#include "test.h"

/* Who wins when two things happen at one time: the one that stands first here. */
static const struct {
    enum event_kind kind;
    enum airlock_verdict verdict;
    const char *reason;
} order[] = {
    {EVENT_REJECTED, AIRLOCK_REJECTED, "own"},
    {EVENT_CAPACITY, AIRLOCK_CAPACITY_REJECTED, "own"},
    {EVENT_STDOUT_CAP, AIRLOCK_OUTPUT_OVERFLOW, "stdout"},
    {EVENT_STDERR_CAP, AIRLOCK_OUTPUT_OVERFLOW, "stderr"},
    {EVENT_WALL_LIMIT, AIRLOCK_TIMEOUT, "wall"},
    {EVENT_CPU_LIMIT, AIRLOCK_TIMEOUT, "cpu"},
    {EVENT_HOST_OOM, AIRLOCK_OOM, "host"},
    {EVENT_CANCELED, AIRLOCK_CANCELED, "own"},
    {EVENT_EXIT, AIRLOCK_USER_EXCEPTION, "exit_code"}, /* the exit below is 3 */
    {EVENT_OUTPUT_BYTES_CAP, AIRLOCK_OUTPUT_OVERFLOW, "output_bytes"},
    {EVENT_OUTPUT_FILES_CAP, AIRLOCK_OUTPUT_OVERFLOW, "output_files"},
    {EVENT_OUTPUT_DEPTH_CAP, AIRLOCK_OUTPUT_OVERFLOW, "output_depth"},
    {EVENT_OUTPUT_RULE, AIRLOCK_OUTPUT_REJECTED, "own"},
    {EVENT_PROTOCOL, AIRLOCK_SANDBOX_FAILURE, "own"},
    {EVENT_AGENT_FAILED, AIRLOCK_SANDBOX_FAILURE, "own"},
    {EVENT_DEADLINE, AIRLOCK_SANDBOX_FAILURE, "own"},
    {EVENT_MONITOR_EXIT, AIRLOCK_SANDBOX_FAILURE, "own"},
    {EVENT_HOST_FAULT, AIRLOCK_SANDBOX_FAILURE, "own"},
    {EVENT_ACCEPTED, AIRLOCK_SANDBOX_FAILURE, "no_report"}, /* without an exit it means nothing */
};

static void add(struct events *ev, enum event_kind kind, uint64_t at_ns, uint32_t code)
{
    if (kind == EVENT_EXIT) {
        ev->has_exit = true;
        ev->exit.code = code;
    }
    events_add(ev, kind, at_ns, "own", NULL);
}

static void check(const struct events *ev, enum airlock_verdict verdict, const char *reason)
{
    struct verdict v = verdict_decide(ev);

    assert_string_equal(verdict_name(v.verdict), verdict_name(verdict));
    if (reason == NULL) {
        assert_null(v.reason);
    } else {
        assert_non_null(v.reason);
        assert_string_equal(v.reason, reason);
    }
}

static void every_deciding_kind_is_in_the_order(void **state)
{
    size_t deciding = 0;

    (void)state;
    for (int k = 0; k < EVENT_KINDS; k++) {
        deciding += event_decides((enum event_kind)k);
    }
    assert_int_equal(deciding, ARRAY_LEN(order));
}

static void simultaneous_events_have_one_answer_in_either_order(void **state)
{
    (void)state;
    for (size_t a = 0; a < ARRAY_LEN(order); a++) {
        for (size_t b = a; b < ARRAY_LEN(order); b++) {
            struct events ab = {0};
            struct events ba = {0};

            add(&ab, order[a].kind, 5, 3);
            add(&ab, order[b].kind, 5, 3);
            add(&ba, order[b].kind, 5, 3);
            add(&ba, order[a].kind, 5, 3);
            check(&ab, order[a].verdict, order[a].reason);
            check(&ba, order[a].verdict, order[a].reason);
        }
    }
}

static void the_earlier_event_wins_whatever_its_kind(void **state)
{
    (void)state;
    for (size_t a = 0; a < ARRAY_LEN(order); a++) {
        for (size_t b = 0; b < ARRAY_LEN(order); b++) {
            struct events ev = {0};

            if (a == b || order[a].kind == EVENT_ACCEPTED) {
                continue;
            }
            add(&ev, order[b].kind, 6, 3);
            add(&ev, order[a].kind, 5, 3);
            check(&ev, order[a].verdict, order[a].reason);
        }
    }
}

static void nothing_recorded_is_our_failure(void **state)
{
    struct events ev = {0};

    (void)state;
    check(&ev, AIRLOCK_SANDBOX_FAILURE, "no_report");
    events_add(&ev, EVENT_OOM_KILL, 1, NULL, "told only");
    check(&ev, AIRLOCK_SANDBOX_FAILURE, "no_report");
}

static void exit_zero_alone_is_not_success(void **state)
{
    struct events ev = {0};

    (void)state;
    add(&ev, EVENT_EXIT, 5, 0);
    check(&ev, AIRLOCK_SANDBOX_FAILURE, "no_report");
    add(&ev, EVENT_ACCEPTED, 6, 0);
    check(&ev, AIRLOCK_SUCCESS, NULL);
}

static void exit_zero_is_decided_by_what_follows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        struct events ev = {0};

        if (order[i].kind == EVENT_EXIT || order[i].kind == EVENT_ACCEPTED) {
            continue;
        }
        add(&ev, EVENT_EXIT, 5, 0);
        add(&ev, order[i].kind, 7, 0);
        add(&ev, EVENT_ACCEPTED, 8, 0);
        check(&ev, order[i].verdict, order[i].reason);
    }
}

static void faults_after_a_failed_exit_change_nothing(void **state)
{
    struct events ev = {0};

    (void)state;
    add(&ev, EVENT_EXIT, 5, 137);
    add(&ev, EVENT_MONITOR_EXIT, 6, 0);
    check(&ev, AIRLOCK_USER_EXCEPTION, "exit_code");
}

static void oom_needs_the_main_process_to_be_the_victim(void **state)
{
    struct events ev = {0};

    (void)state;
    add(&ev, EVENT_EXIT, 5, 9);
    ev.exit.signaled = true;
    ev.exit.oom_kills = 1;
    check(&ev, AIRLOCK_USER_EXCEPTION, "signal");
    ev.exit.oom_killed_main = true;
    check(&ev, AIRLOCK_OOM, "guest");
}

static void told_events_never_crowd_out_deciding_ones(void **state)
{
    struct events ev = {0};

    (void)state;
    for (int i = 0; i < 1000; i++) {
        events_add(&ev, EVENT_OUTPUT_DROPPED, 1, NULL, NULL);
    }
    assert_true(ev.lost > 0);
    add(&ev, EVENT_WALL_LIMIT, 2, 0);
    check(&ev, AIRLOCK_TIMEOUT, "wall");
}

static void a_detail_is_cut_between_characters(void **state)
{
    struct events ev = {0};
    char text[2 * EVENT_DETAIL_MAX];
    size_t len = 0;

    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        ev.n = 0;
        memset(text, 'x', shift);
        for (size_t at = shift; at + 4 < sizeof(text); at += 4) {
            memcpy(text + at, "\xf0\x9f\x98\x80", 5);
        }
        events_add(&ev, EVENT_REJECTED, 1, "own", text);
        len = strlen(ev.list[0].detail);
        assert_true(len < EVENT_DETAIL_MAX && len >= EVENT_DETAIL_MAX - 4);
        assert_int_equal((len - shift) % 4, 0);
    }
}

static void signals_have_their_names(void **state)
{
    char text[24];

    (void)state;
    assert_string_equal(signal_name(9, text), "SIGKILL");
    assert_string_equal(signal_name(11, text), "SIGSEGV");
    assert_string_equal(signal_name(34, text), "SIGRTMIN+0");
    assert_string_equal(signal_name(99, text), "signal 99");
}

TEST_MAIN(T(every_deciding_kind_is_in_the_order), T(a_detail_is_cut_between_characters),
          T(simultaneous_events_have_one_answer_in_either_order),
          T(the_earlier_event_wins_whatever_its_kind), T(nothing_recorded_is_our_failure),
          T(exit_zero_alone_is_not_success), T(exit_zero_is_decided_by_what_follows),
          T(faults_after_a_failed_exit_change_nothing),
          T(oom_needs_the_main_process_to_be_the_victim),
          T(told_events_never_crowd_out_deciding_ones), T(signals_have_their_names))
