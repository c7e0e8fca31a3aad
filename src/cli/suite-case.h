/*
 * suite-case.h - one program of the suite: its header, checked once, and its text.
 *
 * The first line is `# airlock-case: {json}` (`//` in JavaScript). The keys stand in one table in
 * suite-case.c; a key that is not there, a value of the wrong type and a name that is no verdict
 * are refused with the file's name. Afterwards the JSON is read as it is: every type holds.
 */
#pragma once

#include <jansson.h>

#include "base/base.h"
#include "base/err.h"

#include "job/spec.h"

#define SUITE_PROGRAM_MAX (1 * MIB)
#define SUITE_CASES_MAX   4096u

enum suite_state {
    SUITE_WAITING,
    SUITE_RUNNING,
    SUITE_PASSED,
    SUITE_FAILED,
    SUITE_SKIPPED
};

#define SUITE_WHY_MAX 2048u

/* What became of a case. */
struct suite_outcome {
    enum suite_state state;
    char *why;       /* of a failure or a skip: one line, harmless */
    json_t *result;  /* of `airlock run --json`; NULL if there was none */
    json_t *changes; /* limits that were not passed on as the header has them: list of strings */
    uint64_t ns;     /* from the start of `airlock run` to its end */
    unsigned int capacity_waits;
};

struct suite_case {
    char *path; /* "streams/exact.py", below the suite's directory; for people */
    char *name; /* "streams/exact" */
    enum spec_language language;
    json_t *head; /* checked */
    char *code;   /* the whole program, header included */
    size_t code_len;
    size_t after;  /* index of the case that must have ended before; SIZE_MAX = none */
    bool selected; /* to be run */
    struct suite_outcome outcome;
};

/*
 * path ends in .py, .js, .mjs or .cjs, or ERR_USAGE; text is copied. ERR_USAGE names the file, the key
 * and what is wrong with it.
 */
must_use int suite_case_parse(const char *path, const char *text, size_t len,
                              struct suite_case *ret, struct err *err) nonnull_all;
void suite_case_fini(struct suite_case *c) nonnull_all;

/* True if the name ends like a program of the suite. */
must_use bool suite_is_program(const char *path) nonnull_all;

const char *suite_language_name(enum spec_language language); /* "python", "javascript" */

/* A text, or a list of them, as a list: how many, and the i-th. Absent (NULL) is none. */
size_t suite_texts(const json_t *value);
const json_t *suite_text_at(const json_t *value, size_t i);
/* True if the text is among them. */
bool suite_texts_have(const json_t *value, const char *text) nonnull_args(2);

/* The verdict may be this one. */
bool suite_expects(const struct suite_case *c, const char *verdict) nonnull_all;
/* Bytes that the program is fed, in a new buffer (NULL: none were asked for). */
must_use int suite_case_stdin(const struct suite_case *c, uint8_t **ret, size_t *ret_len,
                              struct err *err) nonnull_all;
