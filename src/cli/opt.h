/*
 * opt.h - one table per subcommand drives parsing, --help and the error texts.
 *
 * GNU style without surprises: --name VALUE or --name=VALUE, "--" ends the options, names are never
 * abbreviated, there are no short options but -h. Values are pointers into argv: borrowed, and
 * writable so that a secret can be wiped after it was copied.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#define OPT_EXIT_USAGE 2   /* exit code of a wrong command line */
#define OPT_MAX        64u /* options of one subcommand */

struct opt;

/* config is what opt_parse() was given; value is NULL for a flag. ERR_USAGE says what is wrong. */
typedef int opt_take_fn(void *config, const struct opt *opt, char *value, struct err *err);

struct opt {
    const char *name;  /* without the dashes */
    const char *arg;   /* what --help calls the value ("FILE"); NULL: a flag */
    const char *help;  /* one line or several separated by "\n" */
    size_t offset;     /* without take: into config, of a bool (flag) or a const char * (value) */
    opt_take_fn *take; /* NULL: store at offset */
    const void *data;  /* for take */
    bool many;         /* may be given more than once (then it needs take) */
};

#define OPT_FLAG(opt_name, type, field, text)                               \
    {                                                                       \
        .name = (opt_name), .help = (text), .offset = offsetof(type, field) \
    }
#define OPT_VALUE(opt_name, value, type, field, text)                                       \
    {                                                                                       \
        .name = (opt_name), .arg = (value), .help = (text), .offset = offsetof(type, field) \
    }

struct opt_cmd {
    const char *name;   /* as typed: "airlock run", "airlock image build" */
    const char *usage;  /* what follows the name; further forms separated by "\n" */
    const char *about;  /* a paragraph, lines separated by "\n" */
    const char *epilog; /* printed after the options; may be NULL */
    const struct opt *opts;
    size_t n_opts;
    bool stop_at_operand; /* the first operand ends the options */
};

struct opt_rest {
    char **operands; /* argv itself, compacted; NULL-terminated */
    size_t n;
    bool dashes; /* a "--" ended the options */
    bool help;   /* --help or -h was met; nothing after it was looked at */
};

/* argv without the subcommand's own name, NULL-terminated. ERR_USAGE on any mistake. */
must_use int opt_parse(const struct opt_cmd *cmd, char **argv, void *config, struct opt_rest *ret,
                       struct err *err) nonnull_args(1, 2, 4, 5);

/* The --help text. Returns 0 or what buf_put() returns. */
must_use int opt_help(const struct opt_cmd *cmd, struct buf *out) nonnull_all;

/*
 * What a subcommand calls first: parses, prints the help to stdout or the mistake to stderr.
 * True: go on. False: exit with *ret_exit. argc and argv include the subcommand's own name.
 */
must_use bool opt_start(const struct opt_cmd *cmd, int argc, char **argv, void *config,
                        struct opt_rest *ret, int *ret_exit) nonnull_args(1, 3, 5, 6);

/* "airlock run: MESSAGE" and the hint to --help on stderr. Returns OPT_EXIT_USAGE. */
int opt_mistake(const struct opt_cmd *cmd, const char *fmt, ...) printf_like(2, 3)
    nonnull_args(1, 2);

/* "airlock run: MESSAGE" on stderr, harmless. OPT_EXIT_USAGE for ERR_USAGE, else 1. */
int opt_fail(const struct opt_cmd *cmd, const struct err *err) nonnull_all;

/* The index of value in names (NULL-terminated), or ERR_USAGE listing them. */
must_use int opt_choice(const struct opt *opt, const char *value, const char *const *names,
                        size_t *ret, struct err *err) nonnull_all;

/* Subcommands. run() gets argv from its own name on and returns the exit code. */
struct opt_sub {
    const char *name;
    const char *help; /* one line */
    int (*run)(int argc, char **argv);
};

/*
 * Finds argv[1] in subs and runs it. prefix is what was typed so far ("airlock", "airlock image").
 * "help", --help and -h list the subcommands; "help NAME" is "NAME --help". Returns the exit code.
 */
must_use int opt_dispatch(const char *prefix, const char *about, const struct opt_sub *subs,
                          size_t n_subs, int argc, char **argv) nonnull_args(1, 2, 3, 6);

/* The nearest of n names to a mistyped one, or NULL if none is near. Borrowed. */
const char *opt_nearest(const char *typed, const char *const *names, size_t n) nonnull_all;
