#include "cli/run-options.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"

#include "cli/remote-opts.h"
#include "sys/fd.h"

/* A JSON job carries its files inside, in base64. */
#define SPEC_FILE_MAX (256 * MIB)

#define RUN_PRIORITY_MAX 9u
#define RUN_KEY_MAX      128u

static const char about[] =
    "Runs a program in a fresh virtual machine that is used once and destroyed. SCRIPT runs as\n"
    "main.py or main.js with its ARGs; with --image and \"--\" any COMMAND of an image runs.\n"
    "The program finds its input files in /in and leaves results in /out; it has no network.";

static const char epilog[] =
    "Sizes are bytes or a number with K, M, G; times are seconds or a number with ms, s, m.\n"
    "\n"
    "Exit codes: 0 success, 1 user_exception, 2 usage or rejected, 3 timeout, 4 oom,\n"
    "5 output_overflow, 6 output_rejected, 7 sandbox_failure, 8 capacity_rejected, 9 canceled.\n"
    "\n"
    "Examples:\n"
    "  airlock run --in data.csv --out results transform.py\n"
    "  airlock run --wall 30s --memory 512M --json job.js < /dev/null\n"
    "  airlock run --image python -- python3 -c 'print(6 * 7)'";

static const char remote_about[] =
    "Gives a job to a daemon (airlockd), described as for 'airlock run', and prints its id; with\n"
    "--wait the job looks as if it ran here. Local files are read now and sent along.";

static const char remote_epilog[] =
    "The daemon's address is --url or $AIRLOCK_URL, the token $AIRLOCK_TOKEN or --token-file.\n"
    "\n"
    "Exit codes with --wait: those of 'airlock run'. Without: 0 accepted, 2 usage or rejected,\n"
    "7 no daemon, 8 no room now.\n"
    "\n"
    "Examples:\n"
    "  airlock submit --in data.csv transform.py\n"
    "  airlock submit --wait --in data.csv --out results transform.py";

/* Remembers the first fault and goes on: --json may still follow, and secrets must be wiped. */
static int keep_fault(struct run_options *o, const struct err *fault)
{
    if (o->fault.class == ERR_NONE) {
        o->fault = *fault;
    }
    return 0;
}

static void describes_job(struct run_options *o, const struct opt *opt)
{
    if (o->job_option == NULL) {
        o->job_option = opt->name;
    }
}

static int take_limit(void *config, const struct opt *opt, char *value, struct err *err)
{
    struct run_options *o = config;
    struct err fault = ERR_INIT;

    (void)err;
    describes_job(o, opt);
    return spec_set_limit(&o->spec, opt->data, value, &fault) < 0 ? keep_fault(o, &fault) : 0;
}

static int take_in(void *config, const struct opt *opt, char *value, struct err *err)
{
    struct run_options *o = config;
    struct err fault = ERR_INIT;

    (void)err;
    describes_job(o, opt);
    return spec_add_input(&o->spec, value, &fault) < 0 ? keep_fault(o, &fault) : 0;
}

static int take_in_archive(void *config, const struct opt *opt, char *value, struct err *err)
{
    struct run_options *o = config;
    struct err fault = ERR_INIT;

    (void)err;
    describes_job(o, opt);
    return spec_set_archive(&o->spec, value, &fault) < 0 ? keep_fault(o, &fault) : 0;
}

static int take_contract(void *config, const struct opt *opt, char *value, struct err *err)
{
    struct run_options *o = config;
    struct err fault = ERR_INIT;

    (void)err;
    describes_job(o, opt);
    return spec_set_contract(&o->spec, value, &fault) < 0 ? keep_fault(o, &fault) : 0;
}

static int take_image(void *config, const struct opt *opt, char *value, struct err *err)
{
    struct run_options *o = config;
    struct err fault = ERR_INIT;

    (void)err;
    describes_job(o, opt);
    return spec_set_image(&o->spec, value, &fault) < 0 ? keep_fault(o, &fault) : 0;
}

/* --env NAME: the value comes from our own environment and never was on a command line. */
static int add_env_inherited(struct run_options *o, const char *name, struct err *fault)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe): one thread */
    auto_free char *text = NULL;
    int n = 0;
    int r = 0;

    if (value == NULL) {
        /* The text may be a secret given without its name: not shown. */
        return err_usage(fault,
                         "--env: number %zu is not the name of a variable set in your "
                         "environment; write --env NAME=VALUE, or set NAME and write --env NAME",
                         o->spec.n_env + 1);
    }
    n = asprintf(&text, "%s=%s", name, value);
    if (n < 0) {
        text = NULL;
        return err_set(fault, ERR_HOST, ENOMEM, "out of memory");
    }
    r = spec_add_env(&o->spec, text, fault);
    explicit_bzero(text, (size_t)n);
    return r;
}

static int take_env(void *config, const struct opt *opt, char *value, struct err *err)
{
    struct run_options *o = config;
    struct err fault = ERR_INIT;
    char *equals = strchr(value, '=');
    int r = 0;

    (void)err;
    describes_job(o, opt);
    r = equals != NULL ? spec_add_env(&o->spec, value, &fault)
                       : add_env_inherited(o, value, &fault);
    if (equals != NULL) {
        explicit_bzero(equals + 1, strlen(equals + 1)); /* argv is what `ps` shows */
    }
    return r < 0 ? keep_fault(o, &fault) : 0;
}

static int take_stdin(void *config, const struct opt *opt, char *value, struct err *err)
{
    struct run_options *o = config;

    describes_job(o, opt);
    if (strcmp(value, "-") == 0) {
        o->spec.stdin_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        return o->spec.stdin_fd < 0 ? err_sys(err, "--stdin -: standard input") : 0;
    }
    o->spec.stdin_path = strdup(value);
    return o->spec.stdin_path == NULL ? err_set(err, ERR_HOST, ENOMEM, "out of memory") : 0;
}

static int take_out(void *config, const struct opt *opt, char *value, struct err *err)
{
    struct run_options *o = config;

    if (*value == '\0') {
        return err_usage(err, "option '--%s' needs the name of a directory", opt->name);
    }
    o->spec.out_dir = strdup(value);
    return o->spec.out_dir == NULL ? err_set(err, ERR_HOST, ENOMEM, "out of memory") : 0;
}

static int take_engine(void *config, const struct opt *opt, char *value, struct err *err)
{
    static const char *const names[] = {"auto", "kvm", "tcg", NULL};

    static const enum spec_engine engines[] = {SPEC_ENGINE_AUTO, SPEC_ENGINE_KVM, SPEC_ENGINE_TCG};

    struct run_options *o = config;
    size_t i = 0;
    int r = opt_choice(opt, value, names, &i, err);

    if (r < 0) {
        return r;
    }
    describes_job(o, opt);
    o->spec.engine = engines[i];
    return 0;
}

static int take_isolation(void *config, const struct opt *opt, char *value, struct err *err)
{
    static const char *const names[] = {"hardware", "emulated", NULL};

    struct run_options *o = config;
    size_t i = 0;
    int r = opt_choice(opt, value, names, &i, err);

    if (r < 0) {
        return r;
    }
    describes_job(o, opt);
    o->spec.isolation = i == 0 ? SPEC_ISOLATION_HARDWARE : SPEC_ISOLATION_EMULATED;
    return 0;
}

static int take_root(void *config, const struct opt *opt, char *value, struct err *err)
{
    struct run_options *o = config;

    (void)value;
    (void)err;
    describes_job(o, opt);
    o->spec.root = true;
    return 0;
}

static int take_exit_code(void *config, const struct opt *opt, char *value, struct err *err)
{
    static const char *const names[] = {"verdict", "program", NULL};

    struct run_options *o = config;
    size_t i = 0;
    int r = opt_choice(opt, value, names, &i, err);

    if (r == 0) {
        o->exit_code = i == 0 ? RUN_EXIT_VERDICT : RUN_EXIT_PROGRAM;
        o->exit_code_given = true;
    }
    return r;
}

static int take_cold_interpreter(void *config, const struct opt *opt, char *value, struct err *err)
{
    struct run_options *o = config;

    (void)value;
    (void)err;
    describes_job(o, opt);
    o->spec.cold_interpreter = true;
    return 0;
}

static const struct opt job_opts[] = {
    {.name = "in",
     .arg = "FILE[:NAME]",
     .many = true,
     .take = take_in,
     .help = "give the program FILE as /in/NAME (default: its own name); repeat for more"},
    {.name = "in-archive",
     .arg = "FILE",
     .take = take_in_archive,
     .help = "unpack FILE (.tar, .tar.gz, .tar.zst or .zip) into /in: regular files and\n"
             "directories, within --in-bytes and --in-files"},
    {.name = "out",
     .arg = "DIR",
     .take = take_out,
     .help = "put what the program left in /out into DIR, all of it or, unless the verdict\n"
             "is success, nothing"},
    {.name = "contract",
     .arg = "RULE",
     .take = take_contract,
     .help = "what /out must hold, or nothing is kept: files, files:PATTERN,..., json:NAME,\n"
             "csv:NAME, archive or archive:NAME"},
    {.name = "stdin",
     .arg = "FILE|-",
     .take = take_stdin,
     .help = "the program's standard input; - is airlock's own (default: empty)"},
    {.name = "env",
     .arg = "NAME[=VALUE]",
     .many = true,
     .take = take_env,
     .help = "set a variable for the program; without VALUE it is taken from your own\n"
             "environment, which is the better way for secrets"},
    {.name = "image",
     .arg = "NAME",
     .take = take_image,
     .help = "root image, or NAME@sha256:HEX to insist on one (default: the language's)"},
    {.name = "spec",
     .arg = "FILE|-",
     .offset = offsetof(struct run_options, spec_file),
     .help = "read the whole job as JSON instead"},
    {.name = "engine",
     .arg = "auto|kvm|tcg",
     .take = take_engine,
     .help = "what runs the machine (default: auto; 'airlock doctor' says which)"},
    {.name = "isolation",
     .arg = "hardware|emulated",
     .take = take_isolation,
     .help = "the weakest isolation accepted (default: emulated)"},
    {.name = "root",
     .take = take_root,
     .help = "run the program as root of its own machine, to test what encloses the machine:\n"
             "it may take the guest apart; --memory, --pids and --inodes then hold less exactly"},
    {.name = "cold-interpreter",
     .take = take_cold_interpreter,
     .help = "start Python or Node.js anew instead of taking one that waits in the saved machine;\n"
             "docs/warm.md says what differs"},
};

static const struct opt own_opts[] = {
    OPT_FLAG("json", struct run_options, json,
             "print one JSON object with everything, and nothing else, on stdout"),
    OPT_FLAG("quiet", struct run_options, quiet, "no progress and no summary on stderr"),
    {.name = "exit-code",
     .arg = "verdict|program",
     .take = take_exit_code,
     .help = "exit with the verdict's number, or with the program's own exit code when it\n"
             "ended by itself (128+N for signal N) (default: verdict)"},
    OPT_VALUE("state", "DIR", struct run_options, state,
              "where images and the guest kernel are kept"),
};

static int take_priority(void *config, const struct opt *opt, char *value, struct err *err)
{
    struct run_options *o = config;
    uint64_t v = 0;

    (void)opt;
    if (num_parse_u64(value, &v) < 0 || v > RUN_PRIORITY_MAX) {
        return err_usage(err, "--priority '%.32s': give a number from 0 to %u", value,
                         RUN_PRIORITY_MAX);
    }
    o->remote.priority = (unsigned int)v;
    o->remote.has_priority = true;
    return 0;
}

static int take_deadline(void *config, const struct opt *opt, char *value, struct err *err)
{
    struct run_options *o = config;
    uint64_t ns = 0;

    (void)opt;
    if (num_parse_duration(value, &ns) < 0 || ns < NS_PER_MS || ns > 365ull * 86400 * NS_PER_S) {
        return err_usage(err, "--deadline '%.32s': give a time from 1ms to 365 days, as 30s or 10m",
                         value);
    }
    o->remote.deadline_ms = ns / NS_PER_MS;
    return 0;
}

static int take_key(void *config, const struct opt *opt, char *value, struct err *err)
{
    struct run_options *o = config;
    size_t len = strlen(value);

    (void)opt;
    for (size_t i = 0; i < len; i++) {
        if (value[i] <= ' ' || value[i] > '~') {
            len = 0;
        }
    }
    if (len == 0 || len > RUN_KEY_MAX) {
        return err_usage(err, "--idempotency-key: give 1 to %u printable ASCII characters",
                         RUN_KEY_MAX);
    }
    o->remote.key = value;
    return 0;
}

static int refuse_state(void *config, const struct opt *opt, char *value, struct err *err)
{
    (void)config;
    (void)opt;
    (void)value;
    return err_usage(err, "--state: a daemon has its own; this is an option of 'airlock run'");
}

static const struct opt remote_opts[] = {
    {.name = "wait",
     .offset = offsetof(struct run_options, remote.wait),
     .help = "stay until the end, and do as 'airlock run' does: output as it comes, the\n"
             "outputs in --out, the exit code; Ctrl-C cancels"},
    {.name = "priority",
     .arg = "N",
     .take = take_priority,
     .help = "0 to 9, more is sooner, among your own jobs (default: 5)"},
    {.name = "deadline",
     .arg = "TIME",
     .take = take_deadline,
     .help = "start within this time or not at all"},
    {.name = "idempotency-key",
     .arg = "KEY",
     .take = take_key,
     .help = "submitting the same again under this key gives the first job, not a second"},
    OPT_FLAG("json", struct run_options, json,
             "print one JSON object and nothing else on stdout: the job, with --wait its result"),
    OPT_FLAG("quiet", struct run_options, quiet, "no progress and no summary on stderr"),
    {.name = "exit-code",
     .arg = "verdict|program",
     .take = take_exit_code,
     .help = "with --wait: exit with the verdict's number, or with the program's own exit\n"
             "code when it ended by itself (default: verdict)"},
    REMOTE_OPTS(offsetof(struct run_options, remote.http)),
    {.name = "state", .arg = "DIR", .take = refuse_state, .help = "not here: see airlock run"},
};

static const char *unit_arg(enum spec_unit unit)
{
    switch (unit) {
    case SPEC_UNIT_BYTES:
        return "SIZE";
    case SPEC_UNIT_NS:
        return "TIME";
    case SPEC_UNIT_COUNT:
        break;
    }
    return "N";
}

static void init(struct run_options *o, const struct opt *own, size_t n_own)
{
    size_t n = 0;

    memset(o, 0, sizeof(*o));
    spec_init(&o->spec);
    for (size_t i = 0; i < ARRAY_LEN(job_opts); i++) {
        o->table[n++] = job_opts[i];
    }
    assert(spec_limit_infos_len <= RUN_LIMITS_MAX);
    for (size_t i = 0; i < spec_limit_infos_len; i++) {
        const struct spec_limit_info *info = &spec_limit_infos[i];
        char def[32];

        (void)snprintf(o->help[i], RUN_HELP_MAX, "%s (default: %s)", info->help,
                       spec_value_text(info->unit, info->def, def));
        o->table[n++] = (struct opt){.name = info->option,
                                     .arg = unit_arg(info->unit),
                                     .help = o->help[i],
                                     .take = take_limit,
                                     .data = info};
    }
    for (size_t i = 0; i < n_own; i++) {
        o->table[n++] = own[i];
    }
    o->cmd = (struct opt_cmd){.name = "airlock run",
                              .usage = "[options] SCRIPT.py|SCRIPT.js [ARG...]\n"
                                       "[options] --image IMAGE -- COMMAND [ARG...]\n"
                                       "[options] --spec FILE",
                              .about = about,
                              .epilog = epilog,
                              .opts = o->table,
                              .n_opts = n,
                              .stop_at_operand = true};
}

void run_options_init(struct run_options *o)
{
    init(o, own_opts, ARRAY_LEN(own_opts));
}

void run_options_init_remote(struct run_options *o)
{
    init(o, remote_opts, ARRAY_LEN(remote_opts));
    o->cmd.name = "airlock submit";
    o->cmd.about = remote_about;
    o->cmd.epilog = remote_epilog;
}

void run_options_fini(struct run_options *o)
{
    spec_fini(&o->spec);
}

static int read_spec(struct run_options *o, struct err *err)
{
    auto_buf struct buf text = BUF_INIT(SPEC_FILE_MAX);
    auto_fd int fd = -1;
    bool from_stdin = strcmp(o->spec_file, "-") == 0;
    const char *what = from_stdin ? "standard input" : o->spec_file;
    int r = from_stdin ? 0 : fd_open(AT_FDCWD, o->spec_file, O_RDONLY | O_NOCTTY, 0, &fd, err);

    if (r == 0) {
        r = fd_read_all(from_stdin ? STDIN_FILENO : fd, what, &text, err);
    }
    if (r == 0 && text.len == 0) {
        r = err_usage(err, "'%s' is empty", what);
    }
    if (r == 0) {
        r = spec_from_json(&o->spec, (const char *)text.data, text.len, err);
    }
    if (text.data != NULL) {
        explicit_bzero(text.data, text.len); /* env values */
    }
    return r < 0 ? err_wrap(err, "--spec") : 0;
}

static int take_operands(struct run_options *o, const struct opt_rest *rest, struct err *err)
{
    bool command = rest->dashes && o->spec.image != NULL;
    size_t first = command ? 0 : 1;
    int r = command ? 0 : spec_set_program(&o->spec, rest->operands[0], err);

    for (size_t i = first; i < rest->n && r == 0; i++) {
        r = spec_add_arg(&o->spec, rest->operands[i], err);
    }
    return r;
}

bool run_options_parse(struct run_options *o, int argc, char **argv, int *ret_exit)
{
    struct opt_rest rest = {0};
    struct err fault = ERR_INIT;

    if (!opt_start(&o->cmd, argc, argv, o, &rest, ret_exit)) {
        return false;
    }
    if (o->spec_file != NULL && (rest.n > 0 || o->job_option != NULL)) {
        *ret_exit = opt_mistake(
            &o->cmd, "%s%s can't be given beside --spec, which is the whole job",
            o->job_option != NULL ? "--" : "a script", o->job_option != NULL ? o->job_option : "");
        return false;
    }
    if (o->spec_file == NULL && rest.n == 0) {
        *ret_exit = opt_mistake(&o->cmd, "what shall run? Give a script (SCRIPT.py or SCRIPT.js), "
                                         "or --image IMAGE -- COMMAND");
        return false;
    }
    if (o->fault.class != ERR_NONE) {
        return true;
    }
    if ((o->spec_file != NULL ? read_spec(o, &fault) : take_operands(o, &rest, &fault)) < 0) {
        (void)keep_fault(o, &fault);
    }
    return true;
}
