#include "cli/cmd-run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "airlock/verdict.h"
#include "cli/run-loop.h"
#include "cli/run-options.h"
#include "cli/tell.h"
#include "image/build.h"
#include "image/store.h"
#include "job/outputs.h"
#include "job/result.h"
#include "sup/sup.h"

struct run {
    struct teller *tell;
    struct run_options *options;
};

static void on_step(void *ctx, const char *text)
{
    struct run *run = ctx;

    teller_step(run->tell, text);
}

static int require_readable(const char *what, const char *path, struct err *err)
{
    int r = access(path, R_OK) < 0 ? -errno : 0;

    if (r == 0) {
        return 0;
    }
    return err_set(err, ERR_USAGE, -r, "%s '%s': %s; %s", what, path, strerrordesc_np(-r),
                   r == -EACCES ? "make it readable for you, directories above it included"
                                : "check the path");
}

/* Finds what can't work before minutes go into building an image; staging checks for real. */
static int check_readable(const struct spec *spec, struct err *err)
{
    int r = spec->program_path != NULL ? require_readable("script", spec->program_path, err) : 0;

    for (size_t i = 0; i < spec->n_inputs && r == 0; i++) {
        r = spec->inputs[i].path != NULL ? require_readable("--in", spec->inputs[i].path, err) : 0;
    }
    if (r == 0 && spec->stdin_path != NULL) {
        r = require_readable("--stdin", spec->stdin_path, err);
    }
    return r;
}

static const char *image_of(const struct spec *spec)
{
    if (spec->image != NULL) {
        return spec->image;
    }
    return spec->language == SPEC_JAVASCRIPT ? "javascript" : "python";
}

/* Everything before the supervisor. */
static int prepare(struct run *run, struct store *store, struct err *err)
{
    const struct spec *spec = &run->options->spec;
    struct build_progress progress = {.step = on_step, .ctx = run};
    int r = 0;

    run->tell->step = "specification";
    if (run->options->fault.class != ERR_NONE) {
        *err = run->options->fault;
        return -err->errnum;
    }
    r = spec_check(spec, err);
    if (r < 0) {
        return r;
    }
    run->tell->step = "inputs";
    r = check_readable(spec, err);
    if (r < 0) {
        return r;
    }
    run->tell->step = "outputs";
    r = spec->out_dir != NULL ? outputs_check_dir(spec->out_dir, err) : 0;
    if (r < 0) {
        return r;
    }
    run->tell->step = "state";
    r = store_open(run->options->state, store, err);
    if (r < 0) {
        return r;
    }
    run->tell->step = "image";
    return build_ensure(store, image_of(spec), &progress, err);
}

/* No room now is not the job's fault, and may be tried again. */
static bool is_capacity(const struct err *err)
{
    return err->class == ERR_LIMIT || err->errnum == ENOSPC || err->errnum == EDQUOT ||
           err->errnum == ENOMEM || err->errnum == EAGAIN || err->errnum == EMFILE ||
           err->errnum == ENFILE;
}

/* The one phase that takes seconds and is not the program's. */
static void on_phase(void *ctx, const char *name, size_t len)
{
    struct run *run = ctx;
    char text[IMAGE_NAME_MAX + 128];

    if (len == strlen(SUP_PHASE_BUILD) && memcmp(name, SUP_PHASE_BUILD, len) == 0) {
        (void)snprintf(text, sizeof(text),
                       "preparing a template for image '%.*s' (once per image and machine size)",
                       IMAGE_NAME_MAX, image_of(&run->options->spec));
        on_step(run, text);
    } else if (len == strlen(SUP_PHASE_PROBE) && memcmp(name, SUP_PHASE_PROBE, len) == 0) {
        on_step(run, "finding out whether KVM works here, up to 20 s (the answer is remembered)");
    }
}

static int supervise(struct run *run, const struct store *store, struct err *err)
{
    bool json = run->options->json;
    auto_sup struct sup sup = SUP_INIT;
    struct run_loop loop = {.sup = &sup,
                            .out = json ? NULL : &run->tell->out,
                            .err = json ? NULL : &run->tell->err,
                            .result = &run->tell->result,
                            .phase = on_phase,
                            .ctx = run};
    int r = 0;

    run->tell->step = "supervisor";
    r = sup_start(&run->options->spec, store, !json, &sup, err);
    if (r < 0 && is_capacity(err)) { /* no process, descriptor or memory to be had now */
        err->class = ERR_LIMIT;
        run->tell->step = r == -ENOMEM ? "memory" : "machines";
    }
    return r < 0 ? r : run_loop(&loop, err);
}

static int run_job(struct run *run)
{
    auto_store struct store store = STORE_INIT;
    struct err err = ERR_INIT;

    if (prepare(run, &store, &err) < 0) {
        return teller_fail(run->tell,
                           is_capacity(&err) ? AIRLOCK_CAPACITY_REJECTED : AIRLOCK_REJECTED, &err);
    }
    if (supervise(run, &store, &err) < 0) {
        return teller_fail(
            run->tell, err.class == ERR_LIMIT ? AIRLOCK_CAPACITY_REJECTED : AIRLOCK_SANDBOX_FAILURE,
            &err);
    }
    return teller_end(run->tell);
}

int cmd_run(int argc, char **argv)
{
    auto_run_options struct run_options options;
    auto_teller struct teller tell = TELLER_INIT;
    struct run run = {.tell = &tell, .options = &options};
    int exit_code = 0;

    run_options_init(&options);
    if (!run_options_parse(&options, argc, argv, &exit_code) ||
        !teller_begin(&tell, &options, &exit_code)) {
        return exit_code;
    }
    return run_job(&run);
}
