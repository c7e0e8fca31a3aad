#include "cli/cmd-token.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/str.h"

#include "cli/opt.h"
#include "daemon/tenant-file.h"
#include "image/store.h"
#include "job/record.h"
#include "job/text.h"
#include "sys/fd.h"

#define OUT_MAX (64 * MIB)

struct token_options {
    const char *state;
    const char *tenant;
    const char *note;
    bool json;
    struct token token;
};

/* --- options of `new` --- */

enum number_kind {
    NUMBER_COUNT,
    NUMBER_BYTES,
    NUMBER_TIME
};

struct number_option {
    size_t offset; /* into struct tenant_quota */
    enum token_given given;
    enum number_kind kind;
};

#define INTO(field, bit, number_kind) \
    (&(const struct number_option){   \
        .offset = offsetof(struct tenant_quota, field), .given = (bit), .kind = (number_kind)})

static int take_number(void *config, const struct opt *opt, char *value, struct err *err)
{
    struct token_options *o = config;
    const struct number_option *n = opt->data;
    uint64_t v = 0;
    int r = n->kind == NUMBER_COUNT   ? num_parse_u64(value, &v)
            : n->kind == NUMBER_BYTES ? num_parse_size(value, &v)
                                      : num_parse_duration(value, &v);

    if (r < 0) {
        return err_usage(err, "--%s '%s': give %s", opt->name, text_of_str(value).s,
                         n->kind == NUMBER_COUNT   ? "a number"
                         : n->kind == NUMBER_BYTES ? "a size, as 64M or 2G"
                                                   : "a time, as 10s or 500ms");
    }
    if (n->kind == NUMBER_TIME && v % NS_PER_MS != 0) {
        return err_usage(err, "--%s '%s': give whole milliseconds", opt->name,
                         text_of_str(value).s);
    }
    *(uint64_t *)(void *)((char *)&o->token.quota + n->offset) = v;
    o->token.given |= (unsigned int)n->given;
    return 0;
}

/* "600/min", or the number alone. */
static int take_rate(void *config, const struct opt *opt, char *value, struct err *err)
{
    struct token_options *o = config;
    size_t len = strlen(value);
    char digits[24];

    if (len > 4 && strcmp(value + len - 4, "/min") == 0) {
        len -= 4;
    }
    (void)snprintf(digits, sizeof(digits), "%.*s", len < sizeof(digits) ? (int)len : 0, value);
    if (num_parse_u64(digits, &o->token.quota.rate_per_minute) < 0) {
        return err_usage(err, "--%s '%s': give jobs a minute, as 600/min", opt->name,
                         text_of_str(value).s);
    }
    o->token.given |= TOKEN_RATE;
    return 0;
}

static int take_image(void *config, const struct opt *opt, char *value, struct err *err)
{
    struct token_options *o = config;
    struct tenant_quota *q = &o->token.quota;

    if (!spec_image_name_ok(value, strlen(value))) {
        return err_usage(err, "--%s '%s': give the name of an image, without a digest", opt->name,
                         text_of_str(value).s);
    }
    if (q->n_images == TENANT_IMAGES_MAX) {
        return err_usage(err, "--%s: at most %u can be named", opt->name, TENANT_IMAGES_MAX);
    }
    (void)snprintf(q->images[q->n_images], sizeof(q->images[0]), "%s", value);
    q->n_images++;
    o->token.given |= TOKEN_IMAGES;
    return 0;
}

static int take_isolation(void *config, const struct opt *opt, char *value, struct err *err)
{
    static const char *const names[] = {"hardware", "emulated", NULL};
    struct token_options *o = config;
    size_t i = 0;
    int r = opt_choice(opt, value, names, &i, err);

    if (r == 0) {
        o->token.quota.isolation = i == 0 ? SPEC_ISOLATION_HARDWARE : SPEC_ISOLATION_EMULATED;
        o->token.given |= TOKEN_ISOLATION;
    }
    return r;
}

static int take_pinned(void *config, const struct opt *opt, char *value, struct err *err)
{
    struct token_options *o = config;

    o->token.quota.pinned = true;
    o->token.given |= TOKEN_PINNED;
    return 0;
}

#define STATE_OPTION                                       \
    OPT_VALUE("state", "DIR", struct token_options, state, \
              "the state directory that airlockd is started with")

static const struct opt new_opts[] = {
    OPT_VALUE("tenant", "NAME", struct token_options, tenant,
              "whose it is: a-z, 0-9, '-', '_' and '.'; several tokens may have the same"),
    {.name = "concurrent",
     .arg = "N",
     .take = take_number,
     .data = INTO(concurrent, TOKEN_CONCURRENT, NUMBER_COUNT),
     .help = "jobs that may run at once"},
    {.name = "queued",
     .arg = "N",
     .take = take_number,
     .data = INTO(queued, TOKEN_QUEUED, NUMBER_COUNT),
     .help = "jobs that may wait"},
    {.name = "rate",
     .arg = "N/min",
     .take = take_rate,
     .help = "jobs accepted a minute; 0 = no limit"},
    {.name = "burst",
     .arg = "N",
     .take = take_number,
     .data = INTO(rate_burst, TOKEN_BURST, NUMBER_COUNT),
     .help = "jobs accepted at once after a quiet time"},
    {.name = "wall",
     .arg = "TIME",
     .take = take_number,
     .data = INTO(wall_ns, TOKEN_WALL, NUMBER_TIME),
     .help = "most that a job may ask for as --wall"},
    {.name = "cpu",
     .arg = "TIME",
     .take = take_number,
     .data = INTO(cpu_ns, TOKEN_CPU, NUMBER_TIME),
     .help = "most that a job may ask for as --cpu"},
    {.name = "memory",
     .arg = "SIZE",
     .take = take_number,
     .data = INTO(memory_bytes, TOKEN_MEMORY, NUMBER_BYTES),
     .help = "most that a job may ask for as --memory"},
    {.name = "kept",
     .arg = "SIZE",
     .take = take_number,
     .data = INTO(kept_bytes, TOKEN_KEPT, NUMBER_BYTES),
     .help = "data of all its jobs that is kept; 0 = no limit"},
    {.name = "image",
     .arg = "NAME",
     .take = take_image,
     .many = true,
     .help = "an image it may use; without this option all of them"},
    {.name = "isolation",
     .arg = "CLASS",
     .take = take_isolation,
     .help = "the weakest isolation for its jobs: hardware, or emulated"},
    {.name = "pinned",
     .take = take_pinned,
     .help = "its jobs must name images with their digest: NAME@sha256:HEX"},
    OPT_VALUE("note", "TEXT", struct token_options, note, "for whoever reads the list"),
    STATE_OPTION,
};

static const struct opt list_opts[] = {
    OPT_FLAG("json", struct token_options, json, "print JSON instead of text, on one line"),
    STATE_OPTION,
};

static const struct opt revoke_opts[] = {
    STATE_OPTION,
};

static const struct opt_cmd new_cmd = {
    .name = "airlock token new",
    .usage = "--tenant NAME [options]",
    .about =
        "Makes a token for airlockd and prints it on stdout, this once: only its digest is kept.\n"
        "A quota that is not given is airlockd's default. airlockd need not be told.",
    .opts = new_opts,
    .n_opts = ARRAY_LEN(new_opts),
};

static const struct opt_cmd list_cmd = {
    .name = "airlock token list",
    .usage = "[options]",
    .about = "Lists the tokens, and what is wrong with those that airlockd does not use.",
    .opts = list_opts,
    .n_opts = ARRAY_LEN(list_opts),
};

static const struct opt_cmd revoke_cmd = {
    .name = "airlock token revoke",
    .usage = "[options] ID",
    .about = "Removes a token: airlockd refuses it from then on. ID may be the beginning of one.\n"
             "Jobs that were accepted go on.",
    .opts = revoke_opts,
    .n_opts = ARRAY_LEN(revoke_opts),
};

/* --- output --- */

static int print(const struct opt_cmd *cmd, const void *data, size_t len)
{
    struct err err = ERR_INIT;

    return fd_write_full(STDOUT_FILENO, data, len, &err) < 0 ? opt_fail(cmd, &err) : EXIT_SUCCESS;
}

/* --- new --- */

static int run_new(int argc, char **argv)
{
    struct token_options options = {0};
    struct opt_rest rest = {0};
    auto_store struct store store = STORE_INIT;
    auto_fd int tokens = -1;
    struct err err = ERR_INIT;
    struct token *token = &options.token;
    char secret[TOKEN_TEXT_SIZE + 1] = "";
    int code = 0;

    if (!opt_start(&new_cmd, argc, argv, &options, &rest, &code)) {
        return code;
    }
    if (rest.n > 0) {
        return opt_mistake(&new_cmd, "unexpected argument '%.64s'", rest.operands[0]);
    }
    if (options.tenant == NULL || !tenant_name_ok(options.tenant)) {
        return opt_mistake(&new_cmd,
                           "name the tenant with --tenant: 1 to %u of a-z, 0-9, '-', '_' "
                           "and '.', the first a letter or digit",
                           JOB_TENANT_SIZE - 1);
    }
    if (options.note != NULL && strlen(options.note) >= sizeof(token->note)) {
        return opt_mistake(&new_cmd, "--note: at most %zu bytes", sizeof(token->note) - 1);
    }
    (void)snprintf(token->tenant, sizeof(token->tenant), "%s", options.tenant);
    (void)snprintf(token->note, sizeof(token->note), "%s",
                   options.note != NULL ? options.note : "");
    if (store_open(options.state, &store, &err) < 0 ||
        token_open_dir(store.dirfd, true, &tokens, &err) < 0 ||
        token_create(tokens, token, secret, &err) < 0) {
        return opt_fail(&new_cmd, &err);
    }
    (void)fprintf(stderr, "token %s of tenant %s; this is the only time it is shown:\n", token->id,
                  token->tenant);
    secret[TOKEN_TEXT_SIZE - 1] = '\n';
    code = print(&new_cmd, secret, TOKEN_TEXT_SIZE);
    explicit_bzero(secret, sizeof(secret));
    return code;
}

/* --- list --- */

struct listing {
    int tokens_fd;
    bool json;
    struct buf *out;
    unsigned int n;
};

static int no_memory(struct err *err)
{
    return err_sys_num(err, ENOMEM, "list the tokens");
}

static int put_text(struct listing *l, const char *name, const struct token *token,
                    const struct err *why)
{
    auto_buf struct buf shown = BUF_INIT((size_t)4 * ERR_MSG_MAX + 1);
    char created[40] = "-";

    if (token == NULL) {
        return str_escape(&shown, why->msg, strlen(why->msg), false) < 0
                   ? -ENOMEM
                   : buf_printf(l->out, "%-16s  NOT USED: %s\n", text_of_str(name).s,
                                (const char *)shown.data);
    }
    if (str_escape(&shown, token->note, strlen(token->note), false) < 0) {
        return -ENOMEM;
    }
    (void)record_time(token->created_ms * NS_PER_MS, created);
    return buf_printf(l->out, "%s  %-20s  %.19sZ  %s\n", token->id, token->tenant, created,
                      shown.len > 0 ? (const char *)shown.data : "");
}

static json_t *json_of(const struct token *token)
{
    auto_buf struct buf text = BUF_INIT(TOKEN_FILE_MAX);
    struct err ignored = ERR_INIT;
    char created[40];
    json_error_t at;
    json_t *o = token_format(token, &text, &ignored) == 0
                    ? json_loadb((const char *)text.data, text.len, 0, &at)
                    : NULL;

    if (o == NULL || json_object_del(o, "token") < 0 || json_object_del(o, "digest") < 0 ||
        json_object_del(o, "created_ms") < 0 ||
        json_object_set_new(o, "created",
                            json_string(record_time(token->created_ms * NS_PER_MS, created))) < 0 ||
        json_object_set_new(o, "usable", json_true()) < 0) {
        json_decref(o);
        return NULL;
    }
    return o;
}

static int put_json(struct listing *l, const char *name, const struct token *token,
                    const struct err *why)
{
    json_t *o = token != NULL ? json_of(token)
                              : json_pack("{s:s,s:b,s:s}", "file", text_of_str(name).s, "usable",
                                          false, "why", text_of_str(why->msg).s);
    char *text = o != NULL ? json_dumps(o, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    int r = text != NULL ? buf_printf(l->out, "%s%s", l->n > 0 ? "," : "", text) : -ENOMEM;

    free(text);
    json_decref(o);
    return r;
}

static int put_one(void *ctx, const char *name, struct err *err)
{
    struct listing *l = ctx;
    struct token token;
    struct err why = ERR_INIT;
    char id[256];
    bool usable = false;
    int r = 0;

    (void)snprintf(id, sizeof(id), "%.*s", (int)(strlen(name) - strlen(".json")), name);
    usable = token_load(l->tokens_fd, id, &token, &why) == 0;
    r = (l->json ? put_json : put_text)(l, name, usable ? &token : NULL, &why);
    l->n++;
    return r < 0 ? no_memory(err) : 0;
}

/* Without a directory there are no tokens; looking makes none. */
static int list(int store_fd, struct listing *l, struct err *err)
{
    auto_fd int tokens = -1;
    int r = token_open_dir(store_fd, false, &tokens, err);

    if (r == -ENOENT) {
        *err = (struct err)ERR_INIT;
        return 0;
    }
    l->tokens_fd = tokens;
    return r < 0 ? r : token_each(tokens, put_one, l, err);
}

static int run_list(int argc, char **argv)
{
    struct token_options options = {0};
    struct opt_rest rest = {0};
    auto_store struct store store = STORE_INIT;
    auto_buf struct buf out = BUF_INIT(OUT_MAX);
    struct listing l = {.out = &out};
    struct err err = ERR_INIT;
    int code = 0;

    if (!opt_start(&list_cmd, argc, argv, &options, &rest, &code)) {
        return code;
    }
    if (rest.n > 0) {
        return opt_mistake(&list_cmd, "unexpected argument '%.64s'", rest.operands[0]);
    }
    l.json = options.json;
    if (l.json && buf_printf(&out, "{\"tokens\":[") < 0) {
        (void)no_memory(&err);
        return opt_fail(&list_cmd, &err);
    }
    if (store_open(options.state, &store, &err) < 0 || list(store.dirfd, &l, &err) < 0) {
        return opt_fail(&list_cmd, &err);
    }
    if ((l.json && buf_printf(&out, "]}\n") < 0) ||
        (!l.json && l.n == 0 && buf_printf(&out, "no tokens\n") < 0)) {
        (void)no_memory(&err);
        return opt_fail(&list_cmd, &err);
    }
    return print(&list_cmd, out.data, out.len);
}

/* --- revoke --- */

static int run_revoke(int argc, char **argv)
{
    struct token_options options = {0};
    struct opt_rest rest = {0};
    auto_store struct store store = STORE_INIT;
    auto_fd int tokens = -1;
    struct err err = ERR_INIT;
    char id[TOKEN_ID_SIZE];
    int code = 0;
    int r = 0;

    if (!opt_start(&revoke_cmd, argc, argv, &options, &rest, &code)) {
        return code;
    }
    if (rest.n != 1) {
        return opt_mistake(&revoke_cmd, "give one id, or the beginning of one");
    }
    if (strncmp(rest.operands[0], "alk_", 4) == 0) {
        explicit_bzero(rest.operands[0], strlen(rest.operands[0]));
        return opt_mistake(&revoke_cmd, "give the id alone, not the token: the 16 digits after "
                                        "'alk_' (other users can see command lines)");
    }
    r = store_open(options.state, &store, &err);
    if (r == 0) {
        r = token_open_dir(store.dirfd, false, &tokens, &err);
    }
    if (r == -ENOENT) {
        err = (struct err)ERR_INIT;
        (void)err_set(&err, ERR_USAGE, ENOENT, "there are no tokens in this state directory");
    } else if (r == 0) {
        r = token_revoke(tokens, rest.operands[0], id, &err);
    }
    if (r < 0) {
        return opt_fail(&revoke_cmd, &err);
    }
    (void)fprintf(stderr, "token %s is revoked\n", id);
    return EXIT_SUCCESS;
}

static const struct opt_sub subs[] = {
    {"new", "make a token for a tenant of airlockd", run_new},
    {"list", "list the tokens", run_list},
    {"revoke", "remove one", run_revoke},
};

int cmd_token(int argc, char **argv)
{
    return opt_dispatch("airlock token", "Says who may submit jobs to airlockd, and how many.",
                        subs, ARRAY_LEN(subs), argc, argv);
}
