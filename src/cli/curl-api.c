#include "cli/curl-api.h"

#include <dlfcn.h>
#include <errno.h>

/* Some names are macros as well (checks of types); what is wanted here is the function. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

static int load(void *library, struct curl_api *api, struct err *err)
{
    static const char *const names[] = {
#define NAME(name) "curl_" #name,
        CURL_API(NAME)
#undef NAME
    };

    void **const members[] = {
#define MEMBER(name) (void **)&api->name,
        CURL_API(MEMBER)
#undef MEMBER
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        *members[i] = dlsym(library, names[i]);
        if (*members[i] == NULL) {
            return err_set(err, ERR_HOST, ENOSYS,
                           "libcurl.so.4 is too old, it has no %s; install package libcurl4",
                           names[i]);
        }
    }
    return 0;
}

int curl_api_load(const struct curl_api **ret, struct err *err)
{
    static struct curl_api api;
    static bool loaded;

    void *library = NULL;
    int r = 0;

    if (!loaded) {
        library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            return err_set(err, ERR_HOST, ENOENT,
                           "libcurl.so.4 can't be loaded; install package libcurl4");
        }
        r = load(library, &api, err);
        loaded = r == 0;
    }
    if (r == 0) {
        *ret = &api;
    }
    return r;
}
