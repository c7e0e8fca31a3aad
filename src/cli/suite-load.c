#include "cli/suite-load.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

#include "job/text.h"
#include "sys/fd.h"

/* In the object that suite/meson.build makes. */
extern const char suite_programs_start[];
extern const char suite_programs_end[];

void suite_cases_fini(struct suite_cases *cases)
{
    for (size_t i = 0; i < cases->n; i++) {
        suite_case_fini(&cases->list[i]);
    }
    free(cases->list);
    *cases = (struct suite_cases)SUITE_CASES_INIT;
}

static int append(struct suite_cases *cases, struct suite_case *take, struct err *err)
{
    struct suite_case *grown = NULL;

    if (cases->n >= SUITE_CASES_MAX) {
        return err_set(err, ERR_LIMIT, E2BIG, "more than %u cases", SUITE_CASES_MAX);
    }
    grown = reallocarray(cases->list, cases->n + 1, sizeof(*grown));
    if (grown == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    cases->list = grown;
    cases->list[cases->n++] = *take;
    *take = (struct suite_case){.after = SIZE_MAX};
    return 0;
}

struct loading {
    struct suite_cases *cases;
    suite_bad_fn *bad;
    void *ctx;
    size_t n_bad;
};

/* A file that is no case is told and counted; everything else is an error. */
static int take_file(struct loading *l, const char *path, const char *text, size_t len,
                     struct err *err)
{
    struct suite_case c = {.after = SIZE_MAX};
    struct err fault = ERR_INIT;
    int r = suite_case_parse(path, text, len, &c, &fault);

    if (r < 0 && fault.class == ERR_USAGE) {
        l->bad(l->ctx, &fault);
        l->n_bad++;
        return 0;
    }
    if (r < 0) {
        *err = fault;
        return r;
    }
    r = append(l->cases, &c, err);
    suite_case_fini(&c);
    return r;
}

static int by_path(const void *a, const void *b)
{
    const struct suite_case *x = a;
    const struct suite_case *y = b;

    return strcmp(x->path, y->path);
}

/* "basic/hello", or in "basic/12-hello" also "hello"'s number "12". */
static bool is_called(const struct suite_case *c, const char *name)
{
    const char *slash = strrchr(c->name, '/');
    const char *last = slash != NULL ? slash + 1 : c->name;
    size_t digits = strspn(last, "0123456789");

    return strcmp(c->name, name) == 0 || strcmp(last, name) == 0 || strcmp(c->path, name) == 0 ||
           (digits > 0 && last[digits] == '-' && strlen(name) == digits &&
            strncmp(last, name, digits) == 0);
}

/* Better: the same language, then the same family. */
static size_t find_before(const struct suite_cases *cases, const struct suite_case *c,
                          const char *name)
{
    size_t best = SIZE_MAX;
    int best_score = -1;

    for (size_t i = 0; i < cases->n; i++) {
        const struct suite_case *one = &cases->list[i];
        size_t family = strcspn(c->name, "/") + 1;
        int score = one->language == c->language ? 2 : 0;

        score += strncmp(one->name, c->name, family) == 0;
        if (is_called(one, name) && score > best_score) {
            best = i;
            best_score = score;
        }
    }
    return best;
}

/* A name has no blanks; "see 67" and sentences are for people. */
static bool is_remark(const char *after)
{
    return strchr(after, ' ') != NULL;
}

const char *suite_remark(const struct suite_case *c)
{
    const char *after = json_string_value(json_object_get(c->head, "after"));

    return after != NULL && is_remark(after) ? after : NULL;
}

static int link_after(struct suite_cases *cases, struct loading *l)
{
    for (size_t i = 0; i < cases->n; i++) {
        struct suite_case *c = &cases->list[i];
        const char *after = json_string_value(json_object_get(c->head, "after"));
        struct err fault = ERR_INIT;
        size_t steps = 0;

        if (after == NULL || is_remark(after)) {
            continue;
        }
        c->after = find_before(cases, c, after);
        for (size_t at = c->after; at != SIZE_MAX && steps <= cases->n; steps++) {
            at = cases->list[at].after;
        }
        if (c->after == SIZE_MAX || steps > cases->n) {
            (void)err_usage(&fault, "%s: key 'after': %s '%s'", text_of_str(c->path).s,
                            c->after == SIZE_MAX ? "there is no case" : "a circle by",
                            text_of_str(after).s);
            l->bad(l->ctx, &fault);
            l->n_bad++;
            c->after = SIZE_MAX;
        }
    }
    return 0;
}

/* *cases becomes the caller's if all is well. */
static int finish(struct loading *l, struct suite_cases *ret, struct err *err)
{
    if (l->cases->n > 0) {
        qsort(l->cases->list, l->cases->n, sizeof(*l->cases->list), by_path);
        (void)link_after(l->cases, l);
    }
    if (l->n_bad > 0) {
        return err_usage(err, "%zu file%s of the suite can't be judged; mend the first line",
                         l->n_bad, l->n_bad == 1 ? "" : "s");
    }
    if (l->cases->n == 0) {
        return err_usage(err, "there is no case");
    }
    *ret = *l->cases;
    *l->cases = (struct suite_cases)SUITE_CASES_INIT;
    return 0;
}

/* Parses "PATH LENGTH\n" at the front of len bytes; returns the line's length, 0 if it is none. */
static size_t take_line(const char *at, size_t len, char **ret_path, uint64_t *ret_bytes)
{
    const char *end = memchr(at, '\n', len);
    auto_free char *line = end != NULL ? strndup(at, (size_t)(end - at)) : NULL;
    char *blank = line != NULL ? strrchr(line, ' ') : NULL;
    size_t taken = 0;

    if (blank == NULL || num_parse_u64(blank + 1, ret_bytes) < 0) {
        return 0;
    }
    taken = (size_t)(end + 1 - at);
    *blank = '\0';
    *ret_path = STEAL_PTR(&line);
    return taken;
}

int suite_unpack(const char *packed, size_t len, suite_bad_fn *bad, void *ctx,
                 struct suite_cases *ret, struct err *err)
{
    auto_suite_cases struct suite_cases cases = {.pairs = true};
    struct loading l = {.cases = &cases, .bad = bad, .ctx = ctx};
    size_t at = 0;
    int r = 0;

    while (at < len && r == 0) {
        auto_free char *path = NULL;
        uint64_t bytes = 0;
        size_t line = take_line(packed + at, len - at, &path, &bytes);

        if (line == 0 || bytes > len - at - line) {
            return err_set(err, ERR_HOST, EBADMSG, "the packed suite is damaged at byte %zu", at);
        }
        r = take_file(&l, path, packed + at + line, bytes, err);
        at += line + bytes;
    }
    return r < 0 ? r : finish(&l, ret, err);
}

static int read_program(struct loading *l, const FTSENT *ent, const char *path, struct err *err)
{
    auto_buf struct buf text = BUF_INIT(SUITE_PROGRAM_MAX);
    auto_fd int fd = -1;
    int r = fd_open(AT_FDCWD, ent->fts_accpath, O_RDONLY | O_NOFOLLOW | O_NOCTTY, 0, &fd, err);

    if (r == 0) {
        r = fd_read_all(fd, path, &text, err);
    }
    return r < 0 ? r
                 : take_file(l, path, text.data != NULL ? (char *)text.data : "", text.len, err);
}

static void fts_close_p(FTS **fts)
{
    if (*fts != NULL) {
        (void)fts_close(*fts);
    }
}

static int load_dir(const char *dir, struct loading *l, struct err *err)
{
    auto_free char *root = strdup(dir);
    char *const roots[] = {root, NULL};
    __attribute__((cleanup(fts_close_p))) FTS *fts = NULL;
    size_t lead = strlen(dir);
    FTSENT *ent = NULL;

    if (root == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (fts == NULL) {
        return err_sys(err, "--cases '%s'", text_of_str(dir).s);
    }
    while ((ent = fts_read(fts)) != NULL) {
        const char *path = ent->fts_path + lead;
        int r = 0;

        if (ent->fts_info == FTS_DNR || ent->fts_info == FTS_ERR || ent->fts_info == FTS_NS) {
            return err_set(err, ERR_USAGE, ent->fts_errno, "--cases: '%s': %s",
                           text_of_str(ent->fts_path).s, strerrordesc_np(ent->fts_errno));
        }
        if (ent->fts_level == 0 && ent->fts_info != FTS_D && ent->fts_info != FTS_DP) {
            return err_usage(err, "--cases '%s' is not a directory", text_of_str(dir).s);
        }
        if (!suite_is_program(ent->fts_name) || ent->fts_info == FTS_D || ent->fts_info == FTS_DP) {
            continue;
        }
        if (ent->fts_info != FTS_F) {
            return err_usage(err, "--cases: '%s' is no regular file; put the program itself there",
                             text_of_str(ent->fts_path).s);
        }
        path += strspn(path, "/");
        r = read_program(l, ent, path, err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

int suite_load(const char *dir, suite_bad_fn *bad, void *ctx, struct suite_cases *ret,
               struct err *err)
{
    auto_suite_cases struct suite_cases cases = SUITE_CASES_INIT;
    struct loading l = {.cases = &cases, .bad = bad, .ctx = ctx};
    size_t packed = (uintptr_t)suite_programs_end - (uintptr_t)suite_programs_start;
    int r = 0;

    if (dir == NULL) {
        return suite_unpack(suite_programs_start, packed, bad, ctx, ret, err);
    }
    r = load_dir(dir, &l, err);
    return r < 0 ? r : finish(&l, ret, err);
}

static bool chosen(const struct suite_case *c, const struct suite_choice *choice,
                   const regex_t *filter)
{
    bool language = c->language == SPEC_PYTHON ? choice->python : choice->javascript;

    return language && (!choice->quick || json_is_true(json_object_get(c->head, "quick"))) &&
           (filter == NULL || regexec(filter, c->path, 0, NULL, 0) == 0);
}

int suite_select(struct suite_cases *cases, const struct suite_choice *choice, struct err *err)
{
    regex_t compiled;
    const regex_t *filter = NULL;

    if (choice->filter != NULL) {
        int r = regcomp(&compiled, choice->filter, REG_EXTENDED | REG_NOSUB);

        if (r != 0) {
            char why[160];

            (void)regerror(r, &compiled, why, sizeof(why));
            return err_usage(err, "--filter '%s': %s", text_of_str(choice->filter).s, why);
        }
        filter = &compiled;
    }
    for (size_t i = 0; i < cases->n; i++) {
        struct suite_case *c = &cases->list[i];

        if (!chosen(c, choice, filter)) {
            continue;
        }
        c->selected = true;
        for (size_t at = c->after; at != SIZE_MAX; at = cases->list[at].after) {
            cases->list[at].selected = true;
        }
    }
    if (filter != NULL) {
        regfree(&compiled);
    }
    return 0;
}

const struct suite_case *suite_twin(const struct suite_cases *cases, const struct suite_case *c)
{
    for (size_t i = 0; i < cases->n; i++) {
        const struct suite_case *one = &cases->list[i];

        if (one->language != c->language && strcmp(one->name, c->name) == 0) {
            return one;
        }
    }
    return NULL;
}

const char *suite_pair_fault(const struct suite_cases *cases, const struct suite_case *c)
{
    bool only = json_object_get(c->head, "only") != NULL;
    bool twin = suite_twin(cases, c) != NULL;

    if (!cases->pairs || only != twin) {
        return NULL;
    }
    return twin ? "key 'only' says that the other language can't express it, but there it is"
                : "the same kind is missing in the other language, and no key 'only' says why";
}
