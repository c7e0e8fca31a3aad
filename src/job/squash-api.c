#include "job/squash-api.h"

#include "sys/library.h"

int squash_api_load(const struct squash_api **ret, struct err *err)
{
    static struct squash_api api;
    static const struct library_symbol symbols[] = {
#define SYMBOL(name) {"sqfs_" #name, (void **)&api.name},
        SQUASH_API(SYMBOL)
#undef SYMBOL
    };
    static struct library library = {"libsquashfs.so.1", "libsquashfs1", symbols,
                                     ARRAY_LEN(symbols), false};
    int r = library_load(&library, err);

    if (r == 0) {
        *ret = &api;
    }
    return r;
}
