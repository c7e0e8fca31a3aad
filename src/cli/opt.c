#include "cli/opt.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

#include "sys/fd.h"

#define NAME_MAX_LEN 32u
#define HELP_COLUMN  26

/* Levenshtein distance of two names of at most NAME_MAX_LEN bytes. */
static size_t distance(const char *a, const char *b)
{
    size_t row[NAME_MAX_LEN + 1];
    size_t a_len = strlen(a);
    size_t b_len = strlen(b);

    for (size_t j = 0; j <= b_len; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t best = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);

            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[b_len];
}

const char *opt_nearest(const char *typed, const char *const *names, size_t n)
{
    size_t len = strlen(typed);
    size_t best = len / 3 + 1; /* further away is another word, not a slip */
    const char *nearest = NULL;

    if (len < 2 || len > NAME_MAX_LEN) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        size_t d = 0;

        if (strlen(names[i]) > NAME_MAX_LEN) {
            continue;
        }
        d = distance(typed, names[i]);
        if (d < best || (d == best && nearest == NULL)) {
            best = d;
            nearest = names[i];
        }
    }
    /* What was cut short ("out-b") is not near by letters. */
    for (size_t i = 0; i < n && nearest == NULL && len >= 3; i++) {
        nearest = strncmp(typed, names[i], len) == 0 ? names[i] : NULL;
    }
    return nearest;
}

static int unknown(const struct opt_cmd *cmd, const char *typed, size_t len, struct err *err)
{
    const char *names[OPT_MAX + 1];
    char name[NAME_MAX_LEN + 1];
    const char *near = NULL;

    for (size_t i = 0; i < cmd->n_opts; i++) {
        names[i] = cmd->opts[i].name;
    }
    names[cmd->n_opts] = "help";
    if (len <= NAME_MAX_LEN) {
        (void)snprintf(name, sizeof(name), "%.*s", (int)len, typed);
        near = opt_nearest(name, names, cmd->n_opts + 1);
    }
    if (near != NULL) {
        return err_usage(err, "unknown option '--%s'; did you mean '--%s'?", name, near);
    }
    return err_usage(err, "unknown option '--%.*s'", len > 64 ? 64 : (int)len, typed);
}

static int store(void *config, const struct opt *opt, char *value, struct err *err)
{
    char *at = (char *)config + opt->offset;

    if (opt->take != NULL) {
        return opt->take(config, opt, value, err);
    }
    if (opt->arg == NULL) {
        *(bool *)(void *)at = true;
    } else {
        *(const char **)(void *)at = value;
    }
    return 0;
}

/* One "--name", "--name=value" or "--name value" at argv[*at]; *at ends on its last word. */
static int parse_one(const struct opt_cmd *cmd, char **argv, size_t *at, uint64_t *seen,
                     void *config, struct err *err)
{
    char *name = argv[*at] + 2;
    char *equals = strchr(name, '=');
    size_t len = equals != NULL ? (size_t)(equals - name) : strlen(name);
    char *value = equals != NULL ? equals + 1 : NULL;
    const struct opt *opt = NULL;
    uint64_t bit = 1;

    for (size_t i = 0; i < cmd->n_opts; i++) {
        if (strlen(cmd->opts[i].name) == len && memcmp(cmd->opts[i].name, name, len) == 0) {
            opt = &cmd->opts[i];
            bit <<= i;
        }
    }
    if (opt == NULL) {
        return unknown(cmd, name, len, err);
    }
    if (opt->arg == NULL && value != NULL) {
        return err_usage(err, "option '--%s' takes no value", opt->name);
    }
    if (opt->arg != NULL && value == NULL) {
        value = argv[*at + 1];
        if (value == NULL) {
            return err_usage(err, "option '--%s' needs a value: --%s %s", opt->name, opt->name,
                             opt->arg);
        }
        (*at)++;
    }
    if ((*seen & bit) != 0 && !opt->many) {
        return err_usage(err, "option '--%s' was given twice", opt->name);
    }
    *seen |= bit;
    return store(config, opt, value, err);
}

int opt_parse(const struct opt_cmd *cmd, char **argv, void *config, struct opt_rest *ret,
              struct err *err)
{
    struct opt_rest rest = {.operands = argv};
    uint64_t seen = 0;
    size_t at = 0;

    assert(cmd->n_opts <= OPT_MAX);
    for (; argv[at] != NULL; at++) {
        int r = 0;

        if (strcmp(argv[at], "--") == 0) {
            rest.dashes = true;
            at++;
            break;
        }
        if (argv[at][0] != '-' || argv[at][1] == '\0') {
            if (cmd->stop_at_operand) {
                break;
            }
            argv[rest.n++] = argv[at];
            continue;
        }
        if (strcmp(argv[at], "-h") == 0 || strcmp(argv[at], "--help") == 0) {
            rest.help = true;
            *ret = rest;
            return 0;
        }
        if (argv[at][1] != '-') {
            return err_usage(err, "unknown option '%.64s'; options are words: --name", argv[at]);
        }
        r = parse_one(cmd, argv, &at, &seen, config, err);
        if (r < 0) {
            return r;
        }
    }
    for (; argv[at] != NULL; at++) {
        argv[rest.n++] = argv[at];
    }
    argv[rest.n] = NULL;
    *ret = rest;
    return 0;
}

/* Appends text with every line after the first moved to column indent. */
static int put_lines(struct buf *out, const char *text, int indent)
{
    for (;;) {
        size_t len = strcspn(text, "\n");
        int r = buf_printf(out, "%.*s\n", (int)len, text);

        if (r < 0 || text[len] == '\0') {
            return r;
        }
        text += len + 1;
        r = buf_printf(out, "%*s", indent, "");
        if (r < 0) {
            return r;
        }
    }
}

static int put_option(struct buf *out, const char *name, const char *arg, const char *help)
{
    char left[64];
    int r = 0;

    (void)snprintf(left, sizeof(left), "  --%s%s%s", name, arg != NULL ? " " : "",
                   arg != NULL ? arg : "");
    if (strlen(left) >= HELP_COLUMN) {
        r = buf_printf(out, "%s\n%*s", left, HELP_COLUMN, "");
    } else {
        r = buf_printf(out, "%-*s", HELP_COLUMN, left);
    }
    return r < 0 ? r : put_lines(out, help, HELP_COLUMN);
}

int opt_help(const struct opt_cmd *cmd, struct buf *out)
{
    const char *usage = cmd->usage;
    const char *word = "Usage:";
    int r = 0;

    do {
        size_t len = strcspn(usage, "\n");

        r = buf_printf(out, "%-7s%s%s%.*s\n", word, cmd->name, len > 0 ? " " : "", (int)len, usage);
        word = "";
        usage += len + (usage[len] == '\n' ? 1 : 0);
    } while (r == 0 && *usage != '\0');
    if (r == 0) {
        r = buf_printf(out, "\n%s\n\nOptions:\n", cmd->about);
    }
    for (size_t i = 0; i < cmd->n_opts && r == 0; i++) {
        r = put_option(out, cmd->opts[i].name, cmd->opts[i].arg, cmd->opts[i].help);
    }
    if (r == 0) {
        r = put_option(out, "help", NULL, "show this text");
    }
    if (r == 0 && cmd->epilog != NULL) {
        r = buf_printf(out, "\n%s\n", cmd->epilog);
    }
    return r;
}

int opt_mistake(const struct opt_cmd *cmd, const char *fmt, ...)
{
    va_list ap;

    (void)fprintf(stderr, "%s: ", cmd->name);
    va_start(ap, fmt);
    (void)vfprintf(stderr, fmt, ap);
    va_end(ap);
    (void)fprintf(stderr, "\nTry '%s --help'.\n", cmd->name);
    return OPT_EXIT_USAGE;
}

/* Whole text to stdout; the exit code. */
static int print_text(const struct buf *text)
{
    struct err err = ERR_INIT;

    if (fd_write_full(STDOUT_FILENO, text->data, text->len, &err) < 0) {
        (void)fprintf(stderr, "airlock: standard output: %s\n", err.msg);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

bool opt_start(const struct opt_cmd *cmd, int argc, char **argv, void *config, struct opt_rest *ret,
               int *ret_exit)
{
    struct err err = ERR_INIT;
    auto_buf struct buf text = BUF_INIT(64 * KIB);

    assert(argc > 0);
    if (opt_parse(cmd, argv + 1, config, ret, &err) < 0) {
        *ret_exit = opt_mistake(cmd, "%s", err.msg);
        return false;
    }
    if (!ret->help) {
        return true;
    }
    *ret_exit = opt_help(cmd, &text) < 0 ? EXIT_FAILURE : print_text(&text);
    return false;
}

int opt_fail(const struct opt_cmd *cmd, const struct err *err)
{
    auto_buf struct buf text = BUF_INIT(4 * sizeof(err->msg) + 1);

    (void)!str_escape(&text, err->msg, strlen(err->msg), false);
    (void)fprintf(stderr, "%s: %s\n", cmd->name,
                  text.data != NULL ? (const char *)text.data : "out of memory");
    return err->class == ERR_USAGE ? OPT_EXIT_USAGE : 1;
}

int opt_choice(const struct opt *opt, const char *value, const char *const *names, size_t *ret,
               struct err *err)
{
    char list[256];
    size_t at = 0;

    list[0] = '\0';
    for (size_t i = 0; names[i] != NULL; i++) {
        int n = 0;

        if (strcmp(names[i], value) == 0) {
            *ret = i;
            return 0;
        }
        n = snprintf(list + at, sizeof(list) - at, "%s%s", i > 0 ? ", " : "", names[i]);
        at += n > 0 && (size_t)n < sizeof(list) - at ? (size_t)n : 0;
    }
    return err_usage(err, "--%s '%.64s' is not one of: %s", opt->name, value, list);
}

static int dispatch_help(const char *prefix, const char *about, const struct opt_sub *subs,
                         size_t n_subs)
{
    auto_buf struct buf text = BUF_INIT(64 * KIB);
    int r = buf_printf(&text, "Usage: %s COMMAND [options]\n\n%s\n\nCommands:\n", prefix, about);

    for (size_t i = 0; i < n_subs && r == 0; i++) {
        r = buf_printf(&text, "  %-12s%s\n", subs[i].name, subs[i].help);
    }
    if (r == 0) {
        r = buf_printf(&text, "  %-12s%s\n\n'%s COMMAND --help' explains one of them.\n", "help",
                       "show this text", prefix);
    }
    return r < 0 ? EXIT_FAILURE : print_text(&text);
}

static const struct opt_sub *find_sub(const struct opt_sub *subs, size_t n_subs, const char *name)
{
    for (size_t i = 0; i < n_subs; i++) {
        if (strcmp(subs[i].name, name) == 0) {
            return &subs[i];
        }
    }
    return NULL;
}

static int unknown_sub(const char *prefix, const struct opt_sub *subs, size_t n_subs,
                       const char *typed)
{
    const char *names[OPT_MAX];
    const char *near = NULL;
    size_t n = n_subs < OPT_MAX ? n_subs : OPT_MAX;

    for (size_t i = 0; i < n; i++) {
        names[i] = subs[i].name;
    }
    near = opt_nearest(typed, names, n);
    (void)fprintf(stderr, "%s: unknown %s '%.64s'%s%s%s\nTry '%s --help'.\n", prefix,
                  typed[0] == '-' ? "option" : "command", typed,
                  near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                  near != NULL ? "'?" : "", prefix);
    return OPT_EXIT_USAGE;
}

int opt_dispatch(const char *prefix, const char *about, const struct opt_sub *subs, size_t n_subs,
                 int argc, char **argv)
{
    static char help_word[] = "--help";
    const struct opt_sub *sub = NULL;
    const char *typed = argc > 1 ? argv[1] : NULL;

    if (typed == NULL) {
        (void)fprintf(stderr, "%s: which command?\nTry '%s --help'.\n", prefix, prefix);
        return OPT_EXIT_USAGE;
    }
    if (strcmp(typed, "-h") == 0 || strcmp(typed, "--help") == 0 ||
        (strcmp(typed, "help") == 0 && argc == 2)) {
        return dispatch_help(prefix, about, subs, n_subs);
    }
    if (strcmp(typed, "help") == 0) {
        char *help_argv[] = {argv[2], help_word, NULL};

        sub = find_sub(subs, n_subs, argv[2]);
        return sub != NULL ? sub->run(2, help_argv) : unknown_sub(prefix, subs, n_subs, argv[2]);
    }
    sub = find_sub(subs, n_subs, typed);
    return sub != NULL ? sub->run(argc - 1, argv + 1) : unknown_sub(prefix, subs, n_subs, typed);
}
