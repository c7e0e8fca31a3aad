#include "sys/library.h"

#include <dlfcn.h>
#include <errno.h>

int library_load(struct library *library, struct err *err)
{
    void *handle = NULL;

    if (library->loaded) {
        return 0;
    }
    /* Now: behind a filter no symbol can be looked up any more. */
    handle = dlopen(library->soname, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        return err_set(err, ERR_HOST, ENOENT, "%s can't be loaded; install package %s",
                       library->soname, library->package);
    }
    for (size_t i = 0; i < library->n_symbols; i++) {
        const struct library_symbol *symbol = &library->symbols[i];

        *symbol->ret = dlsym(handle, symbol->name);
        if (*symbol->ret == NULL) {
            (void)dlclose(handle);
            return err_set(err, ERR_HOST, ENOSYS, "%s is too old, it has no %s; install package %s",
                           library->soname, symbol->name, library->package);
        }
    }
    library->loaded = true;
    return 0;
}
