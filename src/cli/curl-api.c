#include "cli/curl-api.h"

#include "sys/library.h"

/* Some names are macros as well (checks of types); what is wanted here is the function. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

int curl_api_load(const struct curl_api **ret, struct err *err)
{
    static struct curl_api api;
    static const struct library_symbol symbols[] = {
#define SYMBOL(name) {"curl_" #name, (void **)&api.name},
        CURL_API(SYMBOL)
#undef SYMBOL
    };
    static struct library library = {"libcurl.so.4", "libcurl4", symbols, ARRAY_LEN(symbols),
                                     false};
    int r = library_load(&library, err);

    if (r == 0) {
        *ret = &api;
    }
    return r;
}
