#include <errno.h>

#include "tokens-fixture.h"

#define DIGEST "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEAD \
    "{\"token\":1,\"id\":\"0011223344556677\",\"tenant\":\"acme\",\"digest\":\"" DIGEST "\""
#define WHOLE HEAD ",\"created_ms\":5"

static int parse(const char *text, struct token *ret, struct err *err)
{
    return token_parse(text, strlen(text), ret, err);
}

static void assert_refused(const char *text, const char *why)
{
    struct token token;
    struct err err = ERR_INIT;

    if (parse(text, &token, &err) != -EINVAL || strstr(err.msg, why) == NULL) {
        print_error("%s: '%s', not about '%s'\n", text, err.msg, why);
        fail();
    }
    assert_int_equal(err.class, ERR_USAGE);
}

static void a_token_without_quotas_gets_the_defaults(void **state)
{
    const struct tenant_quota defaults = {.concurrent = 7, .queued = 8, .pinned = true};
    struct token token;
    struct tenant_quota quota;
    struct err err = ERR_INIT;

    assert_ok(parse(WHOLE "}", &token, &err), &err);
    assert_string_equal(token.id, "0011223344556677");
    assert_string_equal(token.tenant, "acme");
    assert_string_equal(token.digest.hex, &DIGEST[7]);
    assert_int_equal(token.created_ms, 5);
    assert_int_equal(token.given, 0);
    token_quota(&token, &defaults, &quota);
    assert_memory_equal(&quota, &defaults, sizeof(quota));
}

static void every_quota_is_read_and_written_again(void **state)
{
    static const char text[] =
        WHOLE ",\"note\":\"of \\\"ops\\\"\",\"quota\":{\"concurrent\":2,\"queued\":3,"
              "\"rate_per_minute\":4,\"rate_burst\":5,\"wall_ms\":6,\"cpu_ms\":7,"
              "\"memory_bytes\":8,\"kept_bytes\":9,\"images\":[\"python\",\"a.b-c_1\"],"
              "\"isolation\":\"emulated\",\"pinned\":true}}\n";
    const struct tenant_quota defaults = {.isolation = SPEC_ISOLATION_HARDWARE};
    auto_buf struct buf out = BUF_INIT(TOKEN_FILE_MAX);
    struct token token;
    struct tenant_quota q;
    struct err err = ERR_INIT;

    assert_ok(parse(text, &token, &err), &err);
    token_quota(&token, &defaults, &q);
    assert_int_equal(q.concurrent, 2);
    assert_int_equal(q.queued, 3);
    assert_int_equal(q.rate_per_minute, 4);
    assert_int_equal(q.rate_burst, 5);
    assert_int_equal(q.wall_ns, 6 * NS_PER_MS);
    assert_int_equal(q.cpu_ns, 7 * NS_PER_MS);
    assert_int_equal(q.memory_bytes, 8);
    assert_int_equal(q.kept_bytes, 9);
    assert_int_equal(q.n_images, 2);
    assert_string_equal(q.images[1], "a.b-c_1");
    assert_int_equal(q.isolation, SPEC_ISOLATION_EMULATED);
    assert_true(q.pinned);
    assert_string_equal(token.note, "of \"ops\"");
    assert_ok(token_format(&token, &out, &err), &err);
    assert_string_equal((const char *)out.data, text);
}

static void anything_else_in_a_token_is_refused_and_named(void **state)
{
    static const char *const bad[][2] = {
        {"", "strict JSON"},
        {"[]", "must be an object"},
        {WHOLE, "strict JSON"},
        {WHOLE "} x", "strict JSON"},
        {WHOLE ",\"note\":\"a\",\"note\":\"b\"}", "strict JSON"},
        {WHOLE ",\"note\":\"a\\u0000b\"}", "strict JSON"},
        {WHOLE ",\"note\":\"\xff\"}", "strict JSON"},
        {WHOLE ",\"Quota\":{}}", "'Quota' is not known"},
        {HEAD "}", "created_ms: is missing"},
        {HEAD ",\"created_ms\":-1}", "created_ms: must be from 0"},
        {HEAD ",\"created_ms\":1.5}", "created_ms: must be an integer"},
        {HEAD ",\"created_ms\":99999999999999999999}", "strict JSON"},
        {HEAD ",\"created_ms\":9223372036854775807}", "created_ms: must be from 0"},
        {WHOLE ",\"note\":5}", "note: must be a string"},
        {WHOLE ",\"quota\":[]}", "quota: must be an object"},
        {WHOLE ",\"quota\":null}", "quota: must be an object"},
        {WHOLE ",\"quota\":{\"speed\":1}}", "'speed'"},
        {WHOLE ",\"quota\":{\"queued\":1,\"queued\":2}}", "strict JSON"},
        {WHOLE ",\"quota\":{\"concurrent\":0}}", "quota.concurrent: must be from 1"},
        {WHOLE ",\"quota\":{\"concurrent\":true}}", "quota.concurrent: must be an integer"},
        {WHOLE ",\"quota\":{\"concurrent\":\"1\"}}", "quota.concurrent: must be an integer"},
        {WHOLE ",\"quota\":{\"queued\":100001}}", "quota.queued: must be from 1"},
        {WHOLE ",\"quota\":{\"memory_bytes\":-5}}", "quota.memory_bytes: must be from 0"},
        {WHOLE ",\"quota\":{\"wall_ms\":9223372036854775807}}", "quota.wall_ms: must be from 0"},
        {WHOLE ",\"quota\":{\"images\":\"python\"}}", "quota.images: must be an array"},
        {WHOLE ",\"quota\":{\"images\":[\"../x\"]}}", "quota.images[0]"},
        {WHOLE ",\"quota\":{\"images\":[\"a\",\"\"]}}", "quota.images[1]"},
        {WHOLE ",\"quota\":{\"images\":[5]}}", "quota.images[]: must be a string"},
        {WHOLE ",\"quota\":{\"isolation\":\"none\"}}", "quota.isolation"},
        {WHOLE ",\"quota\":{\"pinned\":1}}", "quota.pinned"},
        {"{\"token\":2,\"id\":\"0011223344556677\"}", "token: must be from 1 to 1"},
        {"{\"token\":1,\"id\":\"001122334455667G\"}", "id: must be 16"},
        {"{\"token\":1,\"id\":\"00112233445566778\"}", "id: is longer"},
        {"{\"token\":1,\"id\":\"0011223344556677\",\"tenant\":\"A\"}", "tenant: must be"},
        {"{\"token\":1,\"id\":\"0011223344556677\",\"tenant\":\"\"}", "tenant: must be"},
        {"{\"token\":1,\"id\":\"0011223344556677\",\"tenant\":\"a\",\"digest\":\"x\"}",
         "digest: must be"},
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_refused(bad[i][0], bad[i][1]);
    }
}

static void what_is_too_long_is_refused(void **state)
{
    auto_buf struct buf text = BUF_INIT(64 * KIB);
    struct token token;
    struct err err = ERR_INIT;
    struct err err2 = ERR_INIT;
    struct err err3 = ERR_INIT;

    assert_int_equal(buf_printf(&text, "%s,\"quota\":{\"images\":[\"a\"", WHOLE), 0);
    for (unsigned int i = 0; i < TENANT_IMAGES_MAX; i++) {
        assert_int_equal(buf_printf(&text, ",\"a\""), 0);
    }
    assert_int_equal(buf_printf(&text, "]}}"), 0);
    assert_int_equal(token_parse((const char *)text.data, text.len, &token, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "more than 32"));
    buf_fini(&text);
    text = (struct buf)BUF_INIT(64 * KIB);
    assert_int_equal(buf_printf(&text, "%s,\"note\":\"%0201d\"}", WHOLE, 0), 0);
    assert_int_equal(token_parse((const char *)text.data, text.len, &token, &err2), -EINVAL);
    assert_non_null(strstr(err2.msg, "note: is longer than 200"));
    assert_int_equal(buf_printf(&text, "%20000s", ""), 0);
    assert_int_equal(token_parse((const char *)text.data, text.len, &token, &err3), -EINVAL);
    assert_non_null(strstr(err3.msg, "larger"));
}

static void names_of_tenants_are_plain(void **state)
{
    char longest[JOB_TENANT_SIZE + 1];

    memset(longest, 'a', sizeof(longest));
    longest[JOB_TENANT_SIZE] = '\0';
    assert_false(tenant_name_ok(longest));
    longest[JOB_TENANT_SIZE - 1] = '\0';
    assert_true(tenant_name_ok(longest));
    assert_true(tenant_name_ok("0-a_b.c"));
    assert_false(tenant_name_ok(""));
    assert_false(tenant_name_ok(".a"));
    assert_false(tenant_name_ok("-a"));
    assert_false(tenant_name_ok("a/b"));
    assert_false(tenant_name_ok("Abc"));
    assert_false(tenant_name_ok("a\nb"));
}

static void a_new_token_is_a_file_that_only_its_owner_can_read(void **state)
{
    auto_tokens struct tokens t = tokens_new();
    char text[TOKEN_TEXT_SIZE];
    char header[TOKEN_TEXT_SIZE + 8];
    char name[32];
    char id[TOKEN_ID_SIZE];
    struct digest digest;
    struct stat st;
    struct token again;
    struct err err = ERR_INIT;
    struct token token = {0};

    if (geteuid() == 0) {
        assert_int_equal(fchown(t.fd, 12345, 12346), 0);
    }
    token = new_token(&t, "acme", text);
    assert_int_equal(strlen(text), TOKEN_TEXT_SIZE - 1);
    (void)snprintf(name, sizeof(name), "%s.json", token.id);
    assert_int_equal(fstatat(t.fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(st.st_mode, S_IFREG | 0600);
    if (geteuid() == 0) {
        assert_int_equal(st.st_uid, 12345);
        assert_int_equal(st.st_gid, 12346);
    }
    assert_ok(token_load(t.fd, token.id, &again, &err), &err);
    assert_memory_equal(&again, &token, sizeof(token));
    (void)snprintf(header, sizeof(header), "Bearer %s", text);
    assert_true(token_from_header(header, id, &digest));
    assert_string_equal(id, token.id);
    assert_true(token_digest_equal(&digest, &token.digest));
    digest.hex[63] = digest.hex[63] == '0' ? '1' : '0';
    assert_false(token_digest_equal(&digest, &token.digest));
}

/* Neither the secret nor a part of it, nor the same one twice. */
static void the_file_does_not_have_the_secret(void **state)
{
    auto_tokens struct tokens t = tokens_new();
    char text[TOKEN_TEXT_SIZE];
    char text2[TOKEN_TEXT_SIZE];
    char name[32];
    char contents[1024] = "";
    char part[9] = "";
    size_t len = 0;
    struct err err = ERR_INIT;
    const struct token token = new_token(&t, "acme", text);
    const struct token token2 = new_token(&t, "acme", text2);
    auto_fd int fd = -1;

    (void)snprintf(name, sizeof(name), "%s.json", token.id);
    fd = openat(t.fd, name, O_RDONLY | O_CLOEXEC);
    assert_ok(fd_read_full(fd, contents, sizeof(contents) - 1, &len, &err), &err);
    assert_true(len > 100);
    for (size_t i = 21; i + 8 < sizeof(text); i++) {
        memcpy(part, text + i, 8);
        assert_null(strstr(contents, part));
    }
    assert_string_not_equal(token.id, token2.id);
    assert_string_not_equal(text + 21, text2 + 21);
    assert_int_equal(strspn(text + 21, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                       "0123456789-_"),
                     TOKEN_SECRET_LEN);
}

static void a_header_of_any_other_form_names_no_token(void **state)
{
#define ID     "0011223344556677"
#define SECRET "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ"
    static const char *const good[] = {
        "Bearer alk_" ID "_" SECRET,
        "bearer alk_" ID "_" SECRET,
        "BEARER alk_" ID "_" SECRET,
    };
    static const char *const bad[] = {
        "",
        "Bearer",
        "Bearer ",
        "Bearer  alk_" ID "_" SECRET,
        " Bearer alk_" ID "_" SECRET,
        "Bearer alk_" ID "_" SECRET " ",
        "Bearer alk_" ID "_" SECRET "x",
        "Bearer alk_" ID "_abc",
        "Bearer alk_" ID "-" SECRET,
        "Bearer Alk_" ID "_" SECRET,
        "Bearer alk_001122334455667G_" SECRET,
        "Bearer alk_../../../../../a_" SECRET,
        "Basic YWxrOg==",
        "alk_" ID "_" SECRET,
        "Bearer\talk_" ID "_" SECRET,
    };
    char id[TOKEN_ID_SIZE];
    struct digest digest;

    assert_int_equal(strlen(SECRET), TOKEN_SECRET_LEN);
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_true(token_from_header(good[i], id, &digest));
        assert_string_equal(id, ID);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_false(token_from_header(bad[i], id, &digest));
    }
}

static void what_the_daemon_would_not_read_is_not_written(void **state)
{
    auto_tokens struct tokens t = tokens_new();
    char text[TOKEN_TEXT_SIZE] = "";
    struct token token = {.tenant = "Not a name"};
    struct token token2 = {.tenant = "a", .given = TOKEN_CONCURRENT};
    struct err err = ERR_INIT;
    struct err err2 = ERR_INIT;
    struct err err3 = ERR_INIT;
    char id[TOKEN_ID_SIZE];

    assert_int_equal(token_create(t.fd, &token, text, &err), -EINVAL);
    assert_int_equal(token_create(t.fd, &token2, text, &err2), -EINVAL);
    assert_string_equal(text, "");
    assert_int_equal(token_revoke(t.fd, "0000", id, &err3), -ENOENT);
}

static void a_file_that_another_could_have_written_is_not_read(void **state)
{
    auto_tokens struct tokens t = tokens_new();
    struct token token;
    struct err err[6] = {0};

    write_file(&t, "0011223344556677.json", WHOLE "}", 0622);
    assert_int_equal(token_load(t.fd, "0011223344556677", &token, &err[0]), -EPERM);
    assert_int_equal(fchmodat(t.fd, "0011223344556677.json", 0640, 0), 0);
    assert_ok(token_load(t.fd, "0011223344556677", &token, &err[1]), &err[1]);
    if (geteuid() == 0) {
        assert_int_equal(fchownat(t.fd, "0011223344556677.json", 54321, 0, 0), 0);
        assert_int_equal(token_load(t.fd, "0011223344556677", &token, &err[1]), -EPERM);
    }
    assert_int_equal(renameat(t.fd, "0011223344556677.json", t.fd, "ffffffffffffffff.json"), 0);
    assert_int_equal(fchownat(t.fd, "ffffffffffffffff.json", geteuid(), (gid_t)-1, 0), 0);
    assert_int_equal(token_load(t.fd, "ffffffffffffffff", &token, &err[2]), -EINVAL);
    assert_non_null(strstr(err[2].msg, "name of the file"));
    assert_int_equal(symlinkat("ffffffffffffffff.json", t.fd, "0011223344556677.json"), 0);
    assert_int_equal(token_load(t.fd, "0011223344556677", &token, &err[3]), -ELOOP);
    assert_int_equal(mkfifoat(t.fd, "aaaaaaaaaaaaaaaa.json", 0600), 0);
    assert_int_equal(token_load(t.fd, "aaaaaaaaaaaaaaaa", &token, &err[4]), -EINVAL);
    assert_int_equal(token_load(t.fd, "../../etc/passwd", &token, &err[5]), -EINVAL);
}

static int count(void *ctx, const char *name, struct err *err)
{
    (void)name;
    *(unsigned int *)ctx += 1;
    return 0;
}

static void a_token_is_revoked_by_the_beginning_of_its_id(void **state)
{
    auto_tokens struct tokens t = tokens_new();
    char id[TOKEN_ID_SIZE];
    struct err err[5] = {0};
    unsigned int n = 0;

    write_file(&t, "0011223344556677.json", WHOLE "}", 0600);
    write_file(&t, "0011223344556688.json", "damaged", 0600);
    write_file(&t, "readme.txt", "", 0600);
    write_file(&t, ".0011.json", "", 0600);
    assert_ok(token_each(t.fd, count, &n, &err[0]), &err[0]);
    assert_int_equal(n, 2);
    assert_int_equal(token_revoke(t.fd, "0011", id, &err[1]), -EEXIST);
    assert_int_equal(token_revoke(t.fd, "../x", id, &err[2]), -EINVAL);
    assert_int_equal(token_revoke(t.fd, "00112233445566778", id, &err[3]), -EINVAL);
    assert_ok(token_revoke(t.fd, "001122334455668", id, &err[4]), &err[4]); /* damaged, too */
    assert_string_equal(id, "0011223344556688");
    assert_int_equal(faccessat(t.fd, "0011223344556688.json", F_OK, 0), -1);
    assert_int_equal(faccessat(t.fd, "0011223344556677.json", F_OK, 0), 0);
}

TEST_MAIN(T(a_token_without_quotas_gets_the_defaults), T(every_quota_is_read_and_written_again),
          T(anything_else_in_a_token_is_refused_and_named), T(what_is_too_long_is_refused),
          T(names_of_tenants_are_plain), T(a_new_token_is_a_file_that_only_its_owner_can_read),
          T(the_file_does_not_have_the_secret), T(a_header_of_any_other_form_names_no_token),
          T(what_the_daemon_would_not_read_is_not_written),
          T(a_file_that_another_could_have_written_is_not_read),
          T(a_token_is_revoked_by_the_beginning_of_its_id))
