/* template-upkeep.h - the templates there are: what they are, whether they are good, and an end. */
#pragma once

#include "sup/template.h"

enum template_state {
    TEMPLATE_GOOD,
    TEMPLATE_OTHER_BOOT, /* good when the host was started again; not used, built anew when needed */
    TEMPLATE_DAMAGED     /* or of another version of airlock: not used, built anew when needed */
};

const char *template_state_name(enum template_state state); /* "good", "other_boot", "damaged" */

struct template_item {
    struct digest key;
    enum template_state state;
    char why[160];                 /* it is not good; "" if it is */
    struct template_footer footer; /* of one that is not damaged; zero otherwise */
    uint64_t disk_bytes;           /* what it takes, without its holes */
    uint64_t used;                 /* last use, seconds since 1970 */
};

#define TEMPLATE_LIST_MAX 4096

/* All there are, the last used first; memory and state are not read. Owned by the caller (free). */
must_use int template_list(const struct store *store, struct template_item **ret, size_t *ret_n,
                           struct err *err) nonnull_all;

/* The key that begins with prefix. ERR_USAGE: no hex digits, -ENOENT none, -EEXIST several. */
must_use int template_find(const struct store *store, const char *prefix, struct digest *ret,
                           struct err *err) nonnull_all;

/* Reads everything of one and compares every digest. Fails only if it could not look. */
must_use int template_verify(const struct store *store, const struct digest *key,
                             struct template_item *ret, struct err *err) nonnull_all;

/* Machines that run from it keep it. Waits while one is built. One that is gone is fine. */
must_use int template_remove(const struct store *store, const struct digest *key,
                             struct err *err) nonnull_all;
