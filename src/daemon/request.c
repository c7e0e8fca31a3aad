#include "daemon/request.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "daemon/multipart.h"

/* A year: later ones are as good as none. */
#define DEADLINE_MS_MAX (366ull * 24 * 3600 * 1000)

void service_job_init(struct service_job *job)
{
    *job = (struct service_job){.priority = JOB_PRIORITY};
    spec_init(&job->spec);
}

void service_job_fini(struct service_job *job)
{
    spec_fini(&job->spec);
}

/* The type without its parameters is word, in any case. */
static bool type_is(const char *type, const char *word)
{
    size_t n = strlen(word);

    return strncasecmp(type, word, n) == 0 &&
           (type[n] == '\0' || type[n] == ';' || type[n] == ' ' || type[n] == '\t');
}

uint64_t request_body_max(const char *type, uint64_t max)
{
    if (type != NULL && type_is(type, "multipart/form-data")) {
        return max;
    }
    return max < REQUEST_JSON_MAX ? max : REQUEST_JSON_MAX;
}

/* UTF-8 is the only charset of JSON; naming it is harmless. */
static bool json_type_ok(const char *type)
{
    const char *rest = type + strlen("application/json");

    if (!type_is(type, "application/json")) {
        return false;
    }
    rest += strspn(rest, " \t;");
    return *rest == '\0' || strcasecmp(rest, "charset=utf-8") == 0;
}

static int take_json(const char *text, size_t len, struct service_job *job,
                     struct refusal *ret_refusal, struct err *err)
{
    uint64_t priority = job->priority;
    const struct spec_extra list[] = {
        {.name = "priority", .max = JOB_PRIORITY_MAX, .ret = &priority},
        {.name = "deadline_ms", .min = 1, .max = DEADLINE_MS_MAX, .ret = &job->deadline_ms},
    };
    struct spec_extras extras = {.list = list, .n = ARRAY_LEN(list)};
    int r = spec_from_json_extra(&job->spec, text, len, &extras, err);

    job->priority = (unsigned int)priority;
    if (r < 0 && err->class == ERR_USAGE) {
        return problem_set(ret_refusal, PROBLEM_BAD_JOB, extras.field, "%s", err->msg);
    }
    return r;
}

static int copy_bytes(const struct multipart_part *part, uint8_t **ret, size_t *ret_len,
                      struct err *err)
{
    uint8_t *copy = malloc(part->len + 1);

    if (copy == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "take a part of a request: out of memory");
    }
    memcpy(copy, part->data, part->len);
    *ret = copy;
    *ret_len = part->len;
    return 0;
}

/* A part besides "job" into the spec. *twice: it is there already, here or in the job. */
static int take_part(const struct multipart_part *part, struct service_job *job, bool *twice,
                     struct err *err)
{
    struct spec *spec = &job->spec;

    if (strcmp(part->name, "file") == 0 && part->has_filename) {
        return spec_add_input_data(spec, part->filename, part->data, part->len, "file", err);
    }
    if (strcmp(part->name, "stdin") == 0) {
        *twice = spec->stdin_data != NULL;
        return *twice ? 0 : copy_bytes(part, &spec->stdin_data, &spec->stdin_len, err);
    }
    if (strcmp(part->name, "archive") == 0) {
        *twice = spec->archive_data != NULL;
        return *twice ? 0 : copy_bytes(part, &spec->archive_data, &spec->archive_len, err);
    }
    return err_usage(err, "a part is neither 'job', 'file' with a filename, 'stdin' nor 'archive'");
}

/* What a repeated request has in common with the first one: parts, not the boundary between them. */
static void digest_part(struct digest_ctx *ctx, const struct multipart_part *part)
{
    uint64_t len = part->len;

    digest_update(ctx, part->name, strlen(part->name) + 1);
    digest_update(ctx, part->filename, strlen(part->filename) + 1);
    digest_update(ctx, &len, sizeof(len));
    digest_update(ctx, part->data, part->len);
}

struct form {
    const char *type;
    const uint8_t *body;
    size_t len;
};

/* First pass: the digest, and the one part "job". */
static int find_job(const struct form *form, struct service_job *job, struct multipart_part *ret,
                    struct refusal *ret_refusal, struct err *err)
{
    struct digest_ctx ctx;
    struct multipart m;
    struct multipart_part part;
    bool found = false;
    int r = multipart_begin(&m, form->type, form->body, form->len, ret_refusal);

    digest_begin(&ctx);
    while (r == 0 && (r = multipart_next(&m, &part, ret_refusal)) == 1) {
        r = 0;
        digest_part(&ctx, &part);
        if (strcmp(part.name, "job") != 0) {
            continue;
        }
        if (found) {
            return problem_set(ret_refusal, PROBLEM_BAD_JOB, "job", "the part 'job' comes twice");
        }
        found = true;
        *ret = part;
    }
    if (r == 0 && !found) {
        return problem_set(ret_refusal, PROBLEM_BAD_JOB, "job",
                           "there is no part 'job' with the job's JSON");
    }
    digest_finish(&ctx, &job->body);
    return r;
}

static int take_form(const struct form *form, struct service_job *job, struct refusal *ret_refusal,
                     struct err *err)
{
    struct multipart m;
    struct multipart_part part = {.data = form->body};
    int r = find_job(form, job, &part, ret_refusal, err);

    if (r == 0 && part.len > REQUEST_JSON_MAX) {
        return problem_set(ret_refusal, PROBLEM_TOO_LARGE, "job",
                           "the part 'job' has more than %llu bytes; send files as parts",
                           REQUEST_JSON_MAX);
    }
    if (r == 0) {
        r = take_json((const char *)part.data, part.len, job, ret_refusal, err);
    }
    if (r == 0) {
        r = multipart_begin(&m, form->type, form->body, form->len, ret_refusal);
    }
    while (r == 0 && (r = multipart_next(&m, &part, ret_refusal)) == 1) {
        bool twice = false;

        r = strcmp(part.name, "job") == 0 ? 0 : take_part(&part, job, &twice, err);
        if (r < 0 && err->class == ERR_USAGE) {
            return problem_set(ret_refusal, PROBLEM_BAD_JOB, part.name, "%s", err->msg);
        }
        if (twice) {
            return problem_set(ret_refusal, PROBLEM_BAD_JOB, part.name,
                               "'%s' is given twice; give one of them", part.name);
        }
    }
    return r;
}

int request_job(const char *type, const uint8_t *body, size_t len, struct service_job *job,
                struct refusal *ret_refusal, struct err *err)
{
    int r = 0;

    if (type != NULL && type_is(type, "multipart/form-data")) {
        const struct form form = {.type = type, .body = body, .len = len};

        r = take_form(&form, job, ret_refusal, err);
    } else if (type != NULL && json_type_ok(type)) {
        digest_of_data(body, len, &job->body);
        r = take_json((const char *)body, len, job, ret_refusal, err);
    } else {
        return problem_set(ret_refusal, PROBLEM_MEDIA_TYPE, "Content-Type",
                           "the body must be application/json or multipart/form-data");
    }
    if (r == 0) {
        r = spec_check(&job->spec, err);
        if (r < 0 && err->class == ERR_USAGE) {
            return problem_set(ret_refusal, PROBLEM_BAD_JOB, "", "%s", err->msg);
        }
    }
    return r;
}
