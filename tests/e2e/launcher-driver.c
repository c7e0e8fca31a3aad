/*
 * A small front half for tests/e2e/cases_launcher.py: one JSON array per line on stdin is an order,
 * one line on stdout is its answer.
 *
 *   launcher-driver STATE POOL [USER]
 *
 *   ["start", SPEC, DIR]    SPEC as `airlock run --spec` takes it, outputs into DIR ("" = none);
 *                           answers {"pooled": ...}
 *   ["until", PHASE]        hears the job begun last until that phase begins
 *   ["cancel"]
 *   ["finish"]              hears it to its end: {"machine", "stdout", "result"}
 *   ["plan", N, SPEC]       the pool shall hold N machines for it
 *   ["text", WHAT, ID]      WHAT as in enum launcher_text
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/num.h"

#include "daemon/job.h"
#include "daemon/launcher.h"
#include "job/spec-wire.h"
#include "sup/pool.h"
#include "sys/fd.h"

#define ANSWER_MS 60000

struct driver {
    struct launcher *launcher;
    uint64_t number;
    struct sup sup;
    char machine[JOB_ID_SIZE];
    struct buf out, result;
    char phase[64];
};

static json_t *failure(const struct err *err)
{
    return json_pack("{s:s}", "error", err->msg);
}

static int await(struct driver *d, struct launcher_answer *ret, struct err *err)
{
    struct pollfd p = {.fd = launcher_fd(d->launcher), .events = POLLIN};
    int r = launcher_answer(d->launcher, ret, err);

    while (r == 0 && poll(&p, 1, ANSWER_MS) > 0) {
        r = launcher_answer(d->launcher, ret, err);
    }
    if (r == 0) {
        return err_set(err, ERR_HOST, ETIMEDOUT, "no answer within %d ms", ANSWER_MS);
    }
    if (r == 1 && (ret->failed != 0 || ret->number != d->number)) {
        r = err_set(err, ret->class, ret->failed, "answer %llu: %.900s",
                    (unsigned long long)ret->number, ret->why);
        launcher_answer_fini(ret);
    }
    return r;
}

static int take_spec(json_t *json, struct spec *spec, struct err *err)
{
    const char *text = json_string_value(json);
    int r = 0;

    spec_init(spec);
    if (text == NULL) {
        return err_usage(err, "a specification is a string");
    }
    r = spec_from_json(spec, text, strlen(text), err);
    return r < 0 ? r : spec_check(spec, err);
}

static int encode(json_t *json, int *ret_fd, struct err *err)
{
    auto_spec struct spec spec;
    auto_buf struct buf text = BUF_INIT(SPEC_WIRE_MAX);
    auto_fd int fd = memfd_create("spec", MFD_CLOEXEC);
    int r = take_spec(json, &spec, err);

    if (r == 0) {
        r = spec_encode(&spec, &text, err);
    }
    if (r == 0) {
        r = fd_write_full(fd, text.data, text.len, err);
    }
    if (r == 0) {
        *ret_fd = STEAL_FD(&fd);
    }
    return r;
}

static json_t *do_start(struct driver *d, json_t *order)
{
    const char *dir = json_string_value(json_array_get(order, 2));
    struct launcher_answer a = {.number = 0};
    auto_fd int spec_fd = -1;
    auto_fd int dir_fd = -1;
    struct err err = ERR_INIT;

    sup_fini(&d->sup);
    d->sup = (struct sup)SUP_INIT;
    d->out.len = d->result.len = 0;
    d->machine[0] = d->phase[0] = '\0';
    if (dir != NULL && dir[0] != '\0' &&
        fd_open(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0, &dir_fd, &err) < 0) {
        return failure(&err);
    }
    if (encode(json_array_get(order, 1), &spec_fd, &err) < 0 ||
        launcher_ask_start(d->launcher, ++d->number, spec_fd, dir_fd, &err) < 0 ||
        await(d, &a, &err) < 0) {
        return failure(&err);
    }
    d->sup = a.sup;
    return json_pack("{s:b}", "pooled", a.pooled);
}

static void note(struct driver *d, const struct sup_event *ev)
{
    if (ev->kind == SUP_MACHINE) {
        (void)snprintf(d->machine, sizeof(d->machine), "%.*s", (int)ev->len,
                       (const char *)ev->data);
    } else if (ev->kind == SUP_PHASE) {
        (void)snprintf(d->phase, sizeof(d->phase), "%.*s", (int)ev->len, (const char *)ev->data);
    } else if (ev->kind == SUP_STDOUT) {
        (void)!buf_put(&d->out, ev->data, ev->len);
    } else if (ev->kind == SUP_RESULT) {
        (void)!buf_put(&d->result, ev->data, ev->len);
    }
}

/* To the end, or until a phase begins. */
static int hear(struct driver *d, const char *phase, struct err *err)
{
    struct pollfd p = {.fd = d->sup.fd, .events = POLLIN};

    while (!d->sup.finished && (phase == NULL || strcmp(d->phase, phase) != 0)) {
        struct sup_event ev = {0};
        int r = sup_try_next(&d->sup, &ev, err);

        if (r < 0) {
            return r;
        }
        if (r == 1) {
            note(d, &ev);
        } else if (!d->sup.finished && poll(&p, 1, ANSWER_MS * 3) <= 0) {
            return err_set(err, ERR_HOST, ETIMEDOUT, "the job says nothing");
        }
    }
    return 0;
}

static json_t *do_finish(struct driver *d)
{
    struct err err = ERR_INIT;

    if (hear(d, NULL, &err) < 0) {
        return failure(&err);
    }
    return json_pack(
        "{s:s, s:s%, s:o}", "machine", d->machine, "stdout",
        d->out.data != NULL ? (const char *)d->out.data : "", d->out.len, "result",
        json_loadb((const char *)d->result.data, d->result.len, JSON_REJECT_DUPLICATES, NULL));
}

static json_t *do_plan(struct driver *d, json_t *order)
{
    const struct spec *specs[POOL_MEMBERS_MAX];
    size_t n = (size_t)json_integer_value(json_array_get(order, 1));
    auto_spec struct spec spec;
    struct err err = ERR_INIT;

    if (take_spec(json_array_get(order, 2), &spec, &err) < 0) {
        return failure(&err);
    }
    for (size_t i = 0; i < n && i < POOL_MEMBERS_MAX; i++) {
        specs[i] = &spec;
    }
    return launcher_plan(d->launcher, specs, n, &err) < 0 ? failure(&err) : json_object();
}

static json_t *do_text(struct driver *d, json_t *order)
{
    struct launcher_answer a = {.number = 0};
    struct err err = ERR_INIT;
    json_t *json = NULL;

    if (launcher_ask_text(d->launcher, ++d->number,
                          (enum launcher_text)json_integer_value(json_array_get(order, 1)),
                          json_string_value(json_array_get(order, 2)), &err) < 0 ||
        await(d, &a, &err) < 0) {
        return failure(&err);
    }
    json = json_loadb((const char *)a.text.data, a.text.len, JSON_REJECT_DUPLICATES, NULL);
    launcher_answer_fini(&a);
    return json;
}

static json_t *obey(struct driver *d, json_t *order)
{
    const char *word = json_string_value(json_array_get(order, 0));
    struct err err = ERR_INIT;

    if (word == NULL) {
        return json_pack("{s:s}", "error", "an order is an array that begins with a word");
    }
    if (strcmp(word, "start") == 0) {
        return do_start(d, order);
    }
    if (strcmp(word, "until") == 0) {
        return hear(d, json_string_value(json_array_get(order, 1)), &err) < 0 ? failure(&err)
                                                                              : json_object();
    }
    if (strcmp(word, "cancel") == 0) {
        sup_cancel(&d->sup);
        return json_object();
    }
    if (strcmp(word, "finish") == 0) {
        return do_finish(d);
    }
    if (strcmp(word, "plan") == 0) {
        return do_plan(d, order);
    }
    if (strcmp(word, "text") == 0) {
        return do_text(d, order);
    }
    return json_pack("{s:s}", "error", "this order is not known");
}

static void serve(struct driver *d)
{
    char *line = NULL;
    size_t room = 0;

    while (getline(&line, &room, stdin) > 0) {
        json_t *order = json_loads(line, 0, NULL);
        json_t *answer = obey(d, order);

        (void)json_dumpf(answer, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
        (void)fputc('\n', stdout);
        (void)fflush(stdout);
        json_decref(answer);
        json_decref(order);
    }
    free(line);
}

int main(int argc, char **argv)
{
    struct driver d = {.sup = SUP_INIT, .out = BUF_INIT(16 * MIB), .result = BUF_INIT(64 * MIB)};
    struct launcher_config config = {.pool_percent = 100};
    uint64_t pool = 0;
    struct err err = ERR_INIT;

    if (argc < 3 || num_parse_u64(argv[2], &pool) < 0) {
        (void)fprintf(stderr, "usage: launcher-driver STATE POOL [USER]\n");
        return 2;
    }
    config.state = argv[1];
    config.pool = (unsigned int)pool;
    config.user = argc > 3 ? argv[3] : NULL;
    if (launcher_start(&config, &d.launcher, &err) < 0 ||
        launcher_drop_privileges(config.user, &err) < 0 || launcher_confine(&err) < 0) {
        (void)fprintf(stderr, "launcher-driver: %s\n", err.msg);
        return 1;
    }
    serve(&d);
    sup_fini(&d.sup);
    buf_fini(&d.out);
    buf_fini(&d.result);
    launcher_free(d.launcher);
    return 0;
}
