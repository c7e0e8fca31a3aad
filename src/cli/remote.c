#include "cli/remote.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/str.h"

#include "job/text.h"
#include "job/verdict.h"
#include "sys/unique.h"

#define SUBMIT_TRIES 4u
#define SILENCE_NS   (120 * NS_PER_S)

static const char *const states[] = {"queued", "starting", "running", "ended"};

const char *remote_state_name(enum remote_state state)
{
    return states[state];
}

void remote_job_fini(struct remote_job *job)
{
    json_decref(job->json);
    *job = (struct remote_job)REMOTE_JOB_INIT;
}

bool remote_id_ok(const char *id)
{
    size_t n = strspn(id, "0123456789abcdef");

    return n == REMOTE_ID_SIZE - 1 && id[n] == '\0';
}

int remote_check_id(const char *id, struct err *err)
{
    if (remote_id_ok(id)) {
        return 0;
    }
    return err_usage(
        err, "'%s' is not the id of a job: 32 digits 0-9 and a-f ('airlock jobs' lists them)",
        text_of_str(id).s);
}

static int not_a_job(const char *what, struct err *err)
{
    return err_set(err, ERR_HOST, EPROTO,
                   "the daemon's answer is no job: %s; is this airlockd, and of this version?",
                   what);
}

static int read_state(const json_t *json, enum remote_state *ret)
{
    const char *name = json_string_value(json_object_get(json, "state"));

    for (size_t i = 0; name != NULL && i < ARRAY_LEN(states); i++) {
        if (strcmp(name, states[i]) == 0) {
            *ret = (enum remote_state)i;
            return 0;
        }
    }
    return -1;
}

/* A verdict's number, -1 for none yet (null), -2 for anything else. */
static int read_verdict(const json_t *json)
{
    int verdict = verdict_find(json_string_value(json));

    if (verdict >= 0) {
        return verdict;
    }
    return json_is_null(json) || json == NULL ? -1 : -2;
}

int remote_job_take(json_t *json, struct remote_job *ret, struct err *err)
{
    const char *id = json_string_value(json_object_get(json, "id"));
    json_t *result = json_object_get(json, "result");
    int verdict = read_verdict(json_object_get(json, "verdict"));

    if (!json_is_object(json) || id == NULL || !remote_id_ok(id)) {
        return not_a_job("it has no id", err);
    }
    if (read_state(json, &ret->state) < 0) {
        return not_a_job("its state is unknown", err);
    }
    if (verdict == -2 || (ret->state == REMOTE_ENDED) != (verdict >= 0)) {
        return not_a_job("its verdict does not fit", err);
    }
    if (result != NULL && !json_is_null(result) &&
        (!json_is_object(result) || read_verdict(json_object_get(result, "verdict")) != verdict ||
         verdict < 0)) {
        return not_a_job("its result does not fit", err);
    }
    memcpy(ret->id, id, REMOTE_ID_SIZE);
    ret->verdict = verdict;
    ret->json = json_incref(json);
    return 0;
}

int remote_job_read(const void *text, size_t len, struct remote_job *ret, struct err *err)
{
    struct remote_job job = REMOTE_JOB_INIT;
    json_error_t at;
    json_t *json =
        len > 0 ? json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &at) : NULL;
    int r = json != NULL ? remote_job_take(json, &job, err) : not_a_job("it is not JSON", err);

    json_decref(json);
    if (r == 0) {
        *ret = job;
    }
    return r;
}

json_t *remote_job_result(const struct remote_job *job)
{
    json_t *result = json_object_get(job->json, "result");

    return json_is_object(result) ? result : NULL;
}

/* A member of a problem, harmless; "" if it is none. */
static struct text word(const json_t *problem, const char *key)
{
    const json_t *v = json_object_get(problem, key);

    return text_of(json_is_string(v) ? json_string_value(v) : "", json_string_length(v));
}

/* ERR_LIMIT: may be tried later. What is not listed is the caller's (4xx) or the daemon's. */
static enum err_class class_of(unsigned int status, int *ret_errnum)
{
    static const struct {
        unsigned int status;
        enum err_class class;
        int errnum;
    } rows[] = {
        {401, ERR_USAGE, EACCES},   {403, ERR_USAGE, EPERM},  {404, ERR_USAGE, ENOENT},
        {409, ERR_USAGE, EALREADY}, {413, ERR_USAGE, EFBIG},  {429, ERR_LIMIT, EAGAIN},
        {503, ERR_LIMIT, EAGAIN},   {507, ERR_LIMIT, ENOSPC},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].status == status) {
            *ret_errnum = rows[i].errnum;
            return rows[i].class;
        }
    }
    *ret_errnum = status >= 400 && status < 500 ? EINVAL : EIO;
    return status >= 400 && status < 500 ? ERR_USAGE : ERR_HOST;
}

/* What to do, where the daemon's own words can't know it. */
static const char *remedy(unsigned int status)
{
    switch (status) {
    case 401:
        return "; set AIRLOCK_TOKEN, or name a file with --token-file";
    case 404:
        return "; 'airlock jobs' lists what there is";
    default:
        return "";
    }
}

int remote_refused(const struct http *h, const struct http_answer *answer, struct err *err)
{
    json_error_t at;
    bool is_problem = strcmp(answer->type, "application/problem+json") == 0;
    json_t *json = is_problem && answer->body.len > 0
                       ? json_loadb((const char *)answer->body.data, answer->body.len, 0, &at)
                       : NULL;
    struct text title = word(json, "title");
    struct text detail = word(json, "detail");
    struct text field = word(json, "field");
    char later[64] = "";
    int errnum = 0;
    enum err_class class = class_of(answer->status, &errnum);

    json_decref(json);
    if (answer->retry_after_s > 0 && class == ERR_USAGE) {
        class = ERR_LIMIT; /* a deadline that can't be kept now, say */
        errnum = EAGAIN;
    }
    if (answer->retry_after_s > 0) {
        (void)snprintf(later, sizeof(later), "; try again in %" PRIu64 " s", answer->retry_after_s);
    }
    if (!is_problem || title.s[0] == '\0') {
        return err_set(err, ERR_HOST, EPROTO,
                       "'%s' answered with HTTP status %u and no reason; is this airlockd?",
                       text_of_str(http_url(h)).s, answer->status);
    }
    return err_set(err, (enum err_class) class, errnum, "the daemon refuses: %s%s%s%s%s%s%s",
                   title.s, field.s[0] != '\0' ? " in " : "", field.s,
                   detail.s[0] != '\0' ? ": " : "", detail.s, later, remedy(answer->status));
}

static bool is_transient(int r)
{
    return r == -ECONNREFUSED || r == -ECONNRESET || r == -ETIMEDOUT;
}

/* "Idempotency-Key: KEY"; one is made up without a key. */
static int key_header(const char *key, char ret[192], struct err *err)
{
    char made[UNIQUE_ID_SIZE] = "";
    int r = key == NULL ? unique_id(made, err) : 0;

    (void)snprintf(ret, 192, "Idempotency-Key: %.128s", key != NULL ? key : made);
    return r;
}

static void rest(unsigned int try)
{
    struct timespec ts = {.tv_sec = 0, .tv_nsec = (long)(250u * NS_PER_MS)};

    for (unsigned int i = 0; i < (1u << try); i++) {
        (void)nanosleep(&ts, NULL);
    }
}

int remote_submit(struct http *h, const struct remote_body *body, http_turn_fn *turn, void *ctx,
                  struct remote_job *ret, struct err *err)
{
    auto_http_answer struct http_answer answer = {.status = 0};
    char header[192];
    struct http_request rq = {.method = "POST",
                              .path = "/v1/jobs",
                              .headers = {header},
                              .silence_ns = SILENCE_NS,
                              .turn = turn,
                              .ctx = ctx};
    int r = key_header(body->key, header, err);

    if (body->n_parts > 0) {
        rq.parts = body->parts;
        rq.n_parts = body->n_parts;
    } else {
        rq.body = body->json;
        rq.body_len = strlen(body->json);
    }
    if (r < 0) {
        return r;
    }
    for (unsigned int try = 0;; try++) {
        r = http_do(h, &rq, &answer, err);
        if (r == 0 || !is_transient(r) || try + 1 == SUBMIT_TRIES) {
            break;
        }
        *err = (struct err)ERR_INIT;
        rest(try);
    }
    if (r < 0) {
        return r;
    }
    if (answer.status != 200 && answer.status != 202) {
        return remote_refused(h, &answer, err);
    }
    return remote_job_read(answer.body.data, answer.body.len, ret, err);
}

int remote_get(struct http *h, const char *id, struct remote_job *ret, struct err *err)
{
    auto_http_answer struct http_answer answer = {.status = 0};
    char path[64];
    const struct http_request rq = {.method = "GET", .path = path};
    int r = 0;

    (void)snprintf(path, sizeof(path), "/v1/jobs/%.32s", id);
    r = http_do(h, &rq, &answer, err);
    if (r < 0) {
        return r;
    }
    if (answer.status != 200) {
        return remote_refused(h, &answer, err);
    }
    r = remote_job_read(answer.body.data, answer.body.len, ret, err);
    if (r == 0 && strcmp(ret->id, id) != 0) {
        remote_job_fini(ret);
        return not_a_job("it is another one", err);
    }
    return r;
}

int remote_get_json(struct http *h, const char *path, json_t **ret, struct err *err)
{
    auto_http_answer struct http_answer answer = {.status = 0};
    const struct http_request rq = {.method = "GET", .path = path};
    json_error_t at;
    json_t *json = NULL;
    int r = http_do(h, &rq, &answer, err);

    if (r < 0) {
        return r;
    }
    if (answer.status != 200) {
        return remote_refused(h, &answer, err);
    }
    json = answer.body.len > 0 ? json_loadb((const char *)answer.body.data, answer.body.len,
                                            JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &at)
                               : NULL;
    if (!json_is_object(json)) {
        json_decref(json);
        return err_set(err, ERR_HOST, EPROTO, "the daemon's answer is no JSON object");
    }
    *ret = json;
    return 0;
}

int remote_cancel(struct http *h, const char *id, struct err *err)
{
    auto_http_answer struct http_answer answer = {.status = 0};
    char path[64];
    const struct http_request rq = {.method = "DELETE", .path = path};
    int r = 0;

    (void)snprintf(path, sizeof(path), "/v1/jobs/%.32s", id);
    r = http_do(h, &rq, &answer, err);
    if (r < 0) {
        return r;
    }
    if (answer.status != 200 && answer.status != 202) {
        return remote_refused(h, &answer, err);
    }
    return answer.status == 202 ? 1 : 0;
}
