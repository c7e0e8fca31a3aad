#include <stdio.h>
#include <string.h>

#include "daemon/service.h"

#define NOT_ALLOWED 403u

static bool refuse(struct refusal *ret, const char *type, const char *field)
{
    ret->status = NOT_ALLOWED;
    ret->type = type;
    (void)snprintf(ret->field, sizeof(ret->field), "%s", field);
    return false;
}

static bool allows_limit(uint64_t value, uint64_t ceiling, size_t offset, struct refusal *ret)
{
    const struct spec_limit_info *info = spec_limit_infos;
    char field[64];
    char text[32];

    if (ceiling == 0 || value <= ceiling) {
        return true;
    }
    while (info->offset != offset) {
        info++;
    }
    (void)snprintf(field, sizeof(field), "limits.%s", info->json);
    (void)snprintf(ret->detail, sizeof(ret->detail),
                   "limits.%s: is over this tenant's ceiling, or left out while the default is; "
                   "give at most %s",
                   info->json, spec_value_text(info->unit, ceiling, text));
    return refuse(ret, "over-quota", field);
}

static const char *image_of(const struct spec *spec)
{
    static const char *const own[] = {
        [SPEC_COMMAND] = "",
        [SPEC_PYTHON] = "python",
        [SPEC_JAVASCRIPT] = "javascript",
    };

    return spec->image != NULL ? spec->image : own[spec->language];
}

static bool allows_image(const struct tenant_quota *quota, const struct spec *spec,
                         struct refusal *ret)
{
    const char *image = image_of(spec);
    size_t len = strcspn(image, "@");
    size_t i = 0;

    if (quota->pinned && image[len] == '\0') {
        (void)snprintf(ret->detail, sizeof(ret->detail),
                       "image: this tenant must name images with their digest; give "
                       "NAME@sha256:HEX");
        return refuse(ret, "image-not-pinned", "image");
    }
    while (i < quota->n_images &&
           (strncmp(quota->images[i], image, len) != 0 || quota->images[i][len] != '\0')) {
        i++;
    }
    if (quota->n_images > 0 && i == quota->n_images) {
        (void)snprintf(ret->detail, sizeof(ret->detail),
                       "image: is not among those that this tenant may use");
        return refuse(ret, "image-not-allowed", "image");
    }
    return true;
}

/* What both accept: the stronger of the two weakest classes. */
static bool allows_isolation(const struct tenant_quota *quota, struct spec *spec,
                             struct refusal *ret)
{
    if (quota->isolation == SPEC_ISOLATION_EMULATED) {
        return true;
    }
    if (spec->engine == SPEC_ENGINE_TCG) {
        (void)snprintf(ret->detail, sizeof(ret->detail),
                       "engine: tcg gives isolation \"emulated\", and this tenant is held to "
                       "\"hardware\"; leave engine out");
        return refuse(ret, "isolation-not-allowed", "engine");
    }
    spec->isolation = SPEC_ISOLATION_HARDWARE;
    return true;
}

/*
 * Without a word of the job the default holds, and that may grow on an emulated engine: the ceiling
 * is then the job's limit.
 */
static void close_cpu(const struct tenant_quota *quota, struct spec *spec)
{
    bool emulated = spec->isolation == SPEC_ISOLATION_EMULATED && spec->engine != SPEC_ENGINE_KVM;
    uint64_t most = spec->limits.cpu_ns;

    if (emulated && most < SPEC_CPU_EMULATED_NS) {
        most = SPEC_CPU_EMULATED_NS;
    }
    if (quota->cpu_ns == 0 || spec->cpu_given || most <= quota->cpu_ns) {
        return;
    }
    spec->limits.cpu_ns = quota->cpu_ns;
    spec->cpu_given = true;
}

bool tenant_allows(const struct tenant *tenant, struct spec *spec, struct refusal *ret)
{
    const struct tenant_quota *quota = &tenant->quota;

    *ret = (struct refusal){0};
    if (!allows_isolation(quota, spec, ret)) {
        return false;
    }
    close_cpu(quota, spec);
    return allows_limit(spec->limits.wall_ns, quota->wall_ns, offsetof(struct spec_limits, wall_ns),
                        ret) &&
           allows_limit(spec->limits.cpu_ns, quota->cpu_ns, offsetof(struct spec_limits, cpu_ns),
                        ret) &&
           allows_limit(spec->limits.memory_bytes, quota->memory_bytes,
                        offsetof(struct spec_limits, memory_bytes), ret) &&
           allows_image(quota, spec, ret);
}
