#include "cli/cmd-template.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/num.h"
#include "base/str.h"

#include "cli/opt.h"
#include "image/build.h"
#include "image/store.h"
#include "sup/template-prepare.h"
#include "sup/template-upkeep.h"
#include "sys/clock.h"

#define EXIT_FAILED 1 /* one is damaged, or the work failed */
#define KEY_SHOWN   12
/* A machine that will never be ready must not be waited for all day. */
#define PATIENCE_MAX_NS (3600 * NS_PER_S)

struct template_options {
    const char *state;
    const char *memory;
    const char *vcpus;
    const char *patience;
    bool json;
    bool rm;
    bool all;
    bool cold;
};

#define OPT_STATE                                             \
    OPT_VALUE("state", "DIR", struct template_options, state, \
              "where images and the guest kernel are kept")
#define OPT_JSON \
    OPT_FLAG("json", struct template_options, json, "print JSON instead of text, on one line")

static const struct opt list_opts[] = {OPT_STATE, OPT_JSON};
static const struct opt build_opts[] = {
    OPT_STATE,
    OPT_JSON,
    OPT_VALUE("memory", "SIZE", struct template_options, memory,
              "memory limit of the jobs it is for (default: that of airlock run)"),
    OPT_FLAG("cold-interpreter", struct template_options, cold,
             "no interpreter waits in it: for commands, and airlock run --cold-interpreter"),
    OPT_VALUE("vcpus", "N", struct template_options, vcpus, "CPUs of their machine"),
    OPT_VALUE("patience", "TIME", struct template_options, patience,
              "how long it may boot, on a slow or busy host (default: 60s, as for a job)"),
};
static const struct opt verify_opts[] = {
    OPT_STATE,
    OPT_JSON,
    OPT_FLAG("rm", struct template_options, rm, "remove the damaged ones"),
};
static const struct opt rm_opts[] = {
    OPT_STATE,
    OPT_FLAG("all", struct template_options, all, "remove all there are"),
};

static const struct opt_cmd build_cmd = {
    .name = "airlock template build",
    .usage = "IMAGE [options]",
    .about =
        "Boots a machine of this image and saves its state, unless that was done before, so that\n"
        "the first job starts as fast as later ones. Otherwise that job does it.",
    .epilog = "Prints the key, and whether it was there. Exit codes: 0, 1 it failed, 2 wrong "
              "command line,\nor no such image or engine.",
    .opts = build_opts,
    .n_opts = ARRAY_LEN(build_opts),
};

static const struct opt_cmd list_cmd = {
    .name = "airlock template list",
    .usage = "[options]",
    .about = "Lists the templates, the last used first: key, image, size of the machine, engine,\n"
             "size on disk, age, last use and state. Digests are not compared.",
    .opts = list_opts,
    .n_opts = ARRAY_LEN(list_opts),
};

static const struct opt_cmd verify_cmd = {
    .name = "airlock template verify",
    .usage = "[KEY...] [options]",
    .about =
        "Reads templates, or all there are, and compares every digest: of the machine's state,\n"
        "as each job does, and of its memory. KEY may be the beginning of a key.",
    .epilog = "Exit codes: 0 none is damaged, 1 one is or it failed, 2 wrong command line.",
    .opts = verify_opts,
    .n_opts = ARRAY_LEN(verify_opts),
};

static const struct opt_cmd rm_cmd = {
    .name = "airlock template rm",
    .usage = "KEY... [options]\n--all [options]",
    .about =
        "Removes templates; machines that run keep theirs. The next job that needs one builds\n"
        "it again. KEY may be the beginning of a key.",
    .opts = rm_opts,
    .n_opts = ARRAY_LEN(rm_opts),
};

/* What is damaged is no mistake of the command line's. */
static int complain(const struct opt_cmd *cmd, const struct err *err)
{
    int r = opt_fail(cmd, err);

    return err->errnum == EBADMSG ? EXIT_FAILED : r;
}

static int flush_stdout(void)
{
    return fflush(stdout) == 0 && ferror(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILED;
}

/* Takes the reference. Everything outside ASCII as \uXXXX. */
static int print_json(json_t *json_take)
{
    char *text = json_take != NULL ? json_dumps(json_take, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    int r = text != NULL && puts(text) >= 0 ? flush_stdout() : EXIT_FAILED;

    free(text);
    json_decref(json_take);
    return r;
}

/* --- build --- */

static volatile sig_atomic_t signaled;

static void on_signal(int number)
{
    signaled = number;
}

static bool was_signaled(void *ctx)
{
    (void)ctx;
    return signaled != 0;
}

static void say_image(void *ctx, const char *text)
{
    (void)ctx;
    (void)fprintf(stderr, "airlock: %s ...\n", text);
}

static void say_step(void *ctx, enum template_step step)
{
    static const char *const texts[] = {
        [TEMPLATE_STEP_BOOT] = "booting a machine of image",
        [TEMPLATE_STEP_SAVE] = "saving the state of the machine of image",
        [TEMPLATE_STEP_DIGEST] = "computing the digest of the memory of image",
    };

    (void)fprintf(stderr, "airlock: %s '%s' ...\n", texts[step], (const char *)ctx);
}

static int set_limit(struct spec *spec, const char *name, const char *value, struct err *err)
{
    for (size_t i = 0; i < spec_limit_infos_len && value != NULL; i++) {
        if (strcmp(spec_limit_infos[i].option, name) == 0) {
            return spec_set_limit(spec, &spec_limit_infos[i], value, err);
        }
    }
    return 0;
}

/* The job that it is for, as far as that goes without a program. */
static int make_spec(const struct template_options *options, const char *image, struct spec *ret,
                     struct err *err)
{
    int r = spec_set_image(ret, image, err);

    if (r == 0) {
        r = set_limit(ret, "memory", options->memory, err);
    }
    ret->cold_interpreter = options->cold;
    return r < 0 ? r : set_limit(ret, "vcpus", options->vcpus, err);
}

static int parse_patience(const char *text, uint64_t *ret, struct err *err)
{
    if (text != NULL &&
        (num_parse_duration(text, ret) < 0 || *ret < NS_PER_S || *ret > PATIENCE_MAX_NS)) {
        return err_set(err, ERR_USAGE, EINVAL, "--patience: give a time from 1s to 60m");
    }
    return 0;
}

/* A script's language is what its image was made for. */
static int find_language(const struct store *store, struct spec *spec, struct err *err)
{
    auto_image_manifest struct image_manifest m = {0};
    char name[IMAGE_NAME_MAX + 1];
    int r = 0;

    (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(spec->image, "@"), spec->image);
    r = store_read_image(store, name, &m, err);
    if (r == 0) {
        spec->language = strcmp(m.from, "javascript") == 0 ? SPEC_JAVASCRIPT : SPEC_PYTHON;
    }
    return r;
}

/* So that the machine's slot is given back: what dies by a signal leaves that to the next job. */
static int catch_signals(struct err *err)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction act = {.sa_handler = on_signal};

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        if (sigaction(numbers[i], &act, NULL) < 0) {
            return err_sys(err, "handle signal %d", numbers[i]);
        }
    }
    return 0;
}

static int print_built(const struct template_options *options, const struct template_prepared *t,
                       uint64_t ns)
{
    if (options->json) {
        return print_json(json_pack("{s:s, s:b, s:b, s:s, s:s, s:I, s:I}", "key", t->key.hex,
                                    "built", (int)t->built, "warm", (int)t->warm, "image", t->image,
                                    "engine", t->engine, "memory_bytes",
                                    (json_int_t)t->machine_bytes, "ns", (json_int_t)ns));
    }
    (void)printf(t->built ? "%s  built in %.1f s\n" : "%s  was there already\n", t->key.hex,
                 (double)ns / (double)NS_PER_S);
    return flush_stdout();
}

static int run_build(int argc, char **argv)
{
    static const struct build_progress progress = {.step = say_image};
    struct template_watch watch = {.stop = was_signaled, .progress = say_step};
    struct template_options options = {0};
    struct opt_rest rest = {0};
    struct template_prepared t = {.built = false};
    auto_store struct store store = STORE_INIT;
    auto_spec struct spec spec = {0};
    struct err err = ERR_INIT;
    uint64_t begun = 0;
    int code = 0;
    int r = 0;

    if (!opt_start(&build_cmd, argc, argv, &options, &rest, &code)) {
        return code;
    }
    if (rest.n != 1) {
        return opt_mistake(&build_cmd, "give one IMAGE: python, javascript, or see: airlock image "
                                       "list");
    }
    spec_init(&spec);
    r = make_spec(&options, rest.operands[0], &spec, &err);
    if (r == 0) {
        r = parse_patience(options.patience, &watch.boot_ns, &err);
    }
    if (r == 0) {
        r = store_open(options.state, &store, &err);
    }
    if (r == 0) {
        r = build_ensure(&store, spec.image, &progress, &err);
    }
    if (r == 0) {
        r = find_language(&store, &spec, &err);
    }
    if (r == 0) {
        r = catch_signals(&err);
    }
    begun = clock_mono_ns();
    watch.ctx = spec.image;
    if (r == 0) {
        r = template_prepare(&store, &spec, &watch, &t, &err);
    }
    return r < 0 ? complain(&build_cmd, &err) : print_built(&options, &t, clock_mono_ns() - begun);
}

/* --- list, verify --- */

/* "3 days"; a clock that went back counts as new. */
static const char *age(uint64_t since, char ret[32])
{
    time_t now = time(NULL);
    uint64_t s = now > 0 && (uint64_t)now > since ? (uint64_t)now - since : 0;

    if (s >= 2 * 86400ull) {
        (void)snprintf(ret, 32, "%" PRIu64 " days", s / 86400);
    } else if (s >= 2 * 3600ull) {
        (void)snprintf(ret, 32, "%" PRIu64 " hours", s / 3600);
    } else if (s >= 2 * 60ull) {
        (void)snprintf(ret, 32, "%" PRIu64 " min", s / 60);
    } else {
        (void)snprintf(ret, 32, "%" PRIu64 " s", s);
    }
    return ret;
}

static json_t *item_json(const struct template_item *t)
{
    const struct template_footer *f = &t->footer;
    json_t *o =
        json_pack("{s:s, s:s, s:I, s:I}", "key", t->key.hex, "state", template_state_name(t->state),
                  "disk_bytes", (json_int_t)t->disk_bytes, "used", (json_int_t)t->used);

    if (o != NULL && t->why[0] != '\0') {
        (void)json_object_set_new(o, "why", json_string(t->why));
    }
    if (o != NULL && t->state != TEMPLATE_DAMAGED) {
        json_t *more =
            json_pack("{s:b, s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "warm", (int)f->interpreter.waits,
                      "image", f->image, "image_sha256", f->root.hex, "engine", f->engine,
                      "memory_bytes", (json_int_t)f->memory_bytes, "vcpus", (json_int_t)f->vcpus,
                      "built", (json_int_t)f->built, "writes_bytes", (json_int_t)f->writes_bytes);

        (void)json_object_update(o, more);
        json_decref(more);
    }
    return o;
}

static void print_row(const struct template_item *t)
{
    static const char *const states[] = {
        [TEMPLATE_GOOD] = "good",
        [TEMPLATE_OTHER_BOOT] = "of another boot, not used any more",
        [TEMPLATE_DAMAGED] = "damaged",
    };
    const struct template_footer *f = &t->footer;
    char old[32];
    char used[32];

    (void)age(t->used, used);
    (void)printf("%.*s  ", KEY_SHOWN, t->key.hex);
    if (t->state != TEMPLATE_DAMAGED) {
        (void)printf("%-12s %.12s  %5" PRIu64 " MiB  %" PRIu64 " vCPU  %-4s %s  %4" PRIu64
                     " MB on disk  made %s ago, used %s ago  %s\n",
                     f->image, f->root.hex, (uint64_t)(f->memory_bytes / MIB), f->vcpus, f->engine,
                     f->interpreter.waits ? "warm" : "cold", (t->disk_bytes + 500000) / 1000000,
                     age(f->built, old), used, states[t->state]);
    } else {
        (void)printf("%4" PRIu64 " MB on disk  used %s ago  %s: %s\n",
                     (t->disk_bytes + 500000) / 1000000, used, states[t->state], t->why);
    }
}

static int run_list(int argc, char **argv)
{
    struct template_options options = {0};
    struct opt_rest rest = {0};
    auto_store struct store store = STORE_INIT;
    auto_free struct template_item *items = NULL;
    struct err err = ERR_INIT;
    json_t *list = NULL;
    size_t n = 0;
    int code = 0;

    if (!opt_start(&list_cmd, argc, argv, &options, &rest, &code)) {
        return code;
    }
    if (rest.n > 0) {
        return opt_mistake(&list_cmd, "unexpected argument '%.64s'", rest.operands[0]);
    }
    if (store_open(options.state, &store, &err) < 0 ||
        template_list(&store, &items, &n, &err) < 0) {
        return complain(&list_cmd, &err);
    }
    list = options.json ? json_array() : NULL;
    for (size_t i = 0; i < n; i++) {
        if (options.json) {
            (void)json_array_append_new(list, item_json(&items[i]));
        } else {
            print_row(&items[i]);
        }
    }
    if (options.json) {
        return print_json(json_pack("{s:o}", "templates", list));
    }
    if (n == 0) {
        (void)printf("no templates\n");
    }
    return flush_stdout();
}

/* The keys of the operands, or all there are. Owned by the caller (free). */
static int find_keys(const struct store *store, const struct opt_rest *rest, struct digest **ret,
                     size_t *ret_n, struct err *err)
{
    auto_free struct template_item *items = NULL;
    auto_free struct digest *keys = NULL;
    size_t n = rest->n;
    int r = rest->n == 0 ? template_list(store, &items, &n, err) : 0;

    if (r < 0) {
        return r;
    }
    keys = calloc(n + 1, sizeof(*keys));
    if (keys == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < n && r == 0; i++) {
        if (items != NULL) {
            keys[i] = items[i].key;
        } else {
            r = template_find(store, rest->operands[i], &keys[i], err);
        }
    }
    if (r == 0) {
        *ret = STEAL_PTR(&keys);
        *ret_n = n;
    }
    return r;
}

/* 0, EXIT_FAILED if it is damaged; list gets its object with --json. */
static int verify_one(const struct store *store, const struct template_options *options,
                      const struct digest *key, json_t *list)
{
    struct template_item item = {.disk_bytes = 0};
    struct err err = ERR_INIT;
    bool removed = false;
    int r = template_verify(store, key, &item, &err);

    if (r == -ENOENT) {
        return EXIT_SUCCESS; /* removed since it was listed: nothing to be damaged */
    }
    if (r == 0 && options->rm && item.state == TEMPLATE_DAMAGED) {
        r = template_remove(store, key, &err);
        removed = r == 0;
    }
    if (r < 0) {
        return complain(&verify_cmd, &err);
    }
    if (options->json) {
        json_t *o = item_json(&item);

        (void)json_object_set_new(o, "removed", json_boolean(removed));
        (void)json_array_append_new(list, o);
    } else {
        (void)printf("%.*s  %s%s%s%s\n", KEY_SHOWN, key->hex,
                     item.state == TEMPLATE_DAMAGED      ? "damaged: "
                     : item.state == TEMPLATE_OTHER_BOOT ? "ok, but "
                                                         : "ok",
                     item.why, removed ? "; removed" : "",
                     item.state == TEMPLATE_DAMAGED && !removed
                         ? "; remove it with: airlock template verify --rm"
                         : "");
    }
    return item.state == TEMPLATE_DAMAGED ? EXIT_FAILED : EXIT_SUCCESS;
}

static int run_verify(int argc, char **argv)
{
    struct template_options options = {0};
    struct opt_rest rest = {0};
    auto_store struct store store = STORE_INIT;
    auto_free struct digest *keys = NULL;
    struct err err = ERR_INIT;
    json_t *list = NULL;
    size_t n = 0;
    int code = 0;
    int r = 0;

    if (!opt_start(&verify_cmd, argc, argv, &options, &rest, &code)) {
        return code;
    }
    if (store_open(options.state, &store, &err) < 0 ||
        find_keys(&store, &rest, &keys, &n, &err) < 0) {
        return complain(&verify_cmd, &err);
    }
    list = options.json ? json_array() : NULL;
    for (size_t i = 0; i < n; i++) {
        int one = verify_one(&store, &options, &keys[i], list);

        code = code != EXIT_SUCCESS ? code : one;
    }
    r = options.json ? print_json(json_pack("{s:o}", "templates", list)) : flush_stdout();
    return code != EXIT_SUCCESS ? code : r;
}

static int run_rm(int argc, char **argv)
{
    struct template_options options = {0};
    struct opt_rest rest = {0};
    auto_store struct store store = STORE_INIT;
    auto_free struct digest *keys = NULL;
    struct err err = ERR_INIT;
    size_t n = 0;
    int code = 0;

    if (!opt_start(&rm_cmd, argc, argv, &options, &rest, &code)) {
        return code;
    }
    if (options.all == (rest.n > 0)) {
        return opt_mistake(&rm_cmd, "which? give KEYs or --all; see: airlock template list");
    }
    if (store_open(options.state, &store, &err) < 0 ||
        find_keys(&store, &rest, &keys, &n, &err) < 0) {
        return complain(&rm_cmd, &err);
    }
    for (size_t i = 0; i < n; i++) {
        if (template_remove(&store, &keys[i], &err) < 0) {
            return complain(&rm_cmd, &err);
        }
    }
    return EXIT_SUCCESS;
}

int cmd_template(int argc, char **argv)
{
    static const struct opt_sub subs[] = {
        {"build", "boot and save the machine that jobs of an image start from", run_build},
        {"list", "list the templates", run_list},
        {"verify", "compare templates with their digests", run_verify},
        {"rm", "remove templates", run_rm},
    };

    return opt_dispatch(
        "airlock template",
        "Builds and keeps templates: saved states of machines that booted and have no job yet.\n"
        "Every job's machine starts from one.",
        subs, ARRAY_LEN(subs), argc, argv);
}
