/* config-internal.h - the table of members, for config.c, config-table.c and config-schema.c. */
#pragma once

#include "daemon/config.h"

enum config_kind {
    CONFIG_BOOL,   /* bool */
    CONFIG_NUMBER, /* uint64_t; in the file divided by scale */
    CONFIG_TEXT,   /* char * */
    CONFIG_CHOICE, /* an enum, index into choices */
    CONFIG_LIST,   /* struct config_list */
};

struct config_member {
    const char *path; /* "queue.jobs_max": member jobs_max of member queue */
    enum config_kind kind;
    bool reload;                   /* SIGHUP can change it */
    size_t offset;                 /* into struct config */
    uint64_t def, min, max, scale; /* as in the file */
    const char *const *choices;    /* NULL-terminated */
    const char *def_text;          /* of a list: its only text; NULL = empty. Of a text: none */
    size_t list_min;
    const char *pattern; /* of texts, in the schema; check() says no less */
    int (*check)(const char *text, struct err *err);
    const char *help;
};

extern const struct config_member config_members[];
extern const size_t config_members_len;

/* What this value is called in messages and the schema: "a whole number", "true or false"... */
const char *config_kind_text(enum config_kind kind);

static inline void *config_place(struct config *c, const struct config_member *m)
{
    return (char *)c + m->offset;
}
