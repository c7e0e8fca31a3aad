#include <errno.h>
#include <string.h>

#include "job/contract-check.h"
#include "stream.h"
#include "sys/fd.h"
#include "tarball.h"
#include "test.h"

/* The rule that the outputs in the stream break under the contract, "" if none; text in err. */
static const char *broken(const char *contract, const struct buf *b, struct err *err)
{
    on_scope_exit(contract_fini) struct contract c = {0};
    auto_outputs struct outputs o = {0};
    auto_fd int fd = stream_fd(b);
    struct spec spec;
    const char *rule = "";
    int r = 0;

    spec_init(&spec);
    spec.limits.output_files = 128;
    assert_ok(contract_parse(contract, &c, err), err);
    assert_ok(outputs_inspect(fd, b->len, &spec.limits, &o, err), err);
    r = contract_check(&c, fd, &o, &spec.limits, &rule, err);
    assert_int_equal(r < 0 ? -r : 0, r < 0 ? EBADMSG : 0);
    assert_int_equal(err->class, r < 0 ? ERR_GUEST : ERR_NONE);
    return rule;
}

/* One file "x" with the data under "KIND:x" breaks this rule, "" for none. */
static void expect_data(const char *kind, const void *data, size_t len, const char *rule)
{
    auto_buf struct buf b = BUF_INIT(128 * MIB);
    struct err err = ERR_INIT;
    char contract[16];
    const char *got = NULL;

    (void)snprintf(contract, sizeof(contract), "%s:x", kind);
    stream_record(
        &b, &(struct outar_header){.kind = OUTAR_FILE, .mode = 0644, .name_len = 1, .size = len},
        "x", data, len);
    stream_end(&b);
    got = broken(contract, &b, &err);
    if (strcmp(got, rule) != 0) {
        print_error("%s of '%.60s': '%s', not '%s': %s\n", kind, (const char *)data, got, rule,
                    err.msg);
        fail();
    }
}

static void expect(const char *kind, const char *text, const char *rule)
{
    expect_data(kind, text, strlen(text), rule);
}

static void contracts_are_parsed_and_nonsense_is_refused(void **state)
{
    static const char *const good[] = {"files",       "files:a",       "files:a,b/*.csv,?",
                                       "json:a.json", "csv:sub/a.csv", "archive",
                                       "archive:a:b"};

    static const struct {
        const char *text, *part;
    } bad[] = {
        {"", "is not known"},         {"file", "is not known"},     {"jsonx:a", "is not known"},
        {"json", "needs the file's"}, {"csv", "needs the file's"},  {"json:", "is no name"},
        {"json:../a", "is no name"},  {"json:/a", "is no name"},    {"files:", "is no name"},
        {"files:a,", "is no name"},   {"files:a,,b", "is no name"}, {"json:a\nb", "is no name"},
        {"json:\xff", "is no name"},  {"archive:", "is no name"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct contract c = {0};
        struct err err = ERR_INIT;

        assert_ok(contract_parse(good[i], &c, &err), &err);
        assert_int_not_equal(c.kind, CONTRACT_NONE);
        contract_fini(&c);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct contract c = {0};
        struct err err = ERR_INIT;

        assert_int_equal(contract_parse(bad[i].text, &c, &err), -EINVAL);
        assert_non_null(strstr(err.msg, bad[i].part));
        assert_int_equal(c.n_names, 0);
    }
}

static void files_match_patterns_and_plain_ones_are_there(void **state)
{
    static const struct {
        const char *contract, *rule;
    } cases[] = {
        {"files", ""},
        {"files:a.txt,d/*", ""},
        {"files:*,d/?.csv", ""},
        {"files:*.txt,d/b.csv,none*", ""},
        {"files:**.txt,d/*.c*v", ""},
        {"files:*", "unexpected"}, /* '*' stays in one directory */
        {"files:a.txt", "unexpected"},
        {"files:a.txt,d/*.txt", "unexpected"},
        {"files:a.txt,d/b.csv,c", "missing"},
        {"files:*,d/*,d", "missing"}, /* a directory is no file */
        {"files:?.txt,d/?", "unexpected"},
    };
    auto_buf struct buf b = BUF_INIT(MIB);

    (void)state;
    stream_put(&b, OUTAR_FILE, "a.txt", "x");
    stream_put(&b, OUTAR_DIR, "d", "");
    stream_put(&b, OUTAR_FILE, "d/b.csv", "x");
    stream_end(&b);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;

        assert_string_equal(broken(cases[i].contract, &b, &err), cases[i].rule);
    }
}

static void every_contract_wants_plain_names_and_nothing_dropped(void **state)
{
    static const struct {
        enum outar_kind kind;
        const char *first, *second, *rule;
    } cases[] = {
        {OUTAR_OTHER, "a", "link", "dropped"},
        {OUTAR_FILE, "a", "a", "dropped"},
        {OUTAR_FILE, "a", "b\nc", "name"},
        {OUTAR_FILE, "a", "b\x7f", "name"},
        {OUTAR_FILE, "a", "\xff", "name"},
        {OUTAR_FILE, "abc", "aBC", "name"},
        {OUTAR_FILE, "\xc3\xa4", "\xc3\x84", ""}, /* only ASCII is folded */
        {OUTAR_FILE, "a", "-rf", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf struct buf b = BUF_INIT(MIB);
        struct err err = ERR_INIT;

        stream_put(&b, OUTAR_FILE, cases[i].first, "");
        stream_put(&b, cases[i].kind, cases[i].second, "");
        stream_end(&b);
        assert_string_equal(broken("files", &b, &err), cases[i].rule);
    }
}

static void one_file_and_only_that_one(void **state)
{
    auto_buf struct buf none = BUF_INIT(MIB);
    auto_buf struct buf two = BUF_INIT(MIB);
    auto_buf struct buf below = BUF_INIT(MIB);
    auto_buf struct buf dir = BUF_INIT(MIB);
    struct err err = ERR_INIT;

    (void)state;
    stream_end(&none);
    assert_string_equal(broken("json:x", &none, &err), "missing");
    err = (struct err)ERR_INIT;
    assert_string_equal(broken("archive", &none, &err), "missing");
    stream_put(&two, OUTAR_FILE, "x", "1");
    stream_put(&two, OUTAR_FILE, "y", "1");
    stream_end(&two);
    err = (struct err)ERR_INIT;
    assert_string_equal(broken("json:x", &two, &err), "unexpected");
    assert_non_null(strstr(err.msg, "output 'y'"));
    stream_put(&below, OUTAR_DIR, "d", "");
    stream_put(&below, OUTAR_FILE, "d/x", "1");
    stream_end(&below);
    err = (struct err)ERR_INIT;
    assert_string_equal(broken("json:d/x", &below, &err), "");
    stream_put(&dir, OUTAR_FILE, "x", "1");
    stream_put(&dir, OUTAR_DIR, "d", "");
    stream_end(&dir);
    assert_string_equal(broken("json:x", &dir, &err), "unexpected");
}

static void json_is_read_strictly(void **state)
{
    static const struct {
        const char *text, *rule;
    } cases[] = {
        {"null", ""},
        {" {\"a\": [1, -0.5e+10, \"\\u00e9\\ud83d\\ude00\\n\", true, false, null, {}, []]}\r\n",
         ""},
        {"{\"a\":1,\"b\":{\"a\":2},\"c\":{\"a\":3}}", ""},
        {"\"\\u0000\"", ""},
        {"", "syntax"},
        {"  ", "syntax"},
        {"{\"a\":1} {}", "syntax"},
        {"1 2", "syntax"},
        {"[1,]", "syntax"},
        {"[,1]", "syntax"},
        {"[1 2]", "syntax"},
        {"{\"a\" 1}", "syntax"},
        {"{\"a\":1,}", "syntax"},
        {"{a:1}", "syntax"},
        {"{1:1}", "syntax"},
        {"[1}", "syntax"},
        {"{\"a\":1]", "syntax"},
        {"[", "syntax"},
        {"{\"a\":", "syntax"},
        {"]", "syntax"},
        {"NaN", "syntax"},
        {"[Infinity]", "syntax"},
        {"-", "syntax"},
        {"01", "syntax"},
        {"1.", "syntax"},
        {".5", "syntax"},
        {"+1", "syntax"},
        {"1e", "syntax"},
        {"0x10", "syntax"},
        {"'a'", "syntax"},
        {"\"a", "syntax"},
        {"\"\\x\"", "syntax"},
        {"\"\\u12g4\"", "syntax"},
        {"\"\\u12", "syntax"},
        {"\"a\nb\"", "syntax"},
        {"// note\n1", "syntax"},
        {"\xef\xbb\xbf"
         "1",
         "syntax"},
        {"nul", "syntax"},
        {"\"\xff\"", "encoding"},
        {"\"\\ud800\"", "encoding"},
        {"\"\\udc00\"", "encoding"},
        {"\"\\ud800\\u0041\"", "encoding"},
        {"{\"a\":1,\"a\":2}", "duplicate"},
        {"{\"a\":1,\"b\":2,\"\\u0061\":3}", "duplicate"},
        {"[{\"x\":{\"\":1,\"y\":2,\"\":3}}]", "duplicate"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        expect("json", cases[i].text, cases[i].rule);
    }
    expect_data("json", "1\0", 2, "syntax");
    expect_data("json", "\"\0\"", 3, "syntax");
}

static void json_ends_at_its_depth_and_size(void **state)
{
    char text[2 * CONTRACT_JSON_DEPTH + 8];
    size_t big = (size_t)CONTRACT_JSON_BYTES + 1;

    (void)state;
    memset(text, '[', CONTRACT_JSON_DEPTH);
    memset(text + CONTRACT_JSON_DEPTH, ']', CONTRACT_JSON_DEPTH);
    text[2 * CONTRACT_JSON_DEPTH] = '\0';
    expect("json", text, "");
    memset(text, '[', CONTRACT_JSON_DEPTH + 1);
    expect("json", text, "depth");
    for (int over = 0; over <= 1; over++) {
        auto_buf struct buf b = BUF_INIT(128 * MIB);
        on_scope_exit(contract_fini) struct contract c = {0};
        auto_outputs struct outputs o = {0};
        auto_free char *blanks = malloc(big);
        auto_fd int fd = -1;
        struct err err = ERR_INIT;
        struct spec spec;
        const char *rule = "";
        size_t len = big - 1 + (size_t)over;

        memset(blanks, ' ', big);
        blanks[0] = '1';
        stream_record(
            &b,
            &(struct outar_header){.kind = OUTAR_FILE, .mode = 0644, .name_len = 1, .size = len},
            "x", blanks, len);
        stream_end(&b);
        fd = stream_fd(&b);
        spec_init(&spec);
        spec.limits.output_bytes = 128 * MIB;
        assert_ok(contract_parse("json:x", &c, &err), &err);
        assert_ok(outputs_inspect(fd, b.len, &spec.limits, &o, &err), &err);
        assert_int_equal(contract_check(&c, fd, &o, &spec.limits, &rule, &err),
                         over ? -EBADMSG : 0);
        assert_string_equal(rule, over ? "size" : "");
    }
}

static void csv_is_a_rectangle_of_utf8(void **state)
{
    static const struct {
        const char *text, *rule;
    } cases[] = {
        {"a,b\n1,2\n", ""},
        {"a,b\r\n1,2", ""},
        {"a\n\n", ""}, /* an empty line is a record of one empty field */
        {",\n,\n", ""},
        {"\"a,\"\"\r\nb\",c\n\"\",\n", ""},
        {"\xc3\xa4,\xf0\x9f\x98\x80\n", ""},
        {"a\tb,c\n", ""},
        {"", "syntax"},
        {"a,b\n1\n", "rectangle"},
        {"a\n1,2\n", "rectangle"},
        {"a,b\n\n", "rectangle"},
        {"a,b\n1,2,", "rectangle"},
        {"a\"b\n", "syntax"},
        {"\"a\"b\n", "syntax"},
        {"\"a", "syntax"},
        {"a\rb\n", "syntax"},
        {"a\r", "syntax"},
        {"a\x1b\n", "syntax"},
        {"\xff\n", "encoding"},
        {"\xc3", "encoding"},
        {"\xed\xa0\x80\n", "encoding"},
        {"\xc0\x80\n", "encoding"},
        {"\xf4\x90\x80\x80\n", "encoding"},
        {"\xe0\x80\x80\n", "encoding"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        expect("csv", cases[i].text, cases[i].rule);
    }
    expect_data("csv", "a\0b\n", 4, "syntax");
}

static void csv_ends_at_its_caps(void **state)
{
    size_t n = (size_t)CONTRACT_CSV_FIELD_BYTES;
    auto_free char *field = malloc(n + 3);

    (void)state;
    memset(field, 'x', n + 1);
    expect_data("csv", field, n, "");
    expect_data("csv", field, n + 1, "field");
    memset(field, ',', n);
    expect_data("csv", field, CONTRACT_CSV_COLUMNS - 1, "");
    expect_data("csv", field, CONTRACT_CSV_COLUMNS, "columns");
    /* A character that two chunks share. */
    memset(field, '\n', n);
    memcpy(field + 256 * KIB - 1, "\xc3\xa4", 2);
    expect_data("csv", field, n, "");
}

static void an_archive_keeps_the_rules_of_outputs(void **state)
{
    auto_buf struct buf good = BUF_INIT(MIB);
    auto_buf struct buf link = BUF_INIT(MIB);

    (void)state;
    tar_file(&good, "d/a", "hello");
    tar_end(&good);
    expect_data("archive", good.data, good.len, "");
    tar_header(&link, '2', "l", 0);
    tar_end(&link);
    expect_data("archive", link.data, link.len, "archive");
    expect("archive", "PK\5\6not a tar", "archive");
    expect("archive", "no tar", "archive");
}

TEST_MAIN(T(contracts_are_parsed_and_nonsense_is_refused),
          T(files_match_patterns_and_plain_ones_are_there),
          T(every_contract_wants_plain_names_and_nothing_dropped), T(one_file_and_only_that_one),
          T(json_is_read_strictly), T(json_ends_at_its_depth_and_size),
          T(csv_is_a_rectangle_of_utf8), T(csv_ends_at_its_caps),
          T(an_archive_keeps_the_rules_of_outputs))
