#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/opt.h"
#include "test.h"

struct config {
    bool loud;
    const char *color;
    char last[32];
    size_t taken;
};

static int take_word(void *config, const struct opt *opt, char *value, struct err *err)
{
    struct config *c = config;

    if (strcmp(value, "bad") == 0) {
        return err_usage(err, "--%s: bad word", opt->name);
    }
    (void)snprintf(c->last, sizeof(c->last), "%s", value);
    c->taken++;
    return 0;
}

static const struct opt opts[] = {
    OPT_FLAG("loud", struct config, loud, "shout"),
    OPT_VALUE("color", "NAME", struct config, color, "paint it\nwith NAME"),
    {.name = "word", .arg = "W", .help = "say W", .take = take_word, .many = true},
};

static const struct opt_cmd permuting = {.name = "airlock test",
                                         .usage = "[options] FILE",
                                         .about = "Tests.",
                                         .opts = opts,
                                         .n_opts = ARRAY_LEN(opts)};

static const struct opt_cmd stopping = {.name = "airlock test",
                                        .usage = "[options] FILE",
                                        .about = "Tests.",
                                        .opts = opts,
                                        .n_opts = ARRAY_LEN(opts),
                                        .stop_at_operand = true};

/* Words from a string split at blanks, as a modifiable argv. */
struct line {
    char bytes[256];
    char *argv[16];
};

static struct line *words(struct line *line, const char *s)
{
    size_t n = 0;

    (void)snprintf(line->bytes, sizeof(line->bytes), "%s", s);
    for (char *p = line->bytes; *p != '\0';) {
        line->argv[n++] = p;
        p += strcspn(p, " ");
        if (*p != '\0') {
            *p++ = '\0';
        }
    }
    line->argv[n] = NULL;
    return line;
}

static void values_stand_behind_the_name_or_an_equals_sign(void **state)
{
    struct line line;
    struct config c = {0};
    struct opt_rest rest = {0};
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(opt_parse(&permuting, words(&line, "--word a --color=red=ish --word=b --loud")->argv,
                        &c, &rest, &err),
              &err);
    assert_true(c.loud);
    assert_string_equal(c.color, "red=ish");
    assert_string_equal(c.last, "b");
    assert_int_equal(c.taken, 2);
    assert_int_equal(rest.n, 0);
    assert_false(rest.dashes);
}

static void operands_mix_with_options_unless_the_command_stops(void **state)
{
    struct line line;
    struct config c = {0};
    struct opt_rest rest = {0};
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(opt_parse(&permuting, words(&line, "x --loud - -- --color")->argv, &c, &rest, &err),
              &err);
    assert_true(c.loud);
    assert_true(rest.dashes);
    assert_int_equal(rest.n, 3);
    assert_string_equal(rest.operands[0], "x");
    assert_string_equal(rest.operands[1], "-");
    assert_string_equal(rest.operands[2], "--color");
    assert_null(rest.operands[3]);
    c.loud = false;
    assert_ok(opt_parse(&stopping, words(&line, "x --loud --")->argv, &c, &rest, &err), &err);
    assert_false(c.loud);
    assert_false(rest.dashes);
    assert_int_equal(rest.n, 3);
}

static void mistakes_are_named(void **state)
{
    static const struct {
        const char *line, *part;
    } cases[] = {
        {"--colour red", "unknown option '--colour'; did you mean '--color'?"},
        {"--colo=red", "did you mean '--color'?"},
        {"--xyzzy", "unknown option '--xyzzy'"},
        {"--hlep", "did you mean '--help'?"},
        {"--color", "needs a value: --color NAME"},
        {"--loud=1", "'--loud' takes no value"},
        {"--loud --loud", "'--loud' was given twice"},
        {"--color a --color=b", "'--color' was given twice"},
        {"-l", "unknown option '-l'"},
        {"--word bad", "--word: bad word"},
        {"--=x", "unknown option '--'"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct line line;
        struct config c = {0};
        struct opt_rest rest = {0};
        struct err err = ERR_INIT;

        assert_int_equal(opt_parse(&permuting, words(&line, cases[i].line)->argv, &c, &rest, &err),
                         -EINVAL);
        assert_int_equal(err.class, ERR_USAGE);
        if (strstr(err.msg, cases[i].part) == NULL) {
            fail_msg("%s: %s", cases[i].line, err.msg);
        }
    }
}

static void help_wins_over_what_follows_and_shows_the_table(void **state)
{
    struct line line;
    struct config c = {0};
    struct opt_rest rest = {0};
    struct err err = ERR_INIT;
    auto_buf struct buf text = BUF_INIT(64 * KIB);

    (void)state;
    assert_ok(opt_parse(&permuting, words(&line, "--loud --help --nope")->argv, &c, &rest, &err),
              &err);
    assert_true(rest.help);
    assert_int_equal(opt_help(&permuting, &text), 0);
    assert_string_equal((const char *)text.data, "Usage: airlock test [options] FILE\n"
                                                 "\n"
                                                 "Tests.\n"
                                                 "\n"
                                                 "Options:\n"
                                                 "  --loud                  shout\n"
                                                 "  --color NAME            paint it\n"
                                                 "                          with NAME\n"
                                                 "  --word W                say W\n"
                                                 "  --help                  show this text\n");
}

static void only_near_names_are_suggested(void **state)
{
    static const char *const names[] = {"memory", "out", "out-bytes", "env"};

    (void)state;
    assert_string_equal(opt_nearest("memroy", names, ARRAY_LEN(names)), "memory");
    assert_string_equal(opt_nearest("mem", names, ARRAY_LEN(names)), "memory");
    assert_string_equal(opt_nearest("out-byte", names, ARRAY_LEN(names)), "out-bytes");
    assert_null(opt_nearest("network", names, ARRAY_LEN(names)));
    assert_null(opt_nearest("x", names, ARRAY_LEN(names)));
    assert_null(opt_nearest("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", names, 4));
}

static void a_choice_lists_what_is_allowed(void **state)
{
    static const char *const names[] = {"auto", "kvm", NULL};
    const struct opt opt = {.name = "engine"};
    struct err err = ERR_INIT;
    size_t i = 7;

    (void)state;
    assert_ok(opt_choice(&opt, "kvm", names, &i, &err), &err);
    assert_int_equal(i, 1);
    assert_int_equal(opt_choice(&opt, "kv", names, &i, &err), -EINVAL);
    assert_string_equal(err.msg, "--engine 'kv' is not one of: auto, kvm");
}

TEST_MAIN(T(values_stand_behind_the_name_or_an_equals_sign),
          T(operands_mix_with_options_unless_the_command_stops), T(mistakes_are_named),
          T(help_wins_over_what_follows_and_shows_the_table), T(only_near_names_are_suggested),
          T(a_choice_lists_what_is_allowed))
