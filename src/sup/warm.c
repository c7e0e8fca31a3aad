#include "sup/warm.h"

#include <string.h>

#include "base/str.h"

#include "proto/msg.h"

/* Read by interpreters, their libraries or the loader while they start. */
static const char *const read_at_start[] = {
    "PYTHON",  "NODE_",  "LD_",      "LC_",  "LANG=", "LANGUAGE=", "TZ=",   "TZDIR=",
    "MALLOC_", "GLIBC_", "OPENSSL_", "SSL_", "UV_",   "ICU_",      "HOME=", "PATH=",
};

static bool read_early(const char *assignment)
{
    for (size_t i = 0; i < ARRAY_LEN(read_at_start); i++) {
        if (strncmp(assignment, read_at_start[i], strlen(read_at_start[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Node takes its arguments as UTF-8 only, and so does the hook. */
static bool all_utf8(char *const *strings, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!str_is_utf8(strings[i], strlen(strings[i]))) {
            return false;
        }
    }
    return true;
}

/* With their NULs, and the interpreter's name, the program's and what every environment has. */
static bool fits(const struct spec *spec)
{
    size_t bytes = 256;

    for (size_t i = 0; i < spec->n_args; i++) {
        bytes += strlen(spec->args[i]) + 1;
    }
    for (size_t i = 0; i < spec->n_env; i++) {
        bytes += strlen(spec->env[i]) + 1;
    }
    return bytes <= MSG_WARM_STRINGS;
}

/* Node decides by the name how it loads a program, before anything could wait. */
static const char *program_of(const struct spec *spec)
{
    static const char *const names[] = {"main.py", "main.js", "main.mjs", "main.cjs"};

    if (spec->program_name == NULL) {
        return names[spec->language == SPEC_JAVASCRIPT];
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(names[i], spec->program_name) == 0) {
            return names[i];
        }
    }
    return NULL;
}

const char *warm_for(const struct spec *spec, const char **ret_why)
{
    const char *program = program_of(spec);
    const char *why = NULL;

    *ret_why = NULL;
    if (spec->language == SPEC_COMMAND) {
        return NULL;
    }
    if (spec->cold_interpreter) {
        why = "a fresh one was asked for";
    } else if (spec->root) {
        why = "the one that waits is not root";
    } else if (program == NULL) {
        why = "none waits for a program of this name";
    } else if (!all_utf8(spec->args, spec->n_args) || !all_utf8(spec->env, spec->n_env)) {
        why = "an argument or the environment is not UTF-8";
    } else if (!fits(spec)) {
        why = "its arguments and environment are long";
    }
    for (size_t i = 0; i < spec->n_env && why == NULL; i++) {
        why = read_early(spec->env[i])
                  ? "its environment has what interpreters read when they start"
                  : NULL;
    }
    *ret_why = why;
    return why == NULL ? program : NULL;
}
