/*
 * The body of a submission from a stranger. The first byte says what it comes as: JSON, a form, or a
 * query with a path. What is accepted must keep the promises of request.h and query.h.
 */
#include <string.h>

#include "daemon/query.h"
#include "daemon/request.h"
#include "fuzz.h"

static void check_job(const struct service_job *job)
{
    const struct spec *spec = &job->spec;

    fuzz_check(job->priority <= JOB_PRIORITY_MAX);
    fuzz_check(digest_is_hex(job->body.hex));
    fuzz_check(spec->archive_path == NULL && spec->stdin_path == NULL && spec->stdin_fd == -1);
    fuzz_check(spec->program_path == NULL && spec->out_dir == NULL);
    for (size_t i = 0; i < spec->n_inputs; i++) {
        const struct spec_input *input = &spec->inputs[i];

        fuzz_check(input->path == NULL && input->data != NULL && input->name[0] != '\0');
        fuzz_check(strchr(input->name, '/') == NULL && strcmp(input->name, "..") != 0);
        fuzz_touch(input->data, input->data_len);
    }
    fuzz_touch(spec->stdin_data, spec->stdin_len);
    fuzz_touch(spec->archive_data, spec->archive_len);
}

static void read_job(const char *type, const uint8_t *data, size_t size)
{
    auto_service_job struct service_job job;
    struct refusal refusal = {0};
    struct err err = ERR_INIT;
    int r = 0;

    service_job_init(&job);
    r = request_job(type, data, size, &job, &refusal, &err);
    fuzz_check((r < 0) == (refusal.status != 0 || err.class == ERR_HOST));
    if (r == 0) {
        check_job(&job);
    }
}

static void read_query(const uint8_t *data, size_t size)
{
    static const char *const allowed[] = {"a", "limit", "after", NULL};
    char text[512];
    char out[512];
    struct query q;
    struct refusal refusal = {0};
    uint64_t v = 5;

    size = size < sizeof(text) - 1 ? size : sizeof(text) - 1;
    memcpy(text, data, size);
    text[size] = '\0';
    if (percent_decode(text, size, out, sizeof(out)) == 0) {
        fuzz_check(strlen(out) <= size);
    }
    if (query_parse(text, allowed, &q, &refusal) == 0) {
        fuzz_check(q.n <= 3);
        fuzz_check(query_u64(&q, "limit", 1, 9, &v, &refusal) < 0 || (v >= 1 && v <= 9));
    } else {
        fuzz_check(refusal.status == 400);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    if (data[0] == 'j') {
        read_job("application/json", data + 1, size - 1);
    } else if (data[0] == 'm') {
        read_job("multipart/form-data; boundary=b", data + 1, size - 1);
    } else {
        read_query(data + 1, size - 1);
    }
    return 0;
}
