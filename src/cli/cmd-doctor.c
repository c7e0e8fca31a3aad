#include "cli/cmd-doctor.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

#include "cli/opt.h"
#include "sup/doctor.h"
#include "sys/fd.h"

struct doctor_options {
    bool json;
    const char *state;
};

static const struct opt doctor_opts[] = {
    OPT_FLAG("json", struct doctor_options, json, "print the same as one JSON object"),
    OPT_VALUE("state", "DIR", struct doctor_options, state,
              "where images and the guest kernel are kept"),
};

static const struct opt_cmd doctor_cmd = {
    .name = "airlock doctor",
    .usage = "[options]",
    .about = "Examines this host: what airlock can do here, what is missing, and how to mend it.\n"
             "Boots a small guest to try each engine, which takes some seconds.",
    .epilog = "Exit codes: 0 jobs can run here, 1 something is missing, 2 wrong command line.",
    .opts = doctor_opts,
    .n_opts = ARRAY_LEN(doctor_opts),
};

static const char *state_name(enum doctor_state state)
{
    switch (state) {
    case DOCTOR_OK:
        return "ok";
    case DOCTOR_WARN:
        return "warn";
    case DOCTOR_MISSING:
        break;
    }
    return "missing";
}

static int print_table(const struct doctor_report *rep, struct buf *out)
{
    int r = 0;

    for (size_t i = 0; i < rep->n && r == 0; i++) {
        const struct doctor_check *c = &rep->checks[i];

        r = buf_printf(out, "%-8s%s: ", state_name(c->state), c->id);
        if (r == 0) {
            r = str_escape(out, c->text, strlen(c->text), false);
        }
        if (r == 0 && c->fix[0] != '\0') {
            r = buf_printf(out, "\n%8s-> %s", "", c->fix);
        }
        if (r == 0) {
            r = buf_printf(out, "\n");
        }
    }
    return r < 0 ? r : buf_printf(out, "ready: %s\n", rep->ready ? "yes" : "no");
}

/* Text of ours may carry bytes of files and programs: JSON takes only UTF-8. */
static json_t *json_text(const char *text)
{
    auto_buf struct buf safe = BUF_INIT(64 * KIB);

    if (text[0] == '\0') {
        return json_string("");
    }
    return str_escape(&safe, text, strlen(text), false) < 0
               ? NULL
               : json_stringn((const char *)safe.data, safe.len);
}

static int to_buf(const char *data, size_t len, void *ctx)
{
    return buf_put(ctx, data, len);
}

static int print_json(const struct doctor_report *rep, struct buf *out)
{
    json_t *checks = json_array();
    json_t *root = NULL;
    int r = 0;

    for (size_t i = 0; i < rep->n && checks != NULL; i++) {
        const struct doctor_check *c = &rep->checks[i];
        json_t *item = json_pack("{s:s,s:s,s:o,s:o?}", "check", c->id, "state",
                                 state_name(c->state), "text", json_text(c->text), "fix",
                                 c->fix[0] != '\0' ? json_text(c->fix) : json_null());

        if (item == NULL || json_array_append_new(checks, item) < 0) {
            json_decref(checks);
            return -1;
        }
    }
    root = json_pack("{s:b,s:s?,s:s,s:o}", "ready", rep->ready ? 1 : 0, "engine", rep->engine,
                     "version", AIRLOCK_VERSION, "checks", checks);
    if (root == NULL) {
        return -1;
    }
    r = json_dump_callback(root, to_buf, out, JSON_INDENT(2));
    json_decref(root);
    return r < 0 ? r : buf_put(out, "\n", 1);
}

int cmd_doctor(int argc, char **argv)
{
    struct doctor_options options = {0};
    struct opt_rest rest = {0};
    auto_free struct doctor_report *rep = NULL;
    auto_buf struct buf out = BUF_INIT(4 * MIB);
    struct err err = ERR_INIT;
    int exit_code = 0;

    if (!opt_start(&doctor_cmd, argc, argv, &options, &rest, &exit_code)) {
        return exit_code;
    }
    if (rest.n > 0) {
        return opt_mistake(&doctor_cmd, "unexpected argument '%.64s'", rest.operands[0]);
    }
    rep = calloc(1, sizeof(*rep));
    if (rep == NULL) {
        (void)fprintf(stderr, "airlock doctor: out of memory\n");
        return EXIT_FAILURE;
    }
    doctor_examine(options.state, rep);
    if ((options.json ? print_json(rep, &out) : print_table(rep, &out)) < 0) {
        (void)fprintf(stderr, "airlock doctor: out of memory\n");
        return EXIT_FAILURE;
    }
    if (fd_write_full(STDOUT_FILENO, out.data, out.len, &err) < 0) {
        (void)fprintf(stderr, "airlock doctor: standard output: %s\n", err.msg);
        return EXIT_FAILURE;
    }
    return rep->ready ? EXIT_SUCCESS : EXIT_FAILURE;
}
