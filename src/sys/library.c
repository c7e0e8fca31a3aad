#include "sys/library.h"

#include <dlfcn.h>
#include <errno.h>

int library_load(const char *soname, const char *package, const struct library_symbol *symbols,
                 size_t n, struct err *err)
{
    /* Now: behind a filter no symbol can be looked up any more. */
    void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        return err_set(err, ERR_HOST, ENOENT, "%s can't be loaded; install package %s", soname,
                       package);
    }
    for (size_t i = 0; i < n; i++) {
        *symbols[i].ret = dlsym(library, symbols[i].name);
        if (*symbols[i].ret == NULL) {
            (void)dlclose(library);
            return err_set(err, ERR_HOST, ENOSYS, "%s is too old, it has no %s; install package %s",
                           soname, symbols[i].name, package);
        }
    }
    return 0;
}
