#include "cli/cmd-image.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/str.h"

#include "cli/opt.h"
#include "image/build.h"
#include "image/store.h"
#include "image/upkeep.h"

#define EXIT_FAILED 1 /* something is outdated or corrupt, or the work failed */
#define LIST_ROOM   512u
#define KERNEL      "kernel"

static const char *const builtin_images[] = {"python", "javascript"};

struct image_options {
    const char *state;
    const char *from;
    const char *packages;
    bool json;
};

#define OPT_STATE                                            \
    OPT_VALUE("state", "DIR", struct image_options, state,   \
              "where images and the guest kernel are kept\n" \
              "(default: /var/lib/airlock as root, ~/.local/share/airlock otherwise)")
#define OPT_JSON OPT_FLAG("json", struct image_options, json, "print the same as JSON")

static const struct opt state_opts[] = {OPT_STATE};
static const struct opt json_opts[] = {OPT_STATE, OPT_JSON};
static const struct opt build_opts[] = {
    OPT_STATE,
    OPT_VALUE("from", "BASE", struct image_options, from,
              "what image NAME starts from: python or javascript"),
    OPT_VALUE("packages", "A,B,...", struct image_options, packages,
              "further Debian packages to put into it (python3-numpy,...)"),
};

/* What is damaged is no mistake of the command line's. */
static int complain(const struct opt_cmd *cmd, const struct err *err)
{
    int r = opt_fail(cmd, err);

    return err->errnum == EBADMSG ? EXIT_FAILED : r;
}

static void say(void *ctx, const char *text)
{
    (void)ctx;
    (void)fprintf(stderr, "airlock: %s ...\n", text);
}

static const struct build_progress progress = {.step = say};

static int flush_stdout(void)
{
    return fflush(stdout) == 0 && ferror(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILED;
}

/* Takes the reference. */
static int print_json(json_t *json_take)
{
    char *text = json_take != NULL ? json_dumps(json_take, JSON_INDENT(1)) : NULL;
    int r = text != NULL && puts(text) >= 0 ? flush_stdout() : EXIT_FAILED;

    free(text);
    json_decref(json_take);
    return r;
}

/* "a,b,c" into pointers to its parts; the text is cut up. */
static int split_packages(char *text, const char **list, size_t room, struct err *err)
{
    size_t n = 0;

    while (text != NULL) {
        char *one = strsep(&text, ",");

        if (n + 1 >= room) {
            return err_usage(err, "--packages: more than %zu packages", room - 1);
        }
        if (!package_name_is_valid(one)) {
            return err_usage(err, "--packages: '%.128s' is not the name of a Debian package", one);
        }
        list[n++] = one;
    }
    list[n] = NULL;
    return 0;
}

static int build_builtin(struct store *store, struct err *err)
{
    int r = build_kernel(store, &progress, err);

    for (size_t i = 0; r == 0 && i < ARRAY_LEN(builtin_images); i++) {
        r = build_image(store, &(struct build_request){.name = builtin_images[i]}, &progress, err);
    }
    return r;
}

static int build_one(struct store *store, const char *name, const struct image_options *options,
                     struct err *err)
{
    auto_free char *text = NULL;
    const char *packages[LIST_ROOM] = {NULL};
    struct build_request req = {.name = name, .from = options->from, .packages = packages};
    int r = 0;

    if (strcmp(name, KERNEL) == 0) {
        if (options->from != NULL || options->packages != NULL) {
            return err_usage(err, "the guest kernel takes neither --from nor --packages");
        }
        return build_kernel(store, &progress, err);
    }
    if (options->packages != NULL) {
        text = strdup(options->packages);
        if (text == NULL) {
            return err_set(err, ERR_HOST, ENOMEM, "out of memory");
        }
        r = split_packages(text, packages, LIST_ROOM, err);
    }
    return r < 0 ? r : build_image(store, &req, &progress, err);
}

static int image_build(int argc, char **argv)
{
    static const struct opt_cmd cmd = {
        .name = "airlock image build",
        .usage = "[options]\nNAME [options]\nNAME --from BASE [--packages A,B,...]",
        .about =
            "Builds the guest kernel (NAME is kernel), an image, or without NAME the kernel and\n"
            "the built-in images python and javascript, from this host's Debian sources.",
        .opts = build_opts,
        .n_opts = ARRAY_LEN(build_opts),
    };
    struct image_options options = {0};
    struct opt_rest rest = {0};
    auto_store struct store store = STORE_INIT;
    struct err err = ERR_INIT;
    int exit_code = 0;
    int r = 0;

    if (!opt_start(&cmd, argc, argv, &options, &rest, &exit_code)) {
        return exit_code;
    }
    if (rest.n > 1) {
        return opt_mistake(&cmd, "one image at a time: unexpected '%.64s'", rest.operands[1]);
    }
    if (rest.n == 0 && (options.from != NULL || options.packages != NULL)) {
        return opt_mistake(&cmd, "--from and --packages need the NAME of the new image");
    }
    if (options.packages != NULL && options.from == NULL) {
        return opt_mistake(&cmd, "--packages needs --from python or --from javascript");
    }
    r = store_open(options.state, &store, &err);
    if (r == 0) {
        r = rest.n == 0 ? build_builtin(&store, &err)
                        : build_one(&store, rest.operands[0], &options, &err);
    }
    return r < 0 ? complain(&cmd, &err) : EXIT_SUCCESS;
}

/* "3 days"; a clock that went back counts as new. */
static void age_of(uint64_t created, char *ret, size_t size)
{
    time_t now = time(NULL);
    uint64_t s = now > 0 && (uint64_t)now > created ? (uint64_t)now - created : 0;

    if (s >= 2 * 86400ull) {
        (void)snprintf(ret, size, "%" PRIu64 " days", s / 86400);
    } else if (s >= 2 * 3600ull) {
        (void)snprintf(ret, size, "%" PRIu64 " hours", s / 3600);
    } else {
        (void)snprintf(ret, size, "%" PRIu64 " min", s / 60);
    }
}

static json_t *package_json(const struct package *p)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", p->name, "version", p->version, "arch",
                     p->arch, "suite", p->suite, "sha256", p->sha256.hex);
}

static json_t *kernel_json(const struct kernel_manifest *m)
{
    uint64_t bytes = m->vmlinuz.bytes + m->initramfs.bytes;

    return json_pack("{s:o, s:I, s:s, s:s, s:s, s:I}", "package", package_json(&m->package),
                     "created", (json_int_t)m->created, "kernel", m->vmlinuz.digest.hex,
                     "initramfs", m->initramfs.digest.hex, "agent", m->agent.hex, "bytes",
                     (json_int_t)bytes);
}

static json_t *image_json(const struct image_manifest *m)
{
    json_t *packages = json_array();

    for (size_t i = 0; i < m->packages.n; i++) {
        (void)json_array_append_new(packages, package_json(&m->packages.v[i]));
    }
    return json_pack("{s:s, s:s, s:I, s:s, s:I, s:o}", "name", m->name, "from", m->from, "created",
                     (json_int_t)m->created, "sha256", m->root.digest.hex, "bytes",
                     (json_int_t)m->root.bytes, "packages", packages);
}

static void print_row(const char *name, uint64_t created, uint64_t bytes, const char *hex,
                      const char *what)
{
    char age[32];

    age_of(created, age, sizeof(age));
    (void)printf("%-16s %-9s %5" PRIu64 " MB  sha256:%.12s  %s\n", name, age,
                 (bytes + 500000) / 1000000, hex, what);
}

/* The kernel's line of the listing; with json into root. One that was never built is left out. */
static int list_kernel(const struct store *store, json_t *root, struct err *err)
{
    auto_kernel_manifest struct kernel_manifest m = {0};
    struct err why = ERR_INIT;
    char what[400];
    int r = store_read_kernel(store, &m, &why);

    if (r == -ENOENT) {
        return 0;
    }
    if (r < 0) {
        *err = why;
        return r;
    }
    if (root != NULL) {
        (void)json_object_set_new(root, "kernel", kernel_json(&m));
        return 0;
    }
    (void)snprintf(what, sizeof(what), "%s %s", m.package.name, m.package.version);
    print_row(KERNEL, m.created, m.vmlinuz.bytes + m.initramfs.bytes, m.vmlinuz.digest.hex, what);
    return 0;
}

static int list_image(const struct store *store, const char *name, json_t *images, struct err *err)
{
    auto_image_manifest struct image_manifest m = {0};
    char what[128];
    int r = store_read_image(store, name, &m, err);

    if (r < 0) {
        return r;
    }
    if (images != NULL) {
        (void)json_array_append_new(images, image_json(&m));
        return 0;
    }
    (void)snprintf(what, sizeof(what), "%zu packages, from %.64s", m.packages.n, m.from);
    print_row(m.name, m.created, m.root.bytes, m.root.digest.hex, what);
    return 0;
}

static int image_list(int argc, char **argv)
{
    static const struct opt_cmd cmd = {
        .name = "airlock image list",
        .usage = "[options]",
        .about = "Lists what is built: name, age, size, digest and what it was made of.",
        .opts = json_opts,
        .n_opts = ARRAY_LEN(json_opts),
    };
    struct image_options options = {0};
    struct opt_rest rest = {0};
    auto_store struct store store = STORE_INIT;
    auto_store_list char **names = NULL;
    struct err err = ERR_INIT;
    json_t *root = NULL;
    json_t *images = NULL;
    int exit_code = 0;
    int r = 0;

    if (!opt_start(&cmd, argc, argv, &options, &rest, &exit_code)) {
        return exit_code;
    }
    if (rest.n > 0) {
        return opt_mistake(&cmd, "unexpected argument '%.64s'", rest.operands[0]);
    }
    r = store_open(options.state, &store, &err);
    if (r == 0) {
        r = store_list(&store, &names, &err);
    }
    if (r != 0) {
        return complain(&cmd, &err);
    }
    if (options.json) {
        images = json_array();
        root = json_pack("{s:n, s:O}", "kernel", "images", images);
        json_decref(images);
    }
    exit_code = EXIT_SUCCESS;
    if (list_kernel(&store, root, &err) < 0) {
        exit_code = complain(&cmd, &err);
    }
    for (size_t i = 0; names[i] != NULL; i++) {
        err = (struct err)ERR_INIT;
        if (list_image(&store, names[i], images, &err) < 0) {
            exit_code = complain(&cmd, &err);
        }
    }
    r = options.json ? print_json(root) : flush_stdout();
    return exit_code != EXIT_SUCCESS ? exit_code : r;
}

static int verify_one(const struct opt_cmd *cmd, const struct store *store, const char *name)
{
    struct err err = ERR_INIT;

    if (upkeep_verify(store, name, &err) < 0) {
        return complain(cmd, &err);
    }
    (void)printf("%s: ok\n", name);
    return EXIT_SUCCESS;
}

static int image_verify(int argc, char **argv)
{
    static const struct opt_cmd cmd = {
        .name = "airlock image verify",
        .usage = "[NAME] [options]",
        .about = "Reads an image (or kernel), or all there are, and compares every digest.",
        .opts = state_opts,
        .n_opts = ARRAY_LEN(state_opts),
    };
    struct image_options options = {0};
    struct opt_rest rest = {0};
    auto_store struct store store = STORE_INIT;
    auto_store_list char **names = NULL;
    struct err err = ERR_INIT;
    int exit_code = 0;
    int r = 0;

    if (!opt_start(&cmd, argc, argv, &options, &rest, &exit_code)) {
        return exit_code;
    }
    if (rest.n > 1) {
        return opt_mistake(&cmd, "one image or all: unexpected '%.64s'", rest.operands[1]);
    }
    r = store_open(options.state, &store, &err);
    if (r == 0) {
        r = store_list(&store, &names, &err);
    }
    if (r != 0) {
        return complain(&cmd, &err);
    }
    exit_code = verify_one(&cmd, &store, rest.n == 1 ? rest.operands[0] : KERNEL);
    for (size_t i = 0; rest.n == 0 && names[i] != NULL; i++) {
        int one = verify_one(&cmd, &store, names[i]);

        exit_code = exit_code != EXIT_SUCCESS ? exit_code : one;
    }
    r = flush_stdout();
    return exit_code != EXIT_SUCCESS ? exit_code : r;
}

static int image_rm(int argc, char **argv)
{
    static const struct opt_cmd cmd = {
        .name = "airlock image rm",
        .usage = "NAME [options]",
        .about = "Removes an image (or kernel) and what only it used. Machines that run keep it.",
        .opts = state_opts,
        .n_opts = ARRAY_LEN(state_opts),
    };
    struct image_options options = {0};
    struct opt_rest rest = {0};
    auto_store struct store store = STORE_INIT;
    struct err err = ERR_INIT;
    int exit_code = 0;
    int r = 0;

    if (!opt_start(&cmd, argc, argv, &options, &rest, &exit_code)) {
        return exit_code;
    }
    if (rest.n != 1) {
        return opt_mistake(&cmd, "which image? give one NAME; see: airlock image list");
    }
    r = store_open(options.state, &store, &err);
    if (r == 0) {
        r = upkeep_remove(&store, rest.operands[0], &progress, &err);
    }
    return r < 0 ? complain(&cmd, &err) : EXIT_SUCCESS;
}

static json_t *outdated_json(const struct outdated *list)
{
    json_t *packages = json_array();

    for (size_t i = 0; i < list->n; i++) {
        const struct outdated_package *p = &list->v[i];

        (void)json_array_append_new(packages,
                                    json_pack("{s:s, s:s, s:s, s:s, s:b}", "image", p->image,
                                              "package", p->package, "have", p->have, "available",
                                              p->available, "security", (int)p->security));
    }
    return json_pack("{s:o}", "outdated", packages);
}

static int image_outdated(int argc, char **argv)
{
    static const struct opt_cmd cmd = {
        .name = "airlock image outdated",
        .usage = "[options]",
        .about =
            "Fetches Debian's package lists and says what has newer packages now, and which of\n"
            "them are security updates.",
        .epilog = "Exit codes: 0 nothing is outdated, 1 something is or it failed, 2 wrong command "
                  "line.",
        .opts = json_opts,
        .n_opts = ARRAY_LEN(json_opts),
    };
    struct image_options options = {0};
    struct opt_rest rest = {0};
    auto_store struct store store = STORE_INIT;
    auto_outdated struct outdated list = {0};
    struct err err = ERR_INIT;
    int exit_code = 0;
    int r = 0;

    if (!opt_start(&cmd, argc, argv, &options, &rest, &exit_code)) {
        return exit_code;
    }
    if (rest.n > 0) {
        return opt_mistake(&cmd, "unexpected argument '%.64s'", rest.operands[0]);
    }
    r = store_open(options.state, &store, &err);
    if (r == 0) {
        r = upkeep_outdated(&store, true, &progress, &list, &err);
    }
    if (r < 0) {
        return complain(&cmd, &err);
    }
    exit_code = list.n > 0 ? EXIT_FAILED : EXIT_SUCCESS;
    if (options.json) {
        r = print_json(outdated_json(&list));
    } else {
        for (size_t i = 0; i < list.n; i++) {
            const struct outdated_package *p = &list.v[i];

            (void)printf("%s: %s %s -> %s%s\n", p->image, p->package,
                         p->have[0] != '\0' ? p->have : "(new)", p->available,
                         p->security ? "  SECURITY" : "");
        }
        (void)printf(list.n > 0 ? "outdated; bring it up to date with: airlock image update\n"
                                : "everything is up to date\n");
        r = flush_stdout();
    }
    return exit_code != EXIT_SUCCESS ? exit_code : r;
}

static int image_update(int argc, char **argv)
{
    static const struct opt_cmd cmd = {
        .name = "airlock image update",
        .usage = "[options]",
        .about =
            "Rebuilds the kernel and images that have newer packages in Debian's archive. The\n"
            "old ones stay in use until the new ones are complete.",
        .opts = state_opts,
        .n_opts = ARRAY_LEN(state_opts),
    };
    struct image_options options = {0};
    struct opt_rest rest = {0};
    auto_store struct store store = STORE_INIT;
    struct err err = ERR_INIT;
    size_t n = 0;
    int exit_code = 0;
    int r = 0;

    if (!opt_start(&cmd, argc, argv, &options, &rest, &exit_code)) {
        return exit_code;
    }
    if (rest.n > 0) {
        return opt_mistake(&cmd, "unexpected argument '%.64s'", rest.operands[0]);
    }
    r = store_open(options.state, &store, &err);
    if (r == 0) {
        r = upkeep_update(&store, &progress, &n, &err);
    }
    if (r < 0) {
        return complain(&cmd, &err);
    }
    (void)printf("%zu rebuilt%s\n", n, n == 0 ? ", everything was up to date" : "");
    return flush_stdout();
}

int cmd_image(int argc, char **argv)
{
    static const struct opt_sub subs[] = {
        {"build", "build the kernel, an image, or all built-in ones", image_build},
        {"list", "list what is built", image_list},
        {"verify", "compare what is stored with its digests", image_verify},
        {"rm", "remove an image", image_rm},
        {"outdated", "say what Debian has newer packages for", image_outdated},
        {"update", "rebuild what is outdated", image_update},
    };

    return opt_dispatch(
        "airlock image",
        "Builds and keeps the guest kernel and the root images that programs run in.", subs,
        ARRAY_LEN(subs), argc, argv);
}
