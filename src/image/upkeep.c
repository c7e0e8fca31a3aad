#include "image/upkeep.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "image/apt.h"
#include "image/build-internal.h"
#include "sys/fd.h"

#define OUTDATED_MAX 10000u
#define FRESH_S      3600

static int no_memory(struct err *err)
{
    return err_set(err, ERR_HOST, ENOMEM, "out of memory");
}

static int verify_object(const struct store *store, const struct object *object, const char *what,
                         const char *remedy, struct err *err)
{
    auto_fd int fd = -1;

    return store_open_object(store, object, what, remedy, &fd, err);
}

static int verify_kernel(const struct store *store, struct err *err)
{
    static const char remedy[] = "airlock image build kernel";
    auto_kernel_manifest struct kernel_manifest m = {0};
    int r = store_read_kernel(store, &m, err);

    if (r == 0) {
        r = verify_object(store, &m.vmlinuz, "the guest kernel", remedy, err);
    }
    if (r == 0) {
        r = verify_object(store, &m.modules, "the guest kernel's module archive", remedy, err);
    }
    if (r == 0) {
        r = verify_object(store, &m.initramfs, "the guest's initramfs", remedy, err);
    }
    return r;
}

int upkeep_verify(const struct store *store, const char *name, struct err *err)
{
    auto_image_manifest struct image_manifest m = {0};
    char what[IMAGE_NAME_MAX + 32];
    char remedy[IMAGE_NAME_MAX + 32];
    int r = 0;

    if (strcmp(name, "kernel") == 0) {
        return verify_kernel(store, err);
    }
    r = store_read_image(store, name, &m, err);
    if (r < 0) {
        return r;
    }
    (void)snprintf(what, sizeof(what), "image '%s'", m.name);
    (void)snprintf(remedy, sizeof(remedy), "airlock image build %s", m.name);
    return verify_object(store, &m.root, what, remedy, err);
}

int upkeep_remove(const struct store *store, const char *name,
                  const struct build_progress *progress, struct err *err)
{
    auto_fd int lock = -1;
    int r = build_lock(store, progress, &lock, err);

    return r < 0 ? r : store_remove(store, name, err);
}

static void outdated_package_fini(struct outdated_package *p)
{
    free(p->image);
    free(p->package);
    free(p->have);
    free(p->available);
}

void outdated_fini(struct outdated *outdated)
{
    for (size_t i = 0; i < outdated->n; i++) {
        outdated_package_fini(&outdated->v[i]);
    }
    free(outdated->v);
    *outdated = (struct outdated){0};
}

static int add(struct outdated *list, const char *image, const struct package *have,
               const struct package *available, struct err *err)
{
    struct outdated_package *grown = NULL;
    struct outdated_package p = {
        .image = strdup(image),
        .package = strdup(available->name),
        .have = strdup(have != NULL ? have->version : ""),
        .available = strdup(available->version),
        .security = package_is_security(available),
    };

    if (p.image != NULL && p.package != NULL && p.have != NULL && p.available != NULL &&
        list->n < OUTDATED_MAX) {
        grown = reallocarray(list->v, list->n + 1, sizeof(*grown));
    }
    if (grown == NULL) {
        outdated_package_fini(&p);
        return no_memory(err);
    }
    list->v = grown;
    list->v[list->n++] = p;
    return 0;
}

static int compare(struct outdated *list, const char *image, const struct package_set *have,
                   const struct package_set *available, struct err *err)
{
    for (size_t i = 0; i < available->n; i++) {
        const struct package *now = &available->v[i];
        const struct package *old = package_set_get(have, now->name);

        if (old == NULL || strcmp(old->version, now->version) != 0) {
            int r = add(list, image, old, now, err);

            if (r < 0) {
                return r;
            }
        }
    }
    return 0;
}

static int check_kernel(const struct store *store, const struct apt *apt, struct outdated *list,
                        struct err *err)
{
    auto_kernel_manifest struct kernel_manifest m = {0};
    auto_package_set struct package_set available = {0};
    struct err why = ERR_INIT;
    int r = store_read_kernel(store, &m, &why);

    if (r == -ENOENT) {
        return 0;
    }
    if (r < 0) {
        *err = why;
        return r;
    }
    r = kernel_candidate(apt, &available, err);
    if (r < 0) {
        return r;
    }
    if (strcmp(m.package.name, available.v[0].name) == 0 &&
        strcmp(m.package.version, available.v[0].version) == 0) {
        return 0;
    }
    return add(list, "kernel", &m.package, &available.v[0], err);
}

static int check_image(const struct store *store, const struct apt *apt, const char *name,
                       struct outdated *list, struct err *err)
{
    auto_image_manifest struct image_manifest m = {0};
    auto_package_set struct package_set available = {0};
    auto_free const char **packages = NULL;
    const struct image_base *base = NULL;
    int r = store_read_image(store, name, &m, err);

    if (r < 0) {
        return r;
    }
    base = image_base_get(m.from);
    if (base == NULL) {
        return err_set(err, ERR_USAGE, EBADMSG,
                       "image '%s' is made from '%s', which this airlock does not know", name,
                       m.from);
    }
    r = image_base_packages(base, (const char *const *)m.requested, &packages, err);
    if (r == 0) {
        r = apt_resolve(apt, packages, &available, err);
    }
    return r < 0 ? err_wrap(err, "image '%s'", name)
                 : compare(list, name, &m.packages, &available, err);
}

static int check_all(const struct store *store, const struct apt *apt, struct outdated *ret,
                     struct err *err)
{
    auto_store_list char **names = NULL;
    auto_outdated struct outdated list = {0};
    int r = store_list(store, &names, err);

    if (r == 0) {
        r = check_kernel(store, apt, &list, err);
    }
    for (size_t i = 0; r == 0 && names[i] != NULL; i++) {
        r = check_image(store, apt, names[i], &list, err);
    }
    if (r < 0) {
        return r;
    }
    *ret = list;
    list = (struct outdated){0};
    return 0;
}

static int check_locked(const struct store *store, bool refresh,
                        const struct build_progress *progress, struct outdated *ret,
                        struct err *err)
{
    auto_apt struct apt apt = APT_INIT;
    int r = apt_open(store, &apt, err);

    if (r == 0 && refresh) {
        r = apt_refresh(&apt, 0, progress, err);
    }
    if (r == 0 && !apt_has_lists(&apt)) {
        return err_set(err, ERR_USAGE, ENOENT,
                       "no package lists yet; fetch them with: airlock image outdated");
    }
    return r < 0 ? r : check_all(store, &apt, ret, err);
}

int upkeep_outdated(const struct store *store, bool refresh, const struct build_progress *progress,
                    struct outdated *ret, struct err *err)
{
    auto_fd int lock = -1;
    int r = build_lock(store, progress, &lock, err);

    return r < 0 ? r : check_locked(store, refresh, progress, ret, err);
}

static int rebuild(const struct store *store, const char *name,
                   const struct build_progress *progress, struct err *err)
{
    auto_image_manifest struct image_manifest m = {0};
    int r = 0;

    if (strcmp(name, "kernel") == 0) {
        return kernel_build_locked(store, FRESH_S, progress, err);
    }
    r = store_read_image(store, name, &m, err);
    if (r < 0) {
        return r;
    }
    return image_build_locked(store,
                              &(struct build_request){.name = m.name,
                                                      .from = m.from,
                                                      .packages = (const char *const *)m.requested},
                              FRESH_S, progress, err);
}

static int clean(const struct store *store, struct err *err)
{
    auto_apt struct apt apt = APT_INIT;
    int r = apt_open(store, &apt, err);

    return r < 0 ? r : apt_clean(&apt, err);
}

int upkeep_update(const struct store *store, const struct build_progress *progress, size_t *ret_n,
                  struct err *err)
{
    auto_outdated struct outdated list = {0};
    auto_fd int lock = -1;
    size_t n = 0;
    int r = build_lock(store, progress, &lock, err);

    if (r == 0) {
        r = check_locked(store, true, progress, &list, err);
    }
    /* An image's packages follow one another. */
    for (size_t i = 0; r == 0 && i < list.n; i++) {
        if (i == 0 || strcmp(list.v[i].image, list.v[i - 1].image) != 0) {
            r = rebuild(store, list.v[i].image, progress, err);
            n++;
        }
    }
    if (r == 0 && n > 0) {
        r = clean(store, err);
    }
    if (r < 0) {
        return err_wrap(err, "update");
    }
    *ret_n = n;
    return 0;
}
