#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/config-internal.h"
#include "sys/fd.h"
#include "test.h"

static int parse(struct config *c, const char *text, struct err *err)
{
    return config_parse(c, "test.json", text, strlen(text), err);
}

static void refused(const char *text, const char *words)
{
    auto_config struct config c;
    struct err err = ERR_INIT;

    config_init(&c);
    if (parse(&c, text, &err) == 0 || strstr(err.msg, words) == NULL) {
        print_error("%s\n-> %s\nbut '%s' was expected\n", text, err.msg, words);
        fail();
    }
    assert_int_equal(err.class, ERR_USAGE);
    assert_memory_equal(err.msg, "test.json: ", 11);
}

static void an_empty_configuration_is_the_defaults(void **state)
{
    auto_config struct config c;
    struct err err = ERR_INIT;

    (void)state;
    config_init(&c);
    assert_ok(parse(&c, "{}", &err), &err);
    assert_int_equal(c.listen.n, 1);
    assert_string_equal(c.listen.v[0], "127.0.0.1:7380");
    assert_null(c.user);
    assert_int_equal(c.request_bytes, 16 * MIB);
    assert_int_equal(c.drain_ns, 60 * NS_PER_S);
    assert_int_equal(c.retention_age_ms, 24 * 3600 * 1000);
    assert_int_equal(c.log, CONFIG_LOG_INFO);
    assert_int_equal(c.default_quota.isolation, SPEC_ISOLATION_HARDWARE);
    assert_int_equal(c.default_quota.n_images, 0);
    assert_false(c.require_tokens);
}

static void what_is_given_is_taken(void **state)
{
    auto_config struct config c;
    struct err err = ERR_INIT;

    (void)state;
    config_init(&c);
    assert_ok(parse(&c,
                    "{\"listen\":[\"[::1]:80\",\"unix:/run/a.sock\"],\"user\":\"airlock\","
                    "\"tls\":{\"cert\":\"/c\",\"key\":\"/k\"},\"require_tokens\":true,"
                    "\"pool\":4,\"deadlines\":{\"body_seconds\":7},"
                    "\"capacity\":{\"memory_bytes\":4294967296,\"processes\":4000,"
                    "\"descriptors\":64},\"log\":{\"level\":\"debug\"},"
                    "\"default_quota\":{\"images\":[\"python\",\"js-2\"],\"wall_ms\":1500,"
                    "\"isolation\":\"hardware\",\"pinned\":true}}",
                    &err),
              &err);
    assert_int_equal(c.listen.n, 2);
    assert_string_equal(c.listen.v[1], "unix:/run/a.sock");
    assert_string_equal(c.user, "airlock");
    assert_string_equal(c.tls_key, "/k");
    assert_true(c.require_tokens);
    assert_int_equal(c.pool, 4);
    assert_int_equal(c.body_ns, 7 * NS_PER_S);
    assert_int_equal(c.head_ns, 10 * NS_PER_S);
    assert_int_equal(c.capacity.host.memory_total_bytes, 4 * GIB);
    assert_int_equal(c.capacity.processes, 4000);
    assert_int_equal(c.capacity.fds, 64);
    assert_int_equal(c.log, CONFIG_LOG_DEBUG);
    assert_int_equal(c.default_quota.n_images, 2);
    assert_int_equal(c.default_quota.wall_ns, 1500 * NS_PER_MS);
    assert_int_equal(c.default_quota.isolation, SPEC_ISOLATION_HARDWARE);
    assert_true(c.default_quota.pinned);
}

static void what_is_not_known_or_wrong_is_refused_with_its_path(void **state)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"", "line 1"},
        {"{\"pool\":1,}", "line 1, column"},
        {"[]", "one JSON object"},
        {"{} x", "line 1"},
        {"{\"pool\":1,\"pool\":2}", "duplicate"},
        {"{\"Pool\":1}", "Pool: there is no such member; here may stand listen, hosts"},
        {"{\"queue\":{\"max\":1}}", "queue.max: there is no such member; here may stand jobs_max"},
        {"{\"queue.jobs_max\":1}", "queue.jobs_max: there is no such member"},
        {"{\"\":1}", "there is no such member"},
        {"{\"tls\":{\"\":1}}", "there is no such member"},
        {"{\"queue\":5}", "queue: give an object"},
        {"{\"queue\":{\"jobs_max\":{\"x\":1}}}", "queue.jobs_max: give a whole number"},
        {"{\"pool\":65}", "pool: give a whole number from 0 to 64"},
        {"{\"pool\":-1}", "pool: give a whole number"},
        {"{\"pool\":1.0}", "pool: give a whole number"},
        {"{\"pool\":\"1\"}", "pool: give a whole number"},
        {"{\"pool\":null}", "pool: give a whole number"},
        {"{\"pool\":99999999999999999999}", "line 1"},
        {"{\"request_bytes\":268435457}", "from 4096 to 268435456"},
        {"{\"requests_bytes\":4096}", "request_bytes: it is more than"},
        {"{\"require_tokens\":1}", "require_tokens: give true or false"},
        {"{\"user\":\"root\"}", "user: a user is a name"},
        {"{\"user\":\"a b\"}", "user: a user is a name"},
        {"{\"user\":\"\"}", "user: a user is a name"},
        {"{\"user\":7}", "user: give a string"},
        {"{\"user\":\"a\\u0000b\"}", "line 1"},
        {"{\"tls\":{\"cert\":\"/c\"}}", "tls: give both"},
        {"{\"tls\":{\"cert\":\"c\",\"key\":\"/k\"}}", "tls.cert: an absolute path"},
        {"{\"tls\":{\"cert\":\"/c\\n\",\"key\":\"/k\"}}", "tls.cert: a control character"},
        {"{\"log\":{\"level\":\"loud\"}}",
         "log.level: give one of \"error\", \"warning\", \"info\", \"debug\""},
        {"{\"log\":{\"level\":1}}", "log.level: give one of"},
        {"{\"listen\":[]}", "listen: give an array of 1 to 32"},
        {"{\"listen\":\"127.0.0.1:1\"}", "listen: give an array"},
        {"{\"listen\":[1]}", "listen: give"},
        {"{\"listen\":[\"127.0.0.1:1\",\"127.0.0.1:1\"]}", "is in it twice"},
        {"{\"listen\":[\"localhost:80\"]}", "names are not looked up"},
        {"{\"listen\":[\"0.0.0.0:80\"]}", "in the clear"},
        {"{\"listen\":[\"[::]:80\"]}", "in the clear"},
        {"{\"origins\":[\"*\"]}", "an origin is"},
        {"{\"hosts\":[\"a/b\"]}", "a name of a host"},
        {"{\"default_quota\":{\"images\":[\"../x\"]}}", "no name of an image"},
        {"{\"default_quota\":{\"concurrent\":0}}", "default_quota.concurrent: give"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        refused(bad[i].text, bad[i].words);
    }
}

static void addresses_are_numbers_and_say_whether_they_are_local(void **state)
{
    static const struct {
        const char *text;
        int family;
        bool local;
    } good[] = {
        {"127.0.0.1:7380", AF_INET, true},  {"127.9.9.9:1", AF_INET, true},
        {"10.0.0.1:65535", AF_INET, false}, {"[::1]:7380", AF_INET6, true},
        {"[fe80::1]:80", AF_INET6, false},  {"unix:/run/x", AF_UNIX, true},
    };

    static const char *const bad[] = {
        "",       "127.0.0.1",    "127.0.0.1:",   "127.0.0.1:0",    "127.0.0.1:65536", "127.1:80",
        "[::1]",  "[::1]80",      "[::1",         "[x]:80",         "[::1%lo]:80",     "unix:",
        "unix:x", "127.0.0.1: 1", "127.0.0.1:+1", "[127.0.0.1]:80", "::1:80",          "a:b:c",
    };
    char long_path[200];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct config_address a;
        struct err err = ERR_INIT;

        assert_ok(config_address(good[i].text, &a, &err), &err);
        assert_int_equal(a.addr.ss_family, good[i].family);
        assert_int_equal(a.local, good[i].local);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct config_address a;
        struct err err = ERR_INIT;

        if (config_address(bad[i], &a, &err) == 0) {
            print_error("'%s' was taken\n", bad[i]);
            fail();
        }
    }
    memset(long_path, 'x', sizeof(long_path));
    memcpy(long_path, "unix:/", 6);
    for (size_t len = 5 + 107; len <= 5 + 108; len++) {
        struct config_address a;
        struct err err = ERR_INIT;
        char text[200];

        (void)snprintf(text, sizeof(text), "%.*s", (int)len, long_path);
        assert_int_equal(config_address(text, &a, &err) == 0, len == 5 + 107);
    }
}

/* Only what the table says can change while airlockd runs, and nothing is lost on the way. */
static void a_reload_changes_what_it_can_and_names_the_rest(void **state)
{
    auto_config struct config c;
    auto_config struct config next;
    auto_buf struct buf kept = BUF_INIT(KIB);
    struct err err = ERR_INIT;

    (void)state;
    config_init(&c);
    config_init(&next);
    assert_ok(parse(&c, "{\"user\":\"one\",\"default_quota\":{\"images\":[\"a\"]}}", &err), &err);
    assert_ok(parse(&next,
                    "{\"user\":\"two\",\"pool\":3,\"log\":{\"level\":\"error\"},"
                    "\"require_tokens\":true,\"default_quota\":{\"images\":[\"b\",\"c\"]}}",
                    &err),
              &err);
    assert_ok(config_reload(&c, &next, &kept, &err), &err);
    assert_string_equal((const char *)kept.data, "user\npool\n");
    assert_string_equal(c.user, "one");
    assert_int_equal(c.pool, 0);
    assert_int_equal(c.log, CONFIG_LOG_ERROR);
    assert_true(c.require_tokens);
    assert_int_equal(c.default_quota.n_images, 2);
    assert_string_equal(c.default_quota.images[1], "c");
}

static void a_file_that_others_can_write_is_refused(void **state)
{
    char path[] = "/tmp/airlock-test-config.XXXXXX";
    auto_fd int fd = mkstemp(path);
    auto_config struct config c;
    struct err err = ERR_INIT;

    (void)state;
    config_init(&c);
    assert_int_equal(write(fd, "{\"pool\":2}", 10), 10);
    assert_ok(config_load(&c, path, &err), &err);
    assert_int_equal(c.pool, 2);
    assert_int_equal(fchmod(fd, 0620), 0);
    assert_int_equal(config_load(&c, path, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "chmod go-w"));
    err = (struct err)ERR_INIT;
    assert_int_equal(config_load(&c, "/tmp", &err), -EINVAL);
    err = (struct err)ERR_INIT;
    assert_int_equal(unlink(path), 0);
    assert_int_equal(config_load(&c, path, &err), -ENOENT);
    assert_int_equal(err.class, ERR_USAGE);
}

/* --- the schema --- */

static void the_schema_in_docs_is_the_tables(void **state)
{
    auto_buf struct buf made = BUF_INIT(MIB);
    auto_buf struct buf kept = BUF_INIT(MIB);
    auto_fd int fd = -1;
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(config_schema(&made, &err), &err);
    assert_ok(
        fd_open(AT_FDCWD, AIRLOCK_SOURCE "/docs/airlockd.schema.json", O_RDONLY, 0, &fd, &err),
        &err);
    assert_ok(fd_read_all(fd, "the schema", &kept, &err), &err);
    if (made.len != kept.len || memcmp(made.data, kept.data, made.len) != 0) {
        print_error("docs/airlockd.schema.json is not what the table says, which is below\n");
        (void)fwrite(made.data, 1, made.len, stderr); /* too long for cmocka */
        fail();
    }
}

/* The document {"a":{"b":VALUE}} for path "a.b". */
static void at_path(const struct config_member *m, json_t *take_value, struct buf *out)
{
    const char *dot = strchr(m->path, '.');
    json_t *root = json_object();
    json_t *home = root;
    char group[64] = "";
    char *text = NULL;

    if (dot != NULL) {
        (void)snprintf(group, sizeof(group), "%.*s", (int)(dot - m->path), m->path);
        home = json_object();
        assert_int_equal(json_object_set_new(root, group, home), 0);
    }
    assert_int_equal(json_object_set_new(home, dot != NULL ? dot + 1 : m->path, take_value), 0);
    text = json_dumps(root, 0);
    assert_int_equal(buf_put(out, text, strlen(text)), 0);
    free(text);
    json_decref(root);
}

static int try_value(const struct config_member *m, json_t *take_value)
{
    auto_config struct config c;
    auto_buf struct buf text = BUF_INIT(64 * KIB);
    struct err err = ERR_INIT;
    int r = 0;

    config_init(&c);
    c.request_bytes = 4 * KIB; /* the one rule between two numbers */
    c.requests_bytes = UINT64_MAX;
    at_path(m, take_value, &text);
    r = parse(&c, (const char *)text.data, &err);
    if (r < 0) {
        assert_non_null(strstr(err.msg, m->path));
    }
    return r;
}

static const json_t *schema_of(const json_t *root, const char *path)
{
    const json_t *at = json_object_get(root, "properties");
    const char *dot = strchr(path, '.');
    char group[64] = "";

    if (dot != NULL) {
        (void)snprintf(group, sizeof(group), "%.*s", (int)(dot - path), path);
        at = json_object_get(json_object_get(at, group), "properties");
        path = dot + 1;
    }
    return json_object_get(at, path);
}

/* What the schema says of numbers, choices and booleans is what the reader does, at its edges. */
static void reader_and_schema_agree_on_every_member(void **state)
{
    auto_buf struct buf made = BUF_INIT(MIB);
    struct err err = ERR_INIT;
    json_t *root = NULL;
    size_t tried = 0;

    (void)state;
    assert_ok(config_schema(&made, &err), &err);
    root = json_loadb((const char *)made.data, made.len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    for (size_t i = 0; i < config_members_len; i++) {
        const struct config_member *m = &config_members[i];
        const json_t *s = schema_of(root, m->path);
        json_int_t min = json_integer_value(json_object_get(s, "minimum"));
        json_int_t max = json_integer_value(json_object_get(s, "maximum"));

        assert_non_null(s);
        assert_true(try_value(m, json_null()) < 0);
        if (m->kind == CONFIG_NUMBER) {
            assert_true(m->max <= UINT64_MAX / m->scale);
            assert_int_equal(try_value(m, json_integer(min)), 0);
            assert_int_equal(try_value(m, json_integer(max)), 0);
            assert_true(try_value(m, json_integer(min - 1)) < 0);
            assert_true(try_value(m, json_integer(max + 1)) < 0);
            assert_int_equal(try_value(m, json_incref(json_object_get(s, "default"))), 0);
            tried++;
        } else if (m->kind == CONFIG_CHOICE) {
            const json_t *all = json_object_get(s, "enum");

            for (size_t k = 0; k < json_array_size(all); k++) {
                assert_int_equal(try_value(m, json_incref(json_array_get(all, k))), 0);
            }
            assert_true(try_value(m, json_string("other")) < 0);
            tried++;
        } else if (m->kind == CONFIG_BOOL) {
            assert_int_equal(try_value(m, json_true()), 0);
            assert_true(try_value(m, json_integer(0)) < 0);
            tried++;
        }
    }
    assert_true(tried > 30);
    json_decref(root);
}

TEST_MAIN(T(an_empty_configuration_is_the_defaults), T(what_is_given_is_taken),
          T(what_is_not_known_or_wrong_is_refused_with_its_path),
          T(addresses_are_numbers_and_say_whether_they_are_local),
          T(a_reload_changes_what_it_can_and_names_the_rest),
          T(a_file_that_others_can_write_is_refused), T(the_schema_in_docs_is_the_tables),
          T(reader_and_schema_agree_on_every_member))
