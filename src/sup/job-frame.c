#include "sup/job-frame.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "proto/frame.h"
#include "proto/msg.h"
#include "sys/clock.h"

/* The program's environment before the caller's --env; a bare UTF-8 one. */
static const char *const base_env[] = {MSG_BASE_ENV};

static int fill_random(void *data, size_t len, struct err *err)
{
    ssize_t n = getrandom(data, len, 0);

    return n == (ssize_t)len ? 0 : err_set(err, ERR_HOST, EIO, "getrandom gave no entropy");
}

/* True if "K=" of the assignment stands in the caller's list too. */
static bool overridden(const struct spec *spec, const char *assignment)
{
    size_t key = strcspn(assignment, "=") + 1;

    for (size_t i = 0; i < spec->n_env; i++) {
        if (strncmp(spec->env[i], assignment, key) == 0) {
            return true;
        }
    }
    return false;
}

/* A NULL-terminated list of borrowed strings; the array itself is the caller's to free. */
static char **list_new(size_t n)
{
    return calloc(n + 1, sizeof(char *));
}

/* msg_job has plain char pointers; the encoder only reads. */
static char *borrowed(const char *s)
{
    union {
        const char *in;
        char *out;
    } u = {s};

    return u.out;
}

/* A short program goes with the frame; then the input device is mounted for inputs alone. */
static void place_program(const struct job_frame *frame, struct msg_job *m)
{
    const struct stage *stage = frame->stage;

    m->input = stage == NULL || stage_has_input(stage, frame->spec);
    if (stage == NULL || stage->program_data.len == 0) {
        return;
    }
    m->program_data = stage->program_data.data;
    m->program_len = (uint32_t)stage->program_data.len; /* at most MSG_PROGRAM_MAX: stage.h */
}

int job_frame_build(const struct job_frame *frame, struct buf *out, struct err *err)
{
    const struct spec *spec = frame->spec;
    auto_free char **argv = list_new(spec->n_args + 2);
    auto_free char **envp = list_new(spec->n_env + ARRAY_LEN(base_env));
    struct msg_job m = {
        .memory_bytes = spec->limits.memory_bytes,
        .pids = spec->limits.pids,
        .stdout_bytes = spec->limits.stdout_bytes,
        .stderr_bytes = spec->limits.stderr_bytes,
        .output_bytes = spec->limits.output_bytes,
        .output_files = spec->limits.output_files,
        .inodes = spec->limits.inodes,
        .output_depth = (uint32_t)spec->limits.output_depth,
        .has_stdin = frame->has_stdin,
        .root = spec->root,
        .warm = frame->warm,
        .rehearsal = frame->rehearsal,
    };
    size_t n = 0;
    int r = 0;

    if (argv == NULL || envp == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    if (spec->language != SPEC_COMMAND) {
        argv[n++] = borrowed(spec->language == SPEC_PYTHON ? "python3" : "node");
        argv[n++] = spec->program_name;
        (void)snprintf(m.program, sizeof(m.program), "%s", spec->program_name);
    }
    for (size_t i = 0; i < spec->n_args; i++) {
        argv[n++] = spec->args[i];
    }
    n = 0;
    for (size_t i = 0; i < ARRAY_LEN(base_env); i++) {
        if (!overridden(spec, base_env[i])) {
            envp[n++] = borrowed(base_env[i]);
        }
    }
    for (size_t i = 0; i < spec->n_env; i++) {
        envp[n++] = spec->env[i];
    }
    place_program(frame, &m);
    m.argv = argv;
    m.envp = envp;
    r = fill_random(m.entropy, sizeof(m.entropy), err);
    if (r == 0) {
        r = fill_random(m.machine_id, sizeof(m.machine_id), err);
    }
    if (r < 0) {
        return r;
    }
    m.realtime_ns =
        frame->rehearsal ? (MSG_SAVED_CLOCK_S + 60) * NS_PER_S : clock_ns(CLOCK_REALTIME);
    if (msg_job_encode(&m, out) < 0) {
        return err_usage(err, "arguments and environment do not fit a JOB frame of %u bytes",
                         FRAME_JOB_MAX);
    }
    return 0;
}
