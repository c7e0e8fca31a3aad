#include "cli/cmd-submit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "airlock/verdict.h"
#include "cli/http.h"
#include "cli/relay.h"
#include "cli/remote-tell.h"
#include "cli/remote.h"
#include "cli/run-options.h"
#include "cli/tell.h"
#include "job/inline.h"
#include "job/outputs.h"

struct submit {
    struct teller *tell;
    struct run_options *options;
    struct remote_body body;
};

static void submit_fini(struct submit *s)
{
    remote_body_fini(&s->body);
}

/* Everything that can be found wrong here, before the daemon is asked. */
static int prepare(struct submit *s, struct err *err)
{
    struct spec *spec = &s->options->spec;
    const struct run_remote *remote = &s->options->remote;
    const struct remote_terms terms = {.priority = remote->priority,
                                       .has_priority = remote->has_priority,
                                       .deadline_ms = remote->deadline_ms,
                                       .key = remote->key};
    auto_http struct http *checked = NULL;
    int r = 0;

    s->tell->step = "specification";
    if (s->options->fault.class != ERR_NONE) {
        *err = s->options->fault;
        return -err->errnum;
    }
    r = spec_check(spec, err);
    if (r == 0) {
        s->tell->step = "daemon";
        r = http_new(&s->options->remote.http, &checked, err);
    }
    if (r == 0) {
        s->tell->step = "outputs";
        r = spec->out_dir != NULL ? outputs_check_dir(spec->out_dir, err) : 0;
    }
    if (r == 0) {
        s->tell->step = "inputs";
        r = spec_inline(spec, err);
    }
    if (r == 0) {
        s->tell->step = "specification";
        r = remote_body_build(spec, &terms, &s->body, err);
    }
    return r;
}

/* Gives the job away, and prints its id or, with --json, all the daemon says of it. */
static int leave(struct submit *s, struct err *err)
{
    auto_http struct http *http = NULL;
    auto_remote_job struct remote_job job = REMOTE_JOB_INIT;
    int r = http_new(&s->options->remote.http, &http, err);

    s->tell->step = "daemon";
    if (r == 0) {
        r = remote_submit(http, &s->body, NULL, NULL, &job, err);
    }
    return r < 0 ? r : remote_tell_job(&job, s->options->json, err);
}

static int give(struct submit *s)
{
    struct err err = ERR_INIT;
    const struct relay_job job = {.http = &s->options->remote.http,
                                  .body = &s->body,
                                  .out_dir = s->options->spec.out_dir,
                                  .limits = &s->options->spec.limits,
                                  .streaming = !s->options->json,
                                  .cancels = true};

    if (prepare(s, &err) < 0) {
        return teller_fail(s->tell, remote_verdict(&err), &err);
    }
    if (s->options->remote.wait) {
        return remote_tell_follow(s->tell, &job);
    }
    return leave(s, &err) < 0 ? teller_fail(s->tell, remote_verdict(&err), &err) : 0;
}

/* What only makes sense with somebody who waits. */
static const char *needs_wait(const struct run_options *o)
{
    if (o->remote.wait) {
        return NULL;
    }
    return o->spec.out_dir != NULL ? "out" : o->exit_code_given ? "exit-code" : NULL;
}

int cmd_submit(int argc, char **argv)
{
    auto_run_options struct run_options options;
    auto_teller struct teller tell = TELLER_INIT;
    on_scope_exit(submit_fini) struct submit s = {.tell = &tell, .options = &options};
    int exit_code = 0;

    run_options_init_remote(&options);
    if (!run_options_parse(&options, argc, argv, &exit_code)) {
        return exit_code;
    }
    if (needs_wait(&options) != NULL) {
        return opt_mistake(&options.cmd,
                           "--%s needs --wait: without it nobody is there at the job's end "
                           "('airlock result ID' fetches later)",
                           needs_wait(&options));
    }
    if (!teller_begin(&tell, &options, &exit_code)) {
        return exit_code;
    }
    return give(&s);
}
