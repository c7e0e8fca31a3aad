#include "daemon/service.h"
#include "tokens-fixture.h"

#define S NS_PER_S

struct heard {
    unsigned int n;
    char last[2048];
};

static void hear(void *ctx, const char *text)
{
    struct heard *heard = ctx;

    heard->n++;
    (void)snprintf(heard->last, sizeof(heard->last), "%s", text);
}

static struct tenants *open_tenants(const struct tokens *t, struct heard *heard)
{
    static const struct tenant_quota defaults = {.concurrent = 3, .queued = 4};
    struct tenants *tenants = NULL;
    struct err err = ERR_INIT;

    assert_ok(tenants_new(&(struct tenants_config){.tokens_fd = t != NULL ? t->fd : -1,
                                                   .defaults = &defaults,
                                                   .complain = heard != NULL ? hear : NULL,
                                                   .ctx = heard},
                          &tenants, &err),
              &err);
    return tenants;
}

/* The name of who shows this text, or "". */
static const char *who(struct tenants *tenants, const char *text, uint64_t now_ns,
                       struct tenant *ret)
{
    char header[128];
    struct err err = ERR_INIT;
    int r = 0;

    (void)snprintf(header, sizeof(header), "Bearer %s", text);
    r = tenants_find(tenants, header, now_ns, ret, &err);
    assert_true(r >= 0);
    return r == 1 ? ret->name : "";
}

static void a_token_opens_for_its_tenant_and_nothing_else_does(void **state)
{
    auto_tokens struct tokens t = tokens_new();
    char text[TOKEN_TEXT_SIZE];
    struct tenant tenant;
    struct err err = ERR_INIT;
    const struct token token = new_token(&t, "acme", text);
    auto_tenants struct tenants *tenants = open_tenants(&t, NULL);

    assert_false(tenants_empty(tenants));
    assert_string_equal(who(tenants, text, S, &tenant), "acme");
    assert_int_equal(tenant.quota.concurrent, 3);
    assert_int_equal(tenants_find(tenants, NULL, S, &tenant, &err), 0);
    assert_int_equal(tenants_find(tenants, "Bearer", S, &tenant, &err), 0);
    for (size_t i = 0; i < sizeof(text) - 1; i++) { /* any one other character */
        char other[TOKEN_TEXT_SIZE];

        memcpy(other, text, sizeof(other));
        other[i] = other[i] == 'a' ? 'b' : 'a';
        assert_string_equal(who(tenants, other, S, &tenant), "");
    }
    assert_int_equal(tenants_by_name(tenants, "acme", &tenant), 1);
    assert_int_equal(tenants_by_name(tenants, token.id, &tenant), 0);
}

static void a_revoked_token_is_refused_at_once(void **state)
{
    auto_tokens struct tokens t = tokens_new();
    char first[TOKEN_TEXT_SIZE];
    char second[TOKEN_TEXT_SIZE];
    char id[TOKEN_ID_SIZE];
    struct tenant tenant;
    struct err err = ERR_INIT;
    const struct token token = new_token(&t, "acme", first);
    auto_tenants struct tenants *tenants = open_tenants(&t, NULL);
    struct token other = {0};

    assert_string_equal(who(tenants, first, S, &tenant), "acme");
    other = new_token(&t, "beta", second);
    assert_string_equal(who(tenants, second, S, &tenant), "beta");
    assert_ok(token_revoke(t.fd, token.id, id, &err), &err);
    assert_string_equal(who(tenants, first, S, &tenant), "");
    assert_string_equal(who(tenants, second, S, &tenant), "beta");
    usleep(100000); /* the directory's times are older than a tick now */
    assert_string_equal(who(tenants, second, S, &tenant), "beta");
    assert_string_equal(who(tenants, second, S, &tenant), "beta");
    assert_ok(token_revoke(t.fd, other.id, id, &err), &err);
    assert_string_equal(who(tenants, second, S, &tenant), "");
    assert_true(tenants_empty(tenants));
}

/* Faster than the kernel's clock of files ticks: the directory's time alone would not tell. */
static void changes_within_one_tick_are_seen(void **state)
{
    auto_tokens struct tokens t = tokens_new();
    auto_tenants struct tenants *tenants = open_tenants(&t, NULL);

    for (unsigned int i = 0; i < 50; i++) {
        char text[TOKEN_TEXT_SIZE];
        char name[32];
        struct tenant tenant;
        const struct token token = new_token(&t, "acme", text);

        assert_string_equal(who(tenants, text, S, &tenant), "acme");
        (void)snprintf(name, sizeof(name), "%s.json", token.id);
        assert_int_equal(unlinkat(t.fd, name, 0), 0);
        assert_string_equal(who(tenants, text, S, &tenant), "");
    }
}

static void a_file_that_is_changed_in_place_is_seen_within_a_second(void **state)
{
    auto_tokens struct tokens t = tokens_new();
    char text[TOKEN_TEXT_SIZE];
    char name[32];
    struct tenant tenant;
    struct heard heard = {0};
    const struct token token = new_token(&t, "acme", text);
    auto_tenants struct tenants *tenants = open_tenants(&t, &heard);

    (void)snprintf(name, sizeof(name), "%s.json", token.id);
    usleep(100000);
    assert_string_equal(who(tenants, text, S, &tenant), "acme");
    write_file(&t, name, "{}", 0600);
    assert_string_equal(who(tenants, text, 2 * S, &tenant), "");
    assert_int_equal(heard.n, 1);
}

static time_t behind_s; /* of the clock, not of the files' times */

int __real_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);

int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
    int r = __real_clock_gettime(id, ret);

    ret->tv_sec -= id == CLOCK_REALTIME ? behind_s : 0;
    return r;
}

/* Not with every request for as long as the clock is behind; what is revoked is seen as ever. */
static void a_clock_that_was_set_back_makes_nobody_read_all_again(void **state)
{
    auto_tokens struct tokens t = tokens_new();
    char text[TOKEN_TEXT_SIZE];
    char other[TOKEN_TEXT_SIZE];
    char name[40];
    struct tenant tenant;
    const struct token token = new_token(&t, "acme", text);
    auto_tenants struct tenants *tenants = NULL;
    struct err err = ERR_INIT;
    char id[TOKEN_ID_SIZE];

    (void)state;
    (void)new_token(&t, "other", other);
    behind_s = 3600;
    tenants = open_tenants(&t, NULL);
    assert_string_equal(who(tenants, text, S, &tenant), "acme");
    (void)snprintf(name, sizeof(name), "%s.json", token.id);
    write_file(&t, name, "damaged", 0600);
    assert_string_equal(who(tenants, text, S, &tenant), "acme");
    assert_string_equal(who(tenants, text, 3 * S, &tenant), "");
    assert_string_equal(who(tenants, other, 3 * S, &tenant), "other");
    usleep(100000); /* another tick than that of the change before */
    (void)snprintf(name, sizeof(name), "%.8s", other + strlen("alk_"));
    assert_ok(token_revoke(t.fd, name, id, &err), &err);
    assert_string_equal(who(tenants, other, 3 * S, &tenant), "");
    behind_s = 0;
}

static void a_damaged_file_refuses_its_token_loudly_and_no_other(void **state)
{
    auto_tokens struct tokens t = tokens_new();
    char text[TOKEN_TEXT_SIZE];
    struct tenant tenant;
    struct heard heard = {0};
    auto_tenants struct tenants *tenants = NULL;

    (void)new_token(&t, "acme", text);
    write_file(&t, "not-an-id.json", "{}", 0600);
    write_file(&t, "0011223344556677.json", "{\"token\":1}", 0600);
    tenants = open_tenants(&t, &heard);
    assert_int_equal(heard.n, 2);
    assert_non_null(strstr(heard.last, "not-an-id.json"));
    assert_string_equal(who(tenants, text, S, &tenant), "acme");
    for (uint64_t i = 2; i < 10; i++) { /* not again while it is the same file */
        assert_string_equal(who(tenants, text, i * S, &tenant), "acme");
    }
    assert_int_equal(heard.n, 2);
}

static void a_file_that_cannot_be_used_is_no_open_door(void **state)
{
    auto_tokens struct tokens t = tokens_new();
    auto_tenants struct tenants *tenants = open_tenants(&t, NULL);
    auto_tenants struct tenants *nowhere = open_tenants(NULL, NULL);
    struct err err = ERR_INIT;

    assert_true(tenants_empty(tenants));
    assert_true(tenants_empty(nowhere));
    write_file(&t, "0011223344556677.json", "", 0600);
    assert_ok(tenants_refresh(tenants, S, &err), &err);
    assert_false(tenants_empty(tenants));
}

static void a_directory_that_cannot_be_read_lets_nobody_in(void **state)
{
    auto_tokens struct tokens t = tokens_new();
    char text[TOKEN_TEXT_SIZE];
    char header[128];
    struct tenant tenant;
    struct err err = ERR_INIT;
    int kept = -1;
    auto_tenants struct tenants *tenants = NULL;

    (void)new_token(&t, "acme", text);
    (void)snprintf(header, sizeof(header), "Bearer %s", text);
    tenants = open_tenants(&t, NULL);
    assert_string_equal(who(tenants, text, S, &tenant), "acme");
    kept = fcntl(t.fd, F_DUPFD_CLOEXEC, 0);
    assert_int_equal(close(t.fd), 0);
    assert_true(tenants_find(tenants, header, S, &tenant, &err) < 0);
    assert_int_equal(err.class, ERR_HOST);
    assert_false(tenants_empty(tenants));
    assert_int_equal(tenants_by_name(tenants, "acme", &tenant), 0);
    assert_int_equal(dup3(kept, t.fd, O_CLOEXEC), t.fd);
    assert_int_equal(close(kept), 0);
    assert_string_equal(who(tenants, text, S, &tenant), "acme");
}

static void of_several_tokens_of_a_tenant_the_newest_ones_quotas_count(void **state)
{
    auto_tokens struct tokens t = tokens_new();
    char first[TOKEN_TEXT_SIZE];
    char second[TOKEN_TEXT_SIZE];
    struct token token = {.tenant = "acme", .given = TOKEN_CONCURRENT};
    struct tenant tenant;
    struct tenant_quota other = {.concurrent = 9, .queued = 11};
    struct err err = ERR_INIT;
    auto_tenants struct tenants *tenants = NULL;

    token.quota.concurrent = 1;
    assert_ok(token_create(t.fd, &token, first, &err), &err);
    usleep(2000);
    token.quota.concurrent = 2;
    assert_ok(token_create(t.fd, &token, second, &err), &err);
    tenants = open_tenants(&t, NULL);
    assert_string_equal(who(tenants, first, S, &tenant), "acme");
    assert_int_equal(tenant.quota.concurrent, 2);
    assert_string_equal(who(tenants, second, S, &tenant), "acme");
    assert_int_equal(tenant.quota.concurrent, 2);
    assert_int_equal(tenant.quota.queued, 4);
    tenants_set_defaults(tenants, &other);
    assert_string_equal(who(tenants, second, S, &tenant), "acme");
    assert_int_equal(tenant.quota.concurrent, 2);
    assert_int_equal(tenant.quota.queued, 11);
}

/* --- what a spec may ask --- */

static void assert_not_allowed(const struct tenant *tenant, struct spec *spec, const char *field)
{
    struct refusal refusal = {0};

    assert_false(tenant_allows(tenant, spec, &refusal));
    assert_int_equal(refusal.status, 403);
    assert_string_equal(refusal.field, field);
    assert_non_null(refusal.type);
    assert_true(strlen(refusal.detail) > 20);
}

static void limits_above_a_ceiling_are_refused_by_name(void **state)
{
    struct tenant tenant = {.name = "a"};
    struct refusal refusal = {0};
    auto_spec struct spec spec;

    spec_init(&spec);
    spec.language = SPEC_PYTHON;
    spec.cpu_given = true;
    assert_true(tenant_allows(&tenant, &spec, &refusal));
    assert_int_equal(refusal.status, 0);
    tenant.quota.wall_ns = spec.limits.wall_ns;
    tenant.quota.cpu_ns = spec.limits.cpu_ns;
    tenant.quota.memory_bytes = spec.limits.memory_bytes;
    assert_true(tenant_allows(&tenant, &spec, &refusal));
    spec.limits.wall_ns++;
    assert_not_allowed(&tenant, &spec, "limits.wall_ms");
    spec.limits.wall_ns--;
    spec.limits.cpu_ns++;
    assert_not_allowed(&tenant, &spec, "limits.cpu_ms");
    spec.limits.cpu_ns--;
    spec.limits.memory_bytes++;
    assert_not_allowed(&tenant, &spec, "limits.memory_bytes");
}

static void only_the_images_of_the_quota_may_be_used(void **state)
{
    struct tenant tenant = {.name = "a", .quota = {.images = {"python", "tools"}, .n_images = 2}};
    struct refusal refusal = {0};
    struct err err = ERR_INIT;
    auto_spec struct spec spec;

    spec_init(&spec);
    spec.language = SPEC_PYTHON;
    assert_true(tenant_allows(&tenant, &spec, &refusal));
    spec.language = SPEC_JAVASCRIPT;
    assert_not_allowed(&tenant, &spec, "image");
    assert_ok(spec_set_image(&spec, "tool", &err), &err);
    assert_not_allowed(&tenant, &spec, "image");
    assert_ok(spec_set_image(&spec, "tools2", &err), &err);
    assert_not_allowed(&tenant, &spec, "image");
    assert_ok(spec_set_image(&spec, "tools", &err), &err);
    assert_true(tenant_allows(&tenant, &spec, &refusal));
    tenant.quota.pinned = true;
    assert_not_allowed(&tenant, &spec, "image");
    assert_ok(spec_set_image(&spec,
                             "tools@sha256:0123456789abcdef0123456789abcdef"
                             "0123456789abcdef0123456789abcdef",
                             &err),
              &err);
    assert_true(tenant_allows(&tenant, &spec, &refusal));
}

static void a_tenant_held_to_hardware_holds_its_jobs_to_it(void **state)
{
    struct tenant tenant = {.name = "a", .quota = {.isolation = SPEC_ISOLATION_HARDWARE}};
    struct refusal refusal = {0};
    auto_spec struct spec spec;

    spec_init(&spec);
    spec.language = SPEC_PYTHON;
    assert_int_equal(spec.isolation, SPEC_ISOLATION_EMULATED);
    assert_true(tenant_allows(&tenant, &spec, &refusal));
    assert_int_equal(spec.isolation, SPEC_ISOLATION_HARDWARE);
    spec.isolation = SPEC_ISOLATION_EMULATED;
    spec.engine = SPEC_ENGINE_TCG;
    assert_not_allowed(&tenant, &spec, "engine");
    tenant.quota.isolation = SPEC_ISOLATION_EMULATED;
    assert_true(tenant_allows(&tenant, &spec, &refusal));
    assert_int_equal(spec.isolation, SPEC_ISOLATION_EMULATED);
    spec.isolation = SPEC_ISOLATION_HARDWARE; /* a job may ask for more than it must */
    spec.engine = SPEC_ENGINE_AUTO;
    assert_true(tenant_allows(&tenant, &spec, &refusal));
    assert_int_equal(spec.isolation, SPEC_ISOLATION_HARDWARE);
}

static void a_job_silent_about_cpu_gets_no_more_than_the_ceiling(void **state)
{
    struct tenant tenant = {.name = "a", .quota = {.cpu_ns = 7 * S}};
    struct refusal refusal = {0};
    auto_spec struct spec spec;

    spec_init(&spec);
    spec.language = SPEC_PYTHON;
    assert_true(spec.limits.cpu_ns < 7 * S && SPEC_CPU_EMULATED_NS > 7 * S);
    assert_true(tenant_allows(&tenant, &spec, &refusal));
    assert_true(spec.cpu_given); /* or an emulated engine would raise it above */
    assert_true(spec.limits.cpu_ns <= 7 * S);
    spec.cpu_given = false;
    spec.limits.cpu_ns = 5 * S;
    tenant.quota.cpu_ns = S;
    assert_true(tenant_allows(&tenant, &spec, &refusal));
    assert_int_equal(spec.limits.cpu_ns, S);
    spec.limits.cpu_ns = 2 * S;
    assert_not_allowed(&tenant, &spec, "limits.cpu_ms");
}

static void the_local_tenant_accepts_emulation_by_the_default_quotas(void **state)
{
    struct tenant tenant;

    tenant_local(&tenant_quota_default, &tenant);
    assert_string_equal(tenant.name, TENANT_LOCAL);
    assert_true(tenant_name_ok(tenant.name));
    assert_int_equal(tenant.quota.isolation, SPEC_ISOLATION_EMULATED);
    assert_int_equal(tenant_quota_default.isolation, SPEC_ISOLATION_HARDWARE);
    assert_true(tenant.quota.concurrent > 0 && tenant.quota.queued > 0);
}

TEST_MAIN(T(a_token_opens_for_its_tenant_and_nothing_else_does),
          T(a_revoked_token_is_refused_at_once), T(changes_within_one_tick_are_seen),
          T(a_file_that_is_changed_in_place_is_seen_within_a_second),
          T(a_clock_that_was_set_back_makes_nobody_read_all_again),
          T(a_damaged_file_refuses_its_token_loudly_and_no_other),
          T(a_file_that_cannot_be_used_is_no_open_door),
          T(a_directory_that_cannot_be_read_lets_nobody_in),
          T(of_several_tokens_of_a_tenant_the_newest_ones_quotas_count),
          T(limits_above_a_ceiling_are_refused_by_name),
          T(only_the_images_of_the_quota_may_be_used),
          T(a_tenant_held_to_hardware_holds_its_jobs_to_it),
          T(a_job_silent_about_cpu_gets_no_more_than_the_ceiling),
          T(the_local_tenant_accepts_emulation_by_the_default_quotas))
