#include "sup/prefix.h"

#include <errno.h>
#include <string.h>

int prefix_begin(struct prefix *p, const struct prefix_kind *kind, const char *text,
                 struct err *err)
{
    size_t len = strlen(text);

    *p = (struct prefix){.kind = kind, .text = text};
    if (len == 0 || len > kind->digits || strspn(text, "0123456789abcdef") != len) {
        return err_usage(err, "%s %s, or its beginning, is 1 to %zu lower-case hex digits",
                         kind->article, kind->name, kind->digits);
    }
    return 0;
}

void prefix_offer(struct prefix *p, const char *name)
{
    if (strncmp(name, p->text, strlen(p->text)) == 0) {
        p->many = p->found != NULL;
        p->found = name;
    }
}

int prefix_end(const struct prefix *p, struct err *err)
{
    const struct prefix_kind *kind = p->kind;

    if (p->many) {
        return err_set(err, ERR_USAGE, EEXIST, "several %ss begin with '%s'; give more of the %s",
                       kind->thing, p->text, kind->name);
    }
    if (p->found == NULL) {
        return err_set(err, ERR_USAGE, ENOENT, "no %s begins with '%s'; '%s' shows those there are",
                       kind->thing, p->text, kind->list);
    }
    return 0;
}
