#include "job/archive-api.h"

#include "sys/library.h"

int archive_api_load(const struct archive_api **ret, struct err *err)
{
    static struct archive_api api;
    static const struct library_symbol symbols[] = {
#define SYMBOL(name) {#name, (void **)&api.name},
        ARCHIVE_API(SYMBOL)
#undef SYMBOL
    };
    static struct library library = {"libarchive.so.13", "libarchive13", symbols,
                                     ARRAY_LEN(symbols), false};
    int r = library_load(&library, err);

    if (r == 0) {
        *ret = &api;
    }
    return r;
}
