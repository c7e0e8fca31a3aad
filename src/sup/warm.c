#include "sup/warm.h"

#include <string.h>

#include "base/str.h"

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

enum spec_language warm_for(const struct spec *spec, const char **ret_why)
{
    const char *why = NULL;

    *ret_why = NULL;
    if (spec->language == SPEC_COMMAND) {
        return SPEC_COMMAND;
    }
    if (spec->cold_interpreter) {
        why = "a fresh one was asked for";
    } else if (spec->root) {
        why = "the one that waits is not root";
    } else if (!all_utf8(spec->args, spec->n_args) || !all_utf8(spec->env, spec->n_env)) {
        why = "an argument or the environment is not UTF-8";
    }
    for (size_t i = 0; i < spec->n_env && why == NULL; i++) {
        why = read_early(spec->env[i])
                  ? "its environment has what interpreters read when they start"
                  : NULL;
    }
    *ret_why = why;
    return why == NULL ? spec->language : SPEC_COMMAND;
}
