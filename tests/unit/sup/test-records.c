/* Records: what is in them, how they are kept, and that their number and size stay bounded. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store-dir.h"
#include "sup/records.h"
#include "sys/fd.h"
#include "test.h"

/* With every write a look at the limits, unless a case is about that. */
static const struct records_limits limits = {.count = 5,
                                             .bytes = 1000,
                                             .age_ns = 3600 * NS_PER_S,
                                             .every = 1};

static const char *id_of(unsigned int n, char id[RECORDS_ID_SIZE])
{
    (void)snprintf(id, RECORDS_ID_SIZE, "%08x%024x", n, 0xabcu);
    return id;
}

static int put(unsigned int n, const char *text, bool replace, const struct records_limits *l)
{
    auto_buf struct buf json = BUF_INIT(4096);
    struct err err = ERR_INIT;
    char id[RECORDS_ID_SIZE];

    assert_int_equal(buf_put(&json, text, strlen(text)), 0);
    return records_put(store, id_of(n, id), &json, replace, l, &err);
}

/* Makes the record this many seconds old. */
static void age(unsigned int n, time_t seconds)
{
    char id[RECORDS_ID_SIZE];
    char path[80];
    struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};

    (void)snprintf(path, sizeof(path), "records/%s.json", id_of(n, id));
    assert_int_equal(utimensat(store, path, times, 0), 0);
}

static size_t count(void)
{
    auto_free struct records_item *items = NULL;
    struct err err = ERR_INIT;
    size_t n = 0;

    assert_ok(records_list(store, &items, &n, &err), &err);
    return n;
}

static bool is_there(unsigned int n)
{
    auto_buf struct buf text = BUF_INIT(4096);
    struct err err = ERR_INIT;
    char id[RECORDS_ID_SIZE];

    return records_load(store, id_of(n, id), &text, &err) == 0;
}

static void a_record_is_stored_replaced_or_left(void **state)
{
    auto_buf struct buf text = BUF_INIT(4096);
    struct err err = ERR_INIT;
    struct stat st = {0};
    char id[RECORDS_ID_SIZE];

    (void)state;
    assert_int_equal(count(), 0);
    assert_int_equal(put(1, "first", false, &limits), 0);
    assert_int_equal(put(1, "second", false, &limits), 1);
    assert_ok(records_read(store, "0", id, &text, &err), &err);
    assert_memory_equal(text.data, "first", 5);
    assert_int_equal(put(1, "third", true, &limits), 0);
    text.len = 0;
    assert_ok(records_read(store, "00000001", id, &text, &err), &err);
    assert_memory_equal(text.data, "third", 5);
    assert_int_equal(count(), 1);
    assert_int_equal(fstatat(store, "records", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
}

static void an_id_is_found_by_what_only_it_begins_with(void **state)
{
    auto_buf struct buf text = BUF_INIT(4096);

    static const struct {
        const char *prefix;
        int r;
    } cases[] = {{"000000", -EEXIST}, {"00000010", 0}, {"1", -ENOENT},        {"", -EINVAL},
                 {"../x", -EINVAL},   {"AB", -EINVAL}, {"00000011g", -EINVAL}};

    char id[RECORDS_ID_SIZE];

    (void)state;
    assert_int_equal(put(0x10, "a", true, &limits), 0);
    assert_int_equal(put(0x11, "b", true, &limits), 0);
    assert_int_equal(put(0x01, "c", true, &limits), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;

        assert_int_equal(records_read(store, cases[i].prefix, id, &text, &err), cases[i].r);
    }
}

static void an_id_that_is_none_is_refused(void **state)
{
    static const char *const bad[] = {"", "../../etc/passwd", "0123456789abcdef",
                                      "0123456789ABCDEF0123456789abcdef",
                                      "0123456789abcdef0123456789abcdef0"};
    auto_buf struct buf json = BUF_INIT(16);

    (void)state;
    assert_int_equal(buf_put(&json, "{}", 2), 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = ERR_INIT;

        assert_int_equal(records_put(store, bad[i], &json, true, &limits, &err), -EINVAL);
    }
    assert_int_equal(count(), 0);
}

static void the_oldest_go_when_there_are_too_many(void **state)
{
    (void)state;
    for (unsigned int i = 0; i < 9; i++) {
        assert_int_equal(put(i, "x", true, &limits), 0);
        age(i, 100 - (time_t)i);
    }
    assert_int_equal(put(9, "x", true, &limits), 0);
    assert_int_equal(count(), 5);
    assert_true(is_there(9) && is_there(5) && !is_there(4) && !is_there(0));
}

static void the_oldest_go_when_they_take_too_much(void **state)
{
    char text[400];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (unsigned int i = 0; i < 3; i++) {
        assert_int_equal(put(i, text, true, &limits), 0);
        age(i, 100 - (time_t)i);
    }
    assert_int_equal(put(3, "small", true, &limits), 0);
    assert_int_equal(count(), 3);
    assert_true(is_there(3) && is_there(2) && is_there(1));
}

static void what_is_too_old_goes(void **state)
{
    (void)state;
    assert_int_equal(put(1, "x", true, &limits), 0);
    age(1, 3700);
    assert_int_equal(put(2, "x", true, &limits), 0);
    assert_int_equal(count(), 1);
    assert_true(is_there(2));
}

static void the_limits_are_looked_at_once_in_a_while(void **state)
{
    const struct records_limits rarely = {
        .count = 2, .bytes = 1000, .age_ns = 3600 * NS_PER_S, .every = 8};
    size_t most = 0;

    (void)state;
    for (unsigned int i = 0; i < 40; i++) {
        assert_int_equal(put(i, "x", true, &rarely), 0);
        most = count() > most ? count() : most;
    }
    assert_true(most > 2 && most <= 2 + 8);
}

static void foreign_files_are_neither_listed_nor_removed(void **state)
{
    struct stat st = {0};

    (void)state;
    assert_int_equal(put(1, "x", true, &limits), 0);
    assert_int_equal(mkfifoat(store, "records/00000000000000000000000000000000.json", 0600), 0);
    assert_int_equal(mkdirat(store, "records/notes", 0700), 0);
    assert_int_equal(
        symlinkat("/etc/passwd", store, "records/11111111111111111111111111111111.json"), 0);
    for (unsigned int i = 2; i < 12; i++) {
        assert_int_equal(put(i, "x", true, &limits), 0);
    }
    assert_int_equal(count(), 5);
    assert_int_equal(fstatat(store, "records/notes", &st, 0), 0);
}

static void a_directory_that_others_may_write_is_not_used(void **state)
{
    (void)state;
    assert_int_equal(mkdirat(store, "records", 0700), 0);
    assert_int_equal(fchmodat(store, "records", 0777, 0), 0);
    assert_int_equal(put(1, "x", true, &limits), -EPERM);
}

static void writers_at_once_lose_nothing(void **state)
{
    const struct records_limits wide = {
        .count = 1000, .bytes = MIB, .age_ns = 3600 * NS_PER_S, .every = 3};

    (void)state;
    for (unsigned int w = 0; w < 4; w++) {
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
            int bad = 0;

            for (unsigned int i = 0; i < 25; i++) {
                bad += put(w * 100 + i, "text", true, &wide) != 0;
            }
            _exit(bad);
        }
    }
    for (unsigned int w = 0; w < 4; w++) {
        int status = 0;

        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count(), 100);
}

static json_t *json_of(const struct result *r, const struct record *rec)
{
    auto_buf struct buf text = BUF_INIT(RECORD_JSON_MAX);
    json_t *o = NULL;

    assert_int_equal(record_json(r, rec, &text), 0);
    o = json_loadb((const char *)text.data, text.len, 0, NULL);
    assert_non_null(o);
    return o;
}

static void a_record_leaves_out_what_events_say(void **state)
{
    auto_spec struct spec spec;
    struct events *events = calloc(1, sizeof(*events));
    struct result result = {.spec = &spec, .events = events};
    const struct record record = {.state = RECORD_FINISHED, .written_by = "supervisor"};
    auto_buf struct buf text = BUF_INIT(RECORD_JSON_MAX);
    struct err err = ERR_INIT;

    (void)state;
    assert_non_null(events);
    spec_init(&spec);
    assert_ok(spec_add_arg(&spec, "user-arg", &err), &err);
    assert_ok(spec_add_env(&spec, "USER_ENV=user-value", &err), &err);
    events_add(events, EVENT_MONITOR_EXIT, 5, "run", "user-console");
    assert_int_equal(record_json(&result, &record, &text), 0);
    assert_int_equal(buf_put(&text, "", 1), 0);
    assert_null(strcasestr((const char *)text.data, "user"));
    assert_non_null(strstr((const char *)text.data, "\"monitor_exit\""));
    free(events);
}

static void digest(const char *arg, const char *env, struct digest *ret)
{
    auto_spec struct spec spec;
    struct result result = {.spec = &spec};
    const struct record record = {.state = RECORD_FINISHED, .written_by = "supervisor"};
    struct err err = ERR_INIT;

    spec_init(&spec);
    assert_ok(spec_add_arg(&spec, arg, &err), &err);
    assert_ok(spec_add_env(&spec, env, &err), &err);
    assert_ok(record_spec_digest(&result, &record, ret, &err), &err);
}

static void the_digest_of_a_job_knows_no_value_of_the_environment(void **state)
{
    struct digest one = {""};
    struct digest two = {""};
    struct digest three = {""};
    struct digest four = {""};

    (void)state;
    digest("a", "K=1", &one);
    digest("a", "K=2", &two);
    digest("b", "K=1", &three);
    digest("a", "L=1", &four);
    assert_string_equal(one.hex, two.hex);
    assert_string_not_equal(one.hex, three.hex);
    assert_string_not_equal(one.hex, four.hex);
}

static void a_lost_job_claims_nothing_that_is_not_known(void **state)
{
    auto_buf struct buf text = BUF_INIT(RECORD_JSON_MAX);
    struct ledger_entry entry = {.readable = true,
                                 .machine_id = "0123456789abcdef0123456789abcdef"};
    struct err err = ERR_INIT;
    json_t *o = NULL;

    (void)state;
    assert_ok(records_put_lost(store, &entry, &err), &err);
    assert_ok(records_put_lost(store, &entry, &err), &err);
    assert_int_equal(count(), 1);
    assert_ok(records_load(store, entry.machine_id, &text, &err), &err);
    o = json_loadb((const char *)text.data, text.len, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(o, "verdict")), "sandbox_failure");
    assert_string_equal(json_string_value(json_object_get(o, "reason")), "supervisor_lost");
    assert_string_equal(json_string_value(json_object_get(o, "state")), "lost");
    assert_true(json_is_null(json_object_get(o, "limits")));
    assert_true(json_is_null(json_object_get(o, "machine")));
    json_decref(o);
    entry.readable = false;
    entry.machine_id[0] = 'f';
    assert_ok(records_put_lost(store, &entry, &err), &err);
    assert_int_equal(count(), 1);
}

static void a_check_that_failed_is_named_with_what_was_found(void **state)
{
    auto_spec struct spec spec;
    struct events *events = calloc(1, sizeof(*events));
    struct result result = {
        .spec = &spec,
        .events = events,
        .checks = {{"good", true, ""}, {"bad", false, "two \xff things"}},
    };
    const struct record record = {.state = RECORD_FINISHED, .written_by = "supervisor"};
    json_t *o = NULL;
    json_t *cleanup = NULL;

    (void)state;
    assert_non_null(events);
    spec_init(&spec);
    o = json_of(&result, &record);
    assert_true(json_is_null(json_object_get(json_object_get(o, "cleanup"), "verified")));
    json_decref(o);
    result.n_checks = 2;
    o = json_of(&result, &record);
    cleanup = json_object_get(o, "cleanup");
    assert_true(json_is_false(json_object_get(cleanup, "verified")));
    assert_true(json_is_true(json_object_get(json_object_get(cleanup, "checks"), "good")));
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(cleanup, "failures"), "bad")),
        "two \\xff things");
    json_decref(o);
    result.n_checks = 1;
    o = json_of(&result, &record);
    assert_true(json_is_true(json_object_get(json_object_get(o, "cleanup"), "verified")));
    json_decref(o);
    free(events);
}

#define D(f) cmocka_unit_test_setup_teardown(f, make_store, drop_store)

TEST_MAIN(D(a_record_is_stored_replaced_or_left), D(an_id_is_found_by_what_only_it_begins_with),
          D(an_id_that_is_none_is_refused), D(the_oldest_go_when_there_are_too_many),
          D(the_oldest_go_when_they_take_too_much), D(what_is_too_old_goes),
          D(the_limits_are_looked_at_once_in_a_while),
          D(foreign_files_are_neither_listed_nor_removed),
          D(a_directory_that_others_may_write_is_not_used), D(writers_at_once_lose_nothing),
          D(a_record_leaves_out_what_events_say),
          D(the_digest_of_a_job_knows_no_value_of_the_environment),
          D(a_lost_job_claims_nothing_that_is_not_known),
          D(a_check_that_failed_is_named_with_what_was_found))
