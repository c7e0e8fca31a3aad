#include "sup/class.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sup/engine.h"
#include "sup/template.h"
#include "sup/warm.h"

const char *class_image(const struct spec *spec)
{
    static const char *const own[] = {
        [SPEC_COMMAND] = NULL,
        [SPEC_PYTHON] = "python",
        [SPEC_JAVASCRIPT] = "javascript",
    };

    return spec->image != NULL ? spec->image : own[spec->language];
}

static int engine_of(const struct store *store, const struct spec *spec, const struct engine **ret,
                     struct err *err)
{
    const struct engine_wish wish = {
        .store = store, .wanted = spec->engine, .weakest = spec->isolation};

    return engine_select(&wish, ret, err);
}

int class_of(const struct store *store, const struct spec *spec, struct machine_class *ret,
             struct err *err)
{
    auto_image_manifest struct image_manifest image = {0};
    auto_kernel_manifest struct kernel_manifest kernel = {0};
    const char *wanted = class_image(spec);
    const struct engine *engine = NULL;
    const char *ignored = NULL;
    char name[IMAGE_NAME_MAX + 1];
    size_t len = 0;
    int r = engine_of(store, spec, &engine, err);

    if (r < 0) {
        return r;
    }
    len = wanted == NULL ? 0 : strcspn(wanted, "@");
    if (len == 0 || len > IMAGE_NAME_MAX) {
        return err_usage(err, "no image is named");
    }
    (void)snprintf(name, sizeof(name), "%.*s", (int)len, wanted);
    r = store_read_image(store, name, &image, err);
    if (r == 0) {
        r = store_read_kernel(store, &kernel, err);
    }
    if (r < 0) {
        return r;
    }
    *ret = (struct machine_class){
        .kernel = kernel.vmlinuz.digest,
        .initramfs = kernel.initramfs.digest,
        .engine = engine->name,
        .vcpus = spec->limits.vcpus,
        .memory_bytes = engine_machine_bytes(spec->limits.memory_bytes),
        .root = spec->root,
        .warm = warm_for(spec, &ignored),
        .disk_bytes = spec->limits.disk_bytes,
        .inodes = spec->limits.inodes,
    };
    (void)snprintf(ret->image, sizeof(ret->image), "%s@sha256:%s", name, image.root.digest.hex);
    if (wanted[len] != '\0' && strcmp(wanted, ret->image) != 0) {
        return err_set(err, ERR_USAGE, ENOENT, "image '%s' is another one now", name);
    }
    return 0;
}

int class_model(const struct machine_class *class, struct spec *ret, struct err *err)
{
    ret->root = class->root;
    if (class->warm != NULL) {
        ret->language = strstr(class->warm, ".py") != NULL ? SPEC_PYTHON : SPEC_JAVASCRIPT;
        ret->program_name = strdup(class->warm);
        if (ret->program_name == NULL) {
            return err_set(err, ERR_HOST, ENOMEM, "out of memory");
        }
    }
    ret->engine = strcmp(class->engine, "kvm") == 0 ? SPEC_ENGINE_KVM : SPEC_ENGINE_TCG;
    ret->limits.vcpus = class->vcpus;
    ret->limits.memory_bytes = engine_job_bytes(class->memory_bytes);
    ret->limits.disk_bytes = class->disk_bytes;
    ret->limits.inodes = class->inodes;
    return spec_set_image(ret, class->image, err);
}

/* The model names its image with a digest; a spec may name it without, as it means it now. */
static bool image_fits(const char *model, const char *wanted)
{
    size_t len = wanted != NULL ? strcspn(wanted, "@") : 0;

    return len > 0 && strncmp(model, wanted, len) == 0 && model[len] == '@' &&
           (wanted[len] == '\0' || strcmp(model, wanted) == 0);
}

bool class_fits(const struct store *store, const struct spec *model, const struct spec *spec)
{
    const struct engine *engines[2] = {NULL, NULL};
    const char *why = NULL;
    struct err ignored = ERR_INIT;

    return warm_for(model, &why) == warm_for(spec, &why) && model->root == spec->root &&
           template_mounts(model) == template_mounts(spec) &&
           engine_of(store, model, &engines[0], &ignored) == 0 &&
           engine_of(store, spec, &engines[1], &ignored) == 0 && engines[0] == engines[1] &&
           image_fits(model->image, class_image(spec)) &&
           model->limits.vcpus == spec->limits.vcpus &&
           engine_machine_bytes(model->limits.memory_bytes) ==
               engine_machine_bytes(spec->limits.memory_bytes);
}

static bool disk_is_default(const struct machine_class *class)
{
    return spec_disk_is_default(
        &(struct spec_limits){.disk_bytes = class->disk_bytes, .inodes = class->inodes});
}

bool class_equal(const struct machine_class *a, const struct machine_class *b)
{
    return strcmp(a->image, b->image) == 0 && strcmp(a->kernel.hex, b->kernel.hex) == 0 &&
           strcmp(a->initramfs.hex, b->initramfs.hex) == 0 && strcmp(a->engine, b->engine) == 0 &&
           a->vcpus == b->vcpus && a->warm == b->warm && a->root == b->root &&
           disk_is_default(a) == disk_is_default(b) && a->memory_bytes == b->memory_bytes;
}
