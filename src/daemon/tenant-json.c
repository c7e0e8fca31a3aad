/*
 * How it works: one table has the members of "quota" with their ranges; the reader, the writer and
 * the check of a new token go by it. Everything else is fixed: what a bearer shows has a fixed
 * length, so that splitting it needs no search.
 */
#include <errno.h>
#include <nettle/memops.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "daemon/queue.h"
#include "daemon/rate.h"
#include "daemon/tenant-file.h"
#include "job/json-build.h"
#include "job/text.h"

#define TOKEN_FORMAT  1
#define ID_LEN        (TOKEN_ID_SIZE - 1)
#define LIMIT_DAYS_MS (366ull * 24 * 3600 * 1000)

enum quota_unit {
    QUOTA_COUNT,
    QUOTA_MS /* kept in ns */
};

struct quota_number {
    const char *key;
    size_t offset;
    enum token_given given;
    enum quota_unit unit;
    uint64_t min, max;
};

#define NUMBER(name, field, bit, in, least, most)                                  \
    {                                                                              \
        (name), offsetof(struct tenant_quota, field), (bit), (in), (least), (most) \
    }

static const struct quota_number numbers[] = {
    NUMBER("concurrent", concurrent, TOKEN_CONCURRENT, QUOTA_COUNT, 1, LEDGER_NUMBERS),
    NUMBER("queued", queued, TOKEN_QUEUED, QUOTA_COUNT, 1, QUEUE_QUEUED_MAX),
    NUMBER("rate_per_minute", rate_per_minute, TOKEN_RATE, QUOTA_COUNT, 0, RATE_PER_MINUTE_MAX),
    NUMBER("rate_burst", rate_burst, TOKEN_BURST, QUOTA_COUNT, 0, RATE_BURST_MAX),
    NUMBER("wall_ms", wall_ns, TOKEN_WALL, QUOTA_MS, 0, LIMIT_DAYS_MS),
    NUMBER("cpu_ms", cpu_ns, TOKEN_CPU, QUOTA_MS, 0, LIMIT_DAYS_MS),
    NUMBER("memory_bytes", memory_bytes, TOKEN_MEMORY, QUOTA_COUNT, 0, INT64_MAX),
    NUMBER("kept_bytes", kept_bytes, TOKEN_KEPT, QUOTA_COUNT, 0, INT64_MAX),
};

static uint64_t *number_at(struct tenant_quota *quota, const struct quota_number *n)
{
    return (uint64_t *)(void *)((char *)quota + n->offset);
}

static uint64_t number_of(const struct tenant_quota *quota, const struct quota_number *n)
{
    uint64_t v = *(const uint64_t *)(const void *)((const char *)quota + n->offset);

    return n->unit == QUOTA_MS ? v / NS_PER_MS : v;
}

void token_quota(const struct token *token, const struct tenant_quota *defaults,
                 struct tenant_quota *ret)
{
    struct tenant_quota quota = *defaults;
    struct tenant_quota own = token->quota;

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        if ((token->given & numbers[i].given) != 0) {
            *number_at(&quota, &numbers[i]) = *number_at(&own, &numbers[i]);
        }
    }
    if ((token->given & TOKEN_IMAGES) != 0) {
        memcpy(quota.images, own.images, sizeof(quota.images));
        quota.n_images = own.n_images;
    }
    if ((token->given & TOKEN_ISOLATION) != 0) {
        quota.isolation = own.isolation;
    }
    if ((token->given & TOKEN_PINNED) != 0) {
        quota.pinned = own.pinned;
    }
    *ret = quota;
}

/* n of the characters, and nothing behind them. */
static bool is_hex(const char *s, size_t n)
{
    return strspn(s, "0123456789abcdef") == n && s[n] == '\0';
}

bool token_id_ok(const char *id)
{
    return is_hex(id, ID_LEN);
}

bool tenant_name_ok(const char *name)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    static const char rest[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
    size_t len = strnlen(name, JOB_TENANT_SIZE);

    return len > 0 && len < JOB_TENANT_SIZE && strchr(first, name[0]) != NULL &&
           strspn(name, rest) == len;
}

/* --- from JSON --- */

static int want(const json_t *json, json_type type, const char *word, const char *label,
                struct err *err)
{
    if (json == NULL) {
        return err_usage(err, "%s: is missing", label);
    }
    return json_typeof(json) == type ? 0 : err_usage(err, "%s: must be %s", label, word);
}

/* Bounds the length too; borrowed. */
static int get_string(const json_t *json, size_t size, const char *label, const char **ret,
                      struct err *err)
{
    int r = want(json, JSON_STRING, "a string", label, err);

    if (r == 0 && json_string_length(json) >= size) {
        r = err_usage(err, "%s: is longer than %zu bytes", label, size - 1);
    }
    if (r == 0) {
        *ret = json_string_value(json);
    }
    return r;
}

static int get_number(const json_t *json, uint64_t min, uint64_t max, const char *label,
                      uint64_t *ret, struct err *err)
{
    int r = want(json, JSON_INTEGER, "an integer", label, err);
    json_int_t v = json_integer_value(json);

    if (r == 0 && (v < 0 || (uint64_t)v < min || (uint64_t)v > max)) {
        r = err_usage(err, "%s: must be from %llu to %llu", label, (unsigned long long)min,
                      (unsigned long long)max);
    }
    if (r == 0) {
        *ret = (uint64_t)v;
    }
    return r;
}

static int take_images(const json_t *json, struct tenant_quota *quota, struct err *err)
{
    int r = want(json, JSON_ARRAY, "an array of names", "quota.images", err);

    if (r == 0 && json_array_size(json) > TENANT_IMAGES_MAX) {
        r = err_usage(err, "quota.images: has more than %u names", TENANT_IMAGES_MAX);
    }
    for (size_t i = 0; r == 0 && i < json_array_size(json); i++) {
        const char *name = NULL;

        r = get_string(json_array_get(json, i), sizeof(quota->images[i]), "quota.images[]", &name,
                       err);
        if (r == 0 && !spec_image_name_ok(name, strlen(name))) {
            r = err_usage(err, "quota.images[%zu]: is no image name (without digest)", i);
        }
        if (r == 0) {
            memcpy(quota->images[i], name, strlen(name) + 1);
            quota->n_images = i + 1;
        }
    }
    return r;
}

static int take_isolation(const json_t *json, struct tenant_quota *quota, struct err *err)
{
    const char *s = NULL;
    int r = get_string(json, sizeof("hardware"), "quota.isolation", &s, err);

    if (r < 0) {
        return r;
    }
    if (strcmp(s, "hardware") == 0) {
        quota->isolation = SPEC_ISOLATION_HARDWARE;
    } else if (strcmp(s, "emulated") == 0) {
        quota->isolation = SPEC_ISOLATION_EMULATED;
    } else {
        return err_usage(err, "quota.isolation: must be \"hardware\" or \"emulated\"");
    }
    return 0;
}

static int take_pinned(const json_t *json, struct tenant_quota *quota, struct err *err)
{
    if (!json_is_boolean(json)) {
        return err_usage(err, "quota.pinned: must be true or false");
    }
    quota->pinned = json_is_true(json);
    return 0;
}

static const struct quota_other {
    const char *key;
    enum token_given given;
    int (*take)(const json_t *json, struct tenant_quota *quota, struct err *err);
} others[] = {
    {"images", TOKEN_IMAGES, take_images},
    {"isolation", TOKEN_ISOLATION, take_isolation},
    {"pinned", TOKEN_PINNED, take_pinned},
};

static int take_number(const json_t *json, const struct quota_number *n, struct token *token,
                       struct err *err)
{
    char label[64];
    uint64_t v = 0;
    int r = 0;

    (void)snprintf(label, sizeof(label), "quota.%s", n->key);
    r = get_number(json, n->min, n->max, label, &v, err);
    if (r == 0) {
        *number_at(&token->quota, n) = n->unit == QUOTA_MS ? v * NS_PER_MS : v;
        token->given |= (unsigned int)n->given;
    }
    return r;
}

static int take_quota_member(const char *key, const json_t *json, struct token *token,
                             struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        if (strcmp(key, numbers[i].key) == 0) {
            return take_number(json, &numbers[i], token, err);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        if (strcmp(key, others[i].key) == 0) {
            token->given |= (unsigned int)others[i].given;
            return others[i].take(json, &token->quota, err);
        }
    }
    return err_usage(err, "quota: has a member '%s' that is not known", text_of_str(key).s);
}

static int take_quota(json_t *json, struct token *token, struct err *err)
{
    const char *key = NULL;
    json_t *value = NULL;
    int r = want(json, JSON_OBJECT, "an object", "quota", err);

    if (r < 0) {
        return r;
    }
    json_object_foreach(json, key, value)
    {
        r = take_quota_member(key, value, token, err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

static int check_keys(json_t *root, struct err *err)
{
    static const char *const keys[] = {"token",      "id",   "tenant", "digest",
                                       "created_ms", "note", "quota"};
    const char *key = "";
    json_t *value = NULL;

    json_object_foreach(root, key, value)
    {
        size_t i = 0;

        while (i < ARRAY_LEN(keys) && strcmp(key, keys[i]) != 0) {
            i++;
        }
        if (i == ARRAY_LEN(keys)) {
            return err_usage(err, "a member '%s' is not known", text_of_str(key).s);
        }
    }
    return 0;
}

static int take_names(json_t *root, struct token *token, struct err *err)
{
    const char *id = NULL;
    const char *tenant = NULL;
    const char *digest = NULL;
    int r = get_string(json_object_get(root, "id"), TOKEN_ID_SIZE, "id", &id, err);

    if (r == 0 && !token_id_ok(id)) {
        r = err_usage(err, "id: must be %u lower-case hex digits", ID_LEN);
    }
    if (r == 0) {
        r = get_string(json_object_get(root, "tenant"), JOB_TENANT_SIZE, "tenant", &tenant, err);
    }
    if (r == 0 && !tenant_name_ok(tenant)) {
        r = err_usage(err, "tenant: must be of a-z 0-9 '-' '_' '.', the first a letter or digit");
    }
    if (r == 0) {
        r = get_string(json_object_get(root, "digest"), DIGEST_HEX_SIZE + 7, "digest", &digest,
                       err);
    }
    if (r == 0 && (strncmp(digest, "sha256:", 7) != 0 || !digest_is_hex(digest + 7))) {
        r = err_usage(err, "digest: must be \"sha256:\" and 64 lower-case hex digits");
    }
    if (r == 0) {
        memcpy(token->id, id, strlen(id) + 1);
        memcpy(token->tenant, tenant, strlen(tenant) + 1);
        memcpy(token->digest.hex, digest + 7, DIGEST_HEX_SIZE);
    }
    return r;
}

static int take_root(json_t *root, struct token *token, struct err *err)
{
    const json_t *note = json_object_get(root, "note");
    json_t *quota = json_object_get(root, "quota");
    const char *text = NULL;
    uint64_t format = 0;
    int r = want(root, JSON_OBJECT, "an object", "the token", err);

    if (r == 0) {
        r = check_keys(root, err);
    }
    if (r == 0) {
        r = get_number(json_object_get(root, "token"), TOKEN_FORMAT, TOKEN_FORMAT, "token", &format,
                       err);
    }
    if (r == 0) {
        r = take_names(root, token, err);
    }
    if (r == 0) {
        r = get_number(json_object_get(root, "created_ms"), 0, INT64_MAX / NS_PER_MS, "created_ms",
                       &token->created_ms, err);
    }
    if (r == 0 && note != NULL) {
        r = get_string(note, TOKEN_NOTE_SIZE, "note", &text, err);
    }
    if (r == 0 && text != NULL) {
        memcpy(token->note, text, strlen(text) + 1);
    }
    if (r == 0 && quota != NULL) {
        r = take_quota(quota, token, err);
    }
    return r;
}

int token_parse(const char *text, size_t len, struct token *ret, struct err *err)
{
    struct token token = {0};
    json_error_t at;
    json_t *root = NULL;
    int r = 0;

    if (len > TOKEN_FILE_MAX) {
        return err_usage(err, "the file is larger than %llu bytes", TOKEN_FILE_MAX);
    }
    root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &at);
    if (root == NULL) { /* jansson's text quotes the document: it is not repeated */
        return err_usage(err, "line %d: is not strict JSON without repeated members", at.line);
    }
    r = take_root(root, &token, err);
    json_decref(root);
    if (r == 0) {
        *ret = token;
    }
    return r;
}

/* --- to JSON --- */

static json_t *images_json(const struct tenant_quota *quota, struct builder *b)
{
    json_t *array = json_array();

    for (size_t i = 0; array != NULL && i < quota->n_images; i++) {
        append(b, array, json_string(quota->images[i]));
    }
    return array;
}

static json_t *quota_json(const struct token *token, struct builder *b)
{
    json_t *o = json_object();
    const struct tenant_quota *q = &token->quota;

    for (size_t i = 0; o != NULL && i < ARRAY_LEN(numbers); i++) {
        if ((token->given & numbers[i].given) != 0) {
            set(b, o, numbers[i].key, integer(number_of(q, &numbers[i])));
        }
    }
    if (o != NULL && (token->given & TOKEN_IMAGES) != 0) {
        set(b, o, "images", images_json(q, b));
    }
    if (o != NULL && (token->given & TOKEN_ISOLATION) != 0) {
        set(b, o, "isolation",
            json_string(q->isolation == SPEC_ISOLATION_HARDWARE ? "hardware" : "emulated"));
    }
    if (o != NULL && (token->given & TOKEN_PINNED) != 0) {
        set(b, o, "pinned", json_boolean(q->pinned));
    }
    return o;
}

int token_format(const struct token *token, struct buf *out, struct err *err)
{
    struct builder b = {0};
    json_t *root = json_object();
    int r = 0;

    if (root != NULL) {
        set(&b, root, "token", json_integer(TOKEN_FORMAT));
        set(&b, root, "id", json_string(token->id));
        set(&b, root, "tenant", json_string(token->tenant));
        set(&b, root, "digest", digest_text(&token->digest));
        set(&b, root, "created_ms", integer(token->created_ms));
        if (token->note[0] != '\0') {
            set(&b, root, "note", json_string(token->note));
        }
        set(&b, root, "quota", quota_json(token, &b));
    }
    r = json_finish(&b, root, out);
    if (r == 0) {
        r = buf_put(out, "\n", 1);
    }
    return r < 0 ? err_sys_num(err, -r, "write a token as JSON") : 0;
}

/* --- what its bearer shows --- */

bool token_from_header(const char *value, char ret_id[TOKEN_ID_SIZE], struct digest *ret_digest)
{
    static const char scheme[] = "Bearer ";
    static const char prefix[] = "alk_";
    char id[TOKEN_ID_SIZE] = "";
    const char *secret = NULL;

    if (strncasecmp(value, scheme, sizeof(scheme) - 1) != 0) {
        return false;
    }
    value += sizeof(scheme) - 1;
    if (strnlen(value, TOKEN_TEXT_SIZE) != TOKEN_TEXT_SIZE - 1 ||
        memcmp(value, prefix, sizeof(prefix) - 1) != 0) {
        return false;
    }
    value += sizeof(prefix) - 1;
    memcpy(id, value, ID_LEN);
    secret = value + ID_LEN + 1;
    /* The alphabet of the secret is not looked at: another one has another digest. */
    if (!token_id_ok(id) || value[ID_LEN] != '_') {
        return false;
    }
    digest_of_data(secret, TOKEN_SECRET_LEN, ret_digest);
    memcpy(ret_id, id, sizeof(id));
    return true;
}

bool token_digest_equal(const struct digest *a, const struct digest *b)
{
    return memeql_sec(a->hex, b->hex, DIGEST_HEX_SIZE) != 0;
}
