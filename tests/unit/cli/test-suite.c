/*
 * The suite's own judgement: headers are read strictly, and each key has a result that holds and one
 * that does not. A judge that lets everything pass would make every other test of the suite empty.
 */
#include <stdio.h>
#include <string.h>

#include "cli/report.h"
#include "cli/suite-case.h"
#include "cli/suite-judge.h"
#include "cli/suite-limits.h"
#include "cli/suite-load.h"
#include "cli/suite-report.h"
#include "test.h"

/* A job that ended well, with something in every field that keys look at. */
static const char base_result[] =
    "{\"verdict\":\"success\",\"reason\":null,\"message\":\"fine\",\"exit_code\":0,\"signal\":null,"
    "\"stdout\":{\"encoding\":\"utf8\",\"data\":\"one two\",\"bytes\":7,\"truncated\":false},"
    "\"stderr\":{\"encoding\":\"utf8\",\"data\":\"warned\",\"bytes\":6,\"truncated\":false},"
    "\"outputs\":[{\"name\":\"a.txt\",\"bytes\":5}],"
    "\"dropped\":[{\"name\":\"l\",\"why\":\"not a regular file\"}],"
    "\"limits\":{\"stdout_bytes\":100,\"stderr_bytes\":100},"
    "\"phases\":{\"spawned_ns\":1,\"started_ns\":1000000000,\"exited_ns\":3000000000},"
    "\"peaks\":{\"guest_memory_bytes\":52428800},"
    "\"events\":[{\"kind\":\"exit\"},{\"kind\":\"accepted\"}],"
    "\"cleanup\":{\"verified\":true,\"checks\":{}}}";

static struct suite_case case_of(const char *path, const char *head)
{
    const char *mark = strstr(path, ".py") != NULL ? "#" : "//";
    struct suite_case c = {.after = SIZE_MAX};
    struct err err = ERR_INIT;
    char text[2048];
    int n = snprintf(text, sizeof(text), "%s airlock-case: %s\n", mark, head);

    assert_true(n > 0 && (size_t)n < sizeof(text));
    assert_ok(suite_case_parse(path, text, (size_t)n, &c, &err), &err);
    return c;
}

/* change: what is different from base_result, or NULL. */
static bool judged(const char *head, const char *change, int exit_code)
{
    struct suite_case c = case_of("f/k.py", head);
    auto_buf struct buf why = BUF_INIT(SUITE_WHY_MAX);
    json_t *result = json_loads(base_result, 0, NULL);
    json_t *patch = json_loads(change != NULL ? change : "{}", JSON_ALLOW_NUL, NULL);
    bool good = false;

    assert_non_null(result);
    assert_non_null(patch);
    assert_int_equal(json_object_update(result, patch), 0);
    good = suite_judge(&c, result, exit_code, &why);
    assert_true(good == (why.len == 0)); /* a failure says why, and only a failure */
    json_decref(patch);
    json_decref(result);
    suite_case_fini(&c);
    return good;
}

#define NEG                                                                                \
    "{\"verdict\":\"user_exception\",\"reason\":\"signal\",\"exit_code\":null,\"signal\":" \
    "\"SIGSEGV\",\"outputs\":[]}"
#define THREE \
    "{\"verdict\":\"user_exception\",\"reason\":\"exit_code\",\"exit_code\":3,\"outputs\":[]}"
#define WALL "{\"verdict\":\"timeout\",\"reason\":\"wall\",\"exit_code\":null,\"outputs\":[]}"

static const struct {
    const char *head;
    const char *change;
    int exit_code;
    bool good;
} judgements[] = {
    {"{\"expect\":\"success\"}", NULL, 0, true},
    {"{\"expect\":\"timeout\"}", NULL, 0, false},
    {"{\"expect\":[\"oom\",\"success\"]}", NULL, 0, true},
    {"{\"expect\":[\"oom\",\"timeout\"]}", NULL, 0, false},
    {"{\"expect\":\"timeout\",\"which\":\"wall\"}", WALL, 3, true},
    {"{\"expect\":\"timeout\",\"which\":\"cpu\"}", WALL, 3, false},
    {"{\"expect\":\"timeout\",\"reason\":[\"cpu\",\"wall\"]}", WALL, 3, true},
    {"{\"expect\":\"timeout\",\"reason\":\"cpu\"}", WALL, 3, false},
    {"{\"expect\":\"user_exception\",\"reason\":\"exit_code\"}", THREE, 1, true},
    {"{\"expect\":\"user_exception\",\"reason\":\"signal\"}", THREE, 1, false},
    /* one of several verdicts: a reason is compared only where there is one */
    {"{\"expect\":[\"success\",\"timeout\"],\"which\":\"cpu\"}", NULL, 0, true},
    {"{\"expect\":[\"success\",\"timeout\"],\"which\":\"cpu\"}", WALL, 3, false},
    {"{\"expect\":\"success\",\"exit\":0}", NULL, 0, true},
    {"{\"expect\":\"user_exception\",\"exit\":3}", THREE, 1, true},
    {"{\"expect\":\"user_exception\",\"exit\":4}", THREE, 1, false},
    {"{\"expect\":\"user_exception\",\"exit_any\":[1,3]}", THREE, 1, true},
    {"{\"expect\":\"user_exception\",\"exit_any\":[1,2]}", THREE, 1, false},
    {"{\"expect\":\"user_exception\",\"signal\":11}", NEG, 1, true},
    {"{\"expect\":\"user_exception\",\"signal\":\"SIGSEGV\"}", NEG, 1, true},
    {"{\"expect\":\"user_exception\",\"signal\":6}", NEG, 1, false},
    {"{\"expect\":\"user_exception\",\"signal_any\":[6,\"SIGSEGV\"]}", NEG, 1, true},
    {"{\"expect\":\"user_exception\",\"signal_any\":[6,9]}", NEG, 1, false},
    /* each key names ways that are right */
    {"{\"expect\":\"user_exception\",\"signal\":11,\"exit_any\":[3]}", THREE, 1, true},
    {"{\"expect\":\"user_exception\",\"signal\":11,\"exit_any\":[4]}", THREE, 1, false},
    {"{\"expect\":\"timeout\",\"exit\":0}", WALL, 3, false},
    {"{\"expect\":\"success\",\"stdout\":\"one two\"}", NULL, 0, true},
    {"{\"expect\":\"success\",\"stdout\":\"one two\\n\"}", NULL, 0, false},
    {"{\"expect\":\"success\",\"stdout\":\"\"}", NULL, 0, false},
    {"{\"expect\":\"success\",\"stdout\":\"\\u0000\\u00ff\"}",
     "{\"stdout\":{\"encoding\":\"base64\",\"data\":\"AMO/\",\"bytes\":3}}", 0, true},
    {"{\"expect\":\"success\",\"stdout\":\"\"}", "{\"stdout\":null}", 0, true},
    {"{\"expect\":\"success\",\"has\":\"two\"}", NULL, 0, true},
    {"{\"expect\":\"success\",\"has\":[\"one\",\"three\"]}", NULL, 0, false},
    {"{\"expect\":\"success\",\"has\":\"warned\"}", NULL, 0, false},
    {"{\"expect\":\"success\",\"has_any\":[\"three\",\"one\"]}", NULL, 0, true},
    {"{\"expect\":\"success\",\"has_any\":[\"three\",\"four\"]}", NULL, 0, false},
    {"{\"expect\":\"success\",\"never\":\"three\"}", NULL, 0, true},
    {"{\"expect\":\"success\",\"never\":[\"three\",\"one\"]}", NULL, 0, false},
    {"{\"expect\":\"success\",\"err\":\"warn\"}", NULL, 0, true},
    {"{\"expect\":\"success\",\"err\":\"one\"}", NULL, 0, false},
    {"{\"expect\":\"success\",\"out_bytes\":7}", NULL, 0, true},
    {"{\"expect\":\"success\",\"out_bytes\":8}", NULL, 0, false},
    {"{\"expect\":\"success\",\"outputs\":{\"a.txt\":5}}", NULL, 0, true},
    {"{\"expect\":\"success\",\"outputs\":{\"a.txt\":null}}", NULL, 0, true},
    {"{\"expect\":\"success\",\"outputs\":{\"a.txt\":6}}", NULL, 0, false},
    {"{\"expect\":\"success\",\"outputs\":{}}", NULL, 0, false},
    {"{\"expect\":\"success\",\"outputs\":{\"a.txt\":5,\"b\":null}}", NULL, 0, false},
    {"{\"expect\":\"success\",\"dropped\":1}", NULL, 0, true},
    {"{\"expect\":\"success\",\"dropped\":0}", NULL, 0, false},
    {"{\"expect\":\"success\",\"dropped\":[\"not a regular file\"]}", NULL, 0, true},
    {"{\"expect\":\"success\",\"dropped\":[\"duplicate\"]}", NULL, 0, false},
    {"{\"expect\":\"success\",\"dropped\":[\"not a regular file\"]}", "{\"dropped\":[]}", 0, false},
    {"{\"expect\":\"success\",\"events\":[\"exit\"]}", NULL, 0, true},
    {"{\"expect\":\"success\",\"events\":[\"exit\",\"oom_kill\"]}", NULL, 0, false},
    {"{\"expect\":\"success\",\"min_peak_mib\":50}", NULL, 0, true},
    {"{\"expect\":\"success\",\"min_peak_mib\":51}", NULL, 0, false},
    {"{\"expect\":\"success\",\"max_run_s\":2}", NULL, 0, true},
    {"{\"expect\":\"success\",\"max_run_s\":1.9}", NULL, 0, false},
    {"{\"expect\":\"success\",\"max_run_s\":2}", "{\"phases\":{}}", 0, false},
    /* what holds for every job */
    {"{\"expect\":\"success\"}", NULL, 1, false},
    {"{\"expect\":\"success\"}", NULL, -1, false},
    {"{\"expect\":\"success\"}", "{\"verdict\":null}", 0, false},
    {"{\"expect\":\"success\"}", "{\"limits\":{\"stdout_bytes\":6}}", 0, false},
    {"{\"expect\":\"success\"}", "{\"cleanup\":{\"verified\":false}}", 0, false},
    {"{\"expect\":\"timeout\"}", "{\"verdict\":\"timeout\",\"reason\":\"wall\"}", 3, false},
};

static void each_key_holds_and_fails(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(judgements); i++) {
        if (judged(judgements[i].head, judgements[i].change, judgements[i].exit_code) !=
            judgements[i].good) {
            fail_msg("row %zu: %s", i, judgements[i].head);
        }
    }
}

static void failures_are_one_harmless_line(void **state)
{
    struct suite_case c = case_of("f/k.py", "{\"expect\":\"success\",\"stdout\":\"x\"}");
    auto_buf struct buf why = BUF_INIT(SUITE_WHY_MAX);
    json_t *result = json_loads(base_result, 0, NULL);

    (void)state;
    assert_int_equal(json_object_set_new(json_object_get(result, "stdout"), "data",
                                         json_string("\x1b[31m\nforged\n")),
                     0);
    assert_false(suite_judge(&c, result, 0, &why));
    assert_null(memchr(why.data, '\x1b', why.len));
    assert_null(memchr(why.data, '\n', why.len));
    json_decref(result);
    suite_case_fini(&c);
}

/* The error's text, or "" if it was taken. */
static const char *refusal(const char *path, const char *text, struct err *err)
{
    struct suite_case c = {.after = SIZE_MAX};

    *err = (struct err)ERR_INIT;
    if (suite_case_parse(path, text, strlen(text), &c, err) == 0) {
        suite_case_fini(&c);
        return "";
    }
    return err->msg;
}

static void headers_are_read_strictly(void **state)
{
    static const struct {
        const char *path, *text, *says;
    } rows[] = {
        {"f/k.py", "print(1)\n", "first line"},
        {"f/k.py", "", "first line"},
        {"f/k.js", "# airlock-case: {\"expect\":\"success\"}\n", "first line"},
        {"f/k.txt", "# airlock-case: {\"expect\":\"success\"}\n", "neither"},
        {"f/k.py", "# airlock-case: {\"expect\":\n", "column"},
        {"f/k.py", "# airlock-case: [1]\n", "object"},
        {"f/k.py", "# airlock-case: {}\n", "'expect' is missing"},
        {"f/k.py", "# airlock-case: {\"expect\":\"fine\"}\n", "no verdict"},
        {"f/k.py", "# airlock-case: {\"expect\":[]}\n", "'expect' must be"},
        {"f/k.py", "# airlock-case: {\"expect\":\"success\",\"expects\":1}\n", "'expects'"},
        {"f/k.py", "# airlock-case: {\"expect\":\"success\",\"exit\":\"1\"}\n", "'exit' must"},
        {"f/k.py", "# airlock-case: {\"expect\":\"success\",\"exit\":-1}\n", "'exit' must"},
        {"f/k.py", "# airlock-case: {\"expect\":\"success\",\"exit\":1,\"exit\":1}\n", "column"},
        {"f/k.py", "# airlock-case: {\"expect\":\"success\",\"has\":[1]}\n", "'has' must"},
        {"f/k.py", "# airlock-case: {\"expect\":\"success\",\"signal\":\"SIGNO\"}\n", "no signal"},
        {"f/k.py", "# airlock-case: {\"expect\":\"success\",\"limits\":{\"mem\":1}}\n", "'mem'"},
        {"f/k.py", "# airlock-case: {\"expect\":\"success\",\"limits\":{\"wall_s\":0}}\n",
         "'wall_s' must"},
        {"f/k.py", "# airlock-case: {\"expect\":\"success\",\"stdin_hex\":\"0\"}\n", "pairs"},
        {"f/k.py", "# airlock-case: {\"expect\":\"success\",\"stdin_hex\":\"0g\"}\n", "pairs"},
        {"f/k.py", "# airlock-case: {\"expect\":\"success\",\"stdin\":\"\",\"stdin_bytes\":1}\n",
         "exclude"},
        {"f/k.py", "# airlock-case: {\"expect\":\"success\",\"in\":{\"a\":1}}\n", "'in' must"},
        {"f/k.py", "# airlock-case: {\"expect\":\"success\",\"root\":1}\n", "'root' must"},
    };
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *said = refusal(rows[i].path, rows[i].text, &err);

        if (strstr(said, rows[i].says) == NULL || strstr(said, rows[i].path) == NULL) {
            fail_msg("row %zu: '%s' lacks '%s'", i, said, rows[i].says);
        }
    }
    assert_string_equal(refusal("f/k.cjs", "// airlock-case: {\"expect\":\"oom\"}", &err), "");
}

static void every_documented_key_is_taken(void **state)
{
    struct suite_case c = case_of(
        "f/k.js",
        "{\"expect\":\"success\",\"which\":\"a\",\"reason\":[\"a\"],\"exit\":0,\"exit_any\":[0],"
        "\"signal\":9,\"signal_any\":[\"SIGKILL\"],\"stdout\":\"\",\"has\":\"\",\"has_any\":[\"\"],"
        "\"never\":\"n\",\"err\":\"\",\"out_bytes\":0,\"stdin_hex\":\"00Ff\",\"limits\":{\"wall_s\":"
        "1.5,\"cpu_s\":1,\"mem_mib\":64,\"pids\":1,\"disk_mib\":4,\"out_kib\":1,\"err_kib\":1,"
        "\"inodes\":16,\"vcpus\":1,\"out_files\":1,\"out_total_kib\":1,\"out_depth\":1},\"after\":"
        "\"f/j\",\"needs\":[\"numpy\"],\"note\":\"\",\"source\":\"https://example.org\",\"root\":"
        "true,\"args\":[\"-x\"],\"env\":{\"A\":\"b\"},\"in\":{\"n\":\"t\"},\"outputs\":{\"o\":null},"
        "\"dropped\":[\"r\"],\"events\":\"exit\",\"contract\":\"files\",\"only\":\"w\",\"quick\":"
        "false,\"min_peak_mib\":0,\"max_run_s\":1,\"ref_known_bad\":\"r\"}");
    auto_free uint8_t *data = NULL;
    size_t len = 0;
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(suite_case_stdin(&c, &data, &len, &err), &err);
    assert_int_equal(len, 2);
    assert_memory_equal(data, "\0\xff", 2);
    suite_case_fini(&c);
}

/* True if the options for the header have this word. */
static bool has_word(const char *path, const char *head, unsigned int slow, const char *word)
{
    struct suite_case c = case_of(path, head);
    auto_suite_words struct suite_words words = {.n = 0};
    json_t *changes = json_array();
    struct err err = ERR_INIT;
    bool found = false;

    assert_ok(suite_limit_words(&c, slow, &words, changes, &err), &err);
    for (size_t i = 0; i < words.n; i++) {
        found = found || strcmp(words.list[i], word) == 0;
    }
    json_decref(changes);
    suite_case_fini(&c);
    return found;
}

static void clocks_are_scaled_but_not_those_to_be_reached(void **state)
{
    const char *const plain = "{\"expect\":\"success\",\"limits\":{\"wall_s\":4,\"cpu_s\":2}}";
    const char *const wall =
        "{\"expect\":\"timeout\",\"which\":\"wall\",\"limits\":{\"wall_s\":4,\"cpu_s\":2}}";
    const char *const cpu =
        "{\"expect\":\"timeout\",\"which\":\"cpu\",\"limits\":{\"wall_s\":4,\"cpu_s\":2}}";
    const char *const either = "{\"expect\":[\"timeout\",\"oom\"],\"limits\":{\"wall_s\":4}}";
    const char *const maybe = "{\"expect\":[\"timeout\",\"success\"],\"limits\":{\"wall_s\":4}}";

    (void)state;
    assert_true(has_word("f/k.py", plain, 1, "--wall=4000ms"));
    assert_true(has_word("f/k.py", plain, 5, "--wall=20000ms"));
    assert_true(has_word("f/k.py", plain, 5, "--cpu=10000ms"));
    assert_true(has_word("f/k.py", wall, 5, "--wall=7000ms"));
    assert_true(has_word("f/k.js", wall, 5, "--wall=12000ms"));
    assert_true(has_word("f/k.py", wall, 5, "--cpu=10000ms"));
    assert_true(has_word("f/k.py", cpu, 5, "--wall=20000ms"));
    assert_true(has_word("f/k.py", cpu, 5, "--cpu=5000ms"));
    assert_true(has_word("f/k.py", cpu, 1, "--cpu=2000ms"));
    assert_true(has_word("f/k.py", cpu, 20, "--cpu=14000ms"));
    assert_true(has_word("f/k.py", plain, 20, "--wall=80000ms"));
    assert_true(has_word("f/k.py", either, 5, "--wall=7000ms"));
    assert_true(has_word("f/k.py", maybe, 5, "--wall=20000ms"));
    /* without a header's word: the product's native default, scaled */
    assert_true(has_word("f/k.py", "{\"expect\":\"success\"}", 5, "--wall=50000ms"));
    assert_true(has_word("f/k.py", "{\"expect\":\"success\"}", 5, "--cpu=25000ms"));
}

static void limits_become_options_and_impossible_ones_are_moved_and_told(void **state)
{
    const char *const low =
        "{\"expect\":\"success\",\"limits\":{\"mem_mib\":8,\"pids\":4,\"disk_mib\":1}}";
    struct suite_case c = case_of("f/k.js", low);
    auto_suite_words struct suite_words words = {.n = 0};
    json_t *changes = json_array();
    struct err err = ERR_INIT;

    (void)state;
    assert_true(has_word("f/k.py", "{\"expect\":\"oom\",\"limits\":{\"mem_mib\":64}}", 5,
                         "--memory=67108864"));
    assert_true(
        has_word("f/k.py", "{\"expect\":\"oom\",\"limits\":{\"out_kib\":2}}", 5, "--stderr=2048"));
    assert_true(has_word("f/k.py", "{\"expect\":\"oom\",\"limits\":{\"out_kib\":2,\"err_kib\":1}}",
                         5, "--stderr=1024"));
    assert_true(has_word("f/k.py", "{\"expect\":\"oom\",\"limits\":{\"out_total_kib\":2}}", 5,
                         "--out-bytes=2048"));
    assert_ok(suite_limit_words(&c, 5, &words, changes, &err), &err);
    assert_int_equal(json_array_size(changes), 3);
    assert_true(has_word("f/k.js", low, 5, "--memory=33554432"));
    assert_true(has_word("f/k.js", low, 5, "--pids=8"));
    assert_true(has_word("f/k.py", low, 5, "--pids=4"));
    assert_true(has_word("f/k.js", low, 5, "--disk=4194304"));
    /* a case about the refusal keeps what it has */
    assert_true(has_word("f/k.js", "{\"expect\":\"rejected\",\"limits\":{\"mem_mib\":8}}", 5,
                         "--memory=8388608"));
    json_decref(changes);
    suite_case_fini(&c);
}

struct told {
    size_t n;
    char last[ERR_MSG_MAX];
};

static void tell(void *ctx, const struct err *err)
{
    struct told *told = ctx;

    told->n++;
    (void)snprintf(told->last, sizeof(told->last), "%s", err->msg);
}

/* One packed file. */
static void pack(struct buf *out, const char *path, const char *head)
{
    const char *mark = strstr(path, ".py") != NULL ? "#" : "//";
    size_t len = strlen(mark) + strlen(" airlock-case: ") + strlen(head) + 1;

    assert_int_equal(buf_printf(out, "%s %zu\n%s airlock-case: %s\n", path, len, mark, head), 0);
}

static int unpack(const struct buf *text, struct suite_cases *ret, struct told *told)
{
    struct err err = ERR_INIT;
    int r = suite_unpack((const char *)text->data, text->len, tell, told, ret, &err);

    if (r < 0) {
        (void)snprintf(told->last, sizeof(told->last), "%s", err.msg);
    }
    return r;
}

static void a_kind_needs_both_languages_or_a_reason(void **state)
{
    auto_buf struct buf text = BUF_INIT(16 * KIB);
    auto_suite_cases struct suite_cases cases = SUITE_CASES_INIT;
    struct told told = {0};
    const char *const plain = "{\"expect\":\"success\"}";
    const char *const only = "{\"expect\":\"success\",\"only\":\"no fork in Node.js\"}";

    (void)state;
    pack(&text, "a/both.py", plain);
    pack(&text, "a/both.js", plain);
    pack(&text, "a/alone.py", plain);
    pack(&text, "a/explained.py", only);
    pack(&text, "a/wrongly.py", only);
    pack(&text, "a/wrongly.js", plain);
    assert_int_equal(unpack(&text, &cases, &told), 0);
    assert_int_equal(cases.n, 6);
    for (size_t i = 0; i < cases.n; i++) {
        const char *fault = suite_pair_fault(&cases, &cases.list[i]);
        const char *path = cases.list[i].path;

        assert_true((fault != NULL) ==
                    (strcmp(path, "a/alone.py") == 0 || strcmp(path, "a/wrongly.py") == 0));
    }
    cases.pairs = false; /* a folder of the user's need not have pairs */
    assert_null(suite_pair_fault(&cases, &cases.list[0]));
}

static void what_must_come_before_is_found_and_pulled_in(void **state)
{
    auto_buf struct buf text = BUF_INIT(16 * KIB);
    auto_suite_cases struct suite_cases cases = SUITE_CASES_INIT;
    struct suite_choice choice = {.filter = "look\\.js$", .python = true, .javascript = true};
    struct told told = {0};
    struct err err = ERR_INIT;

    (void)state;
    pack(&text, "m/12-leave.py", "{\"expect\":\"success\",\"after\":\"a person looks at it\"}");
    pack(&text, "m/12-leave.js", "{\"expect\":\"success\"}");
    pack(&text, "m/look.py", "{\"expect\":\"success\",\"after\":\"12\"}");
    pack(&text, "m/look.js", "{\"expect\":\"success\",\"after\":\"m/12-leave\"}");
    assert_int_equal(unpack(&text, &cases, &told), 0);
    assert_ok(suite_select(&cases, &choice, &err), &err);
    for (size_t i = 0; i < cases.n; i++) {
        const struct suite_case *c = &cases.list[i];

        assert_true(c->selected == (c->language == SPEC_JAVASCRIPT));
        if (strstr(c->path, "look") != NULL) {
            assert_true(c->after != SIZE_MAX);
            assert_int_equal(cases.list[c->after].language, c->language);
        }
    }
    assert_string_equal(suite_remark(&cases.list[1]), "a person looks at it");
}

static void wrong_packs_and_links_are_refused_by_name(void **state)
{
    static const char *const broken[] = {"a.py", "a.py 5", "a.py x\n", "a.py 99\nshort", " 1\nx"};
    auto_suite_cases struct suite_cases cases = SUITE_CASES_INIT;
    auto_buf struct buf circle = BUF_INIT(16 * KIB);
    auto_buf struct buf bad = BUF_INIT(16 * KIB);
    struct told told = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        auto_buf struct buf text = BUF_INIT(KIB);

        assert_int_equal(buf_put(&text, broken[i], strlen(broken[i])), 0);
        assert_true(unpack(&text, &cases, &told) < 0);
    }
    pack(&circle, "a/x.py", "{\"expect\":\"success\",\"after\":\"a/y\"}");
    pack(&circle, "a/y.py", "{\"expect\":\"success\",\"after\":\"a/x\"}");
    pack(&circle, "a/z.py", "{\"expect\":\"success\",\"after\":\"nobody\"}");
    told.n = 0;
    assert_true(unpack(&circle, &cases, &told) < 0);
    assert_int_equal(told.n, 2);
    pack(&bad, "a/x.py", "{\"expect\":\"success\",\"typo\":1}");
    told.n = 0;
    assert_true(unpack(&bad, &cases, &told) < 0);
    assert_int_equal(told.n, 1);
    assert_int_equal(cases.n, 0);
}

static void the_page_escapes_what_programs_and_headers_say(void **state)
{
    auto_buf struct buf text = BUF_INIT(16 * KIB);
    auto_buf struct buf page = BUF_INIT(REPORT_MAX);
    auto_buf struct buf summary = BUF_INIT(MIB);
    auto_suite_cases struct suite_cases cases = SUITE_CASES_INIT;
    struct suite_facts facts = {.engine = "tcg", .isolation = "emulated", .slow = 5, .jobs = 1};
    struct told told = {0};
    json_t *report = NULL;

    (void)state;
    pack(&text, "a/<x>.py",
         "{\"expect\":\"oom\",\"note\":\"<script>1</script>\",\"source\":\"javascript:1\"}");
    assert_int_equal(unpack(&text, &cases, &told), 0);
    cases.list[0].selected = true;
    cases.list[0].outcome.state = SUITE_FAILED;
    cases.list[0].outcome.why = strdup("\"'><img src=x>\x1b[0m");
    cases.list[0].outcome.result = json_loads(base_result, 0, NULL);
    report = suite_report(&cases, &facts);
    assert_non_null(report);
    assert_false(json_is_true(json_object_get(report, "all_hold")));
    assert_int_equal(suite_html(report, &page), 0);
    assert_null(strstr((const char *)page.data, "<script"));
    assert_null(strstr((const char *)page.data, "<img"));
    assert_null(strstr((const char *)page.data, "href=\"javascript"));
    assert_null(memchr(page.data, '\x1b', page.len));
    assert_non_null(strstr((const char *)page.data, "&lt;script&gt;"));
    assert_int_equal(suite_summary(&cases, &facts, &summary), 0);
    assert_non_null(strstr((const char *)summary.data, "0 passed, 1 failed, 0 skipped\n"));
    json_decref(report);
}

TEST_MAIN(T(each_key_holds_and_fails), T(failures_are_one_harmless_line),
          T(headers_are_read_strictly), T(every_documented_key_is_taken),
          T(clocks_are_scaled_but_not_those_to_be_reached),
          T(limits_become_options_and_impossible_ones_are_moved_and_told),
          T(a_kind_needs_both_languages_or_a_reason),
          T(what_must_come_before_is_found_and_pulled_in),
          T(wrong_packs_and_links_are_refused_by_name),
          T(the_page_escapes_what_programs_and_headers_say))
