#include "cli/remote-tell.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

#include "cli/batch.h"
#include "cli/run-loop.h"
#include "job/json-build.h"
#include "job/result.h"
#include "sys/fd.h"

enum airlock_verdict remote_verdict(const struct err *err)
{
    return err->class == ERR_USAGE   ? AIRLOCK_REJECTED
           : err->class == ERR_LIMIT ? AIRLOCK_CAPACITY_REJECTED
                                     : AIRLOCK_SANDBOX_FAILURE;
}

int remote_tell_json(const json_t *json, struct err *err)
{
    auto_buf struct buf text = BUF_INIT(RESULT_JSON_MAX);

    if (json_dump_callback(json, json_to_buf, &text, JSON_COMPACT) < 0 ||
        buf_put(&text, "\n", 1) < 0) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory for the answer");
    }
    return fd_write_full(STDOUT_FILENO, text.data, text.len, err);
}

int remote_tell_job(const struct remote_job *job, bool json, struct err *err)
{
    char line[REMOTE_ID_SIZE + 1];

    if (json) {
        return remote_tell_json(job->json, err);
    }
    (void)snprintf(line, sizeof(line), "%s\n", job->id);
    return fd_write_full(STDOUT_FILENO, line, strlen(line), err);
}

static void note_outputs(struct teller *t, const char *id, size_t len)
{
    (void)snprintf(t->kept, sizeof(t->kept), "kept by the daemon: airlock result %.*s --out DIR",
                   (int)len, id);
}

/* The id at once: whoever is cut off can come back for the job. */
static void on_phase(void *ctx, const char *name, size_t len)
{
    struct teller *t = ctx;
    size_t lead = strlen(RELAY_ACCEPTED);
    char text[128];

    if (len > lead && memcmp(name, RELAY_ACCEPTED, lead) == 0) {
        (void)snprintf(text, sizeof(text), "job %.*s is accepted", (int)(len - lead), name + lead);
        teller_step(t, text);
        note_outputs(t, name + lead, len - lead);
    }
}

int remote_tell_follow(struct teller *t, const struct relay_job *job)
{
    auto_sup struct sup sup = SUP_INIT;
    bool json = t->options->json;
    struct run_loop loop = {.sup = &sup,
                            .out = json ? NULL : &t->out,
                            .err = json ? NULL : &t->err,
                            .result = &t->result,
                            .phase = on_phase,
                            .ctx = t};
    struct err err = ERR_INIT;
    int r = 0;

    t->step = "daemon";
    if (job->id != NULL) {
        note_outputs(t, job->id, strlen(job->id));
    }
    r = relay_start(job, &sup, &err);
    if (r == 0) {
        r = run_loop(&loop, &err);
    }
    if (r == -EPIPE) { /* what sup.c says of a supervisor is not true of a relay */
        err = (struct err)ERR_INIT;
        r = err_set(&err, ERR_HOST, EPIPE,
                    "the process that speaks to the daemon died; 'airlock jobs' shows what became "
                    "of the job");
    }
    return r < 0 ? teller_fail(t, remote_verdict(&err), &err) : teller_end(t);
}

int remote_tell_error(const char *name, const struct err *err)
{
    batch_say(name, err->msg);
    return (int)remote_verdict(err);
}
