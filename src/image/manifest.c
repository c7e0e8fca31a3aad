#include "image/manifest.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define FORMAT 1

static void package_fini(struct package *p)
{
    free(p->name);
    free(p->version);
    free(p->arch);
    free(p->suite);
    *p = (struct package){0};
}

void package_set_fini(struct package_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        package_fini(&set->v[i]);
    }
    free(set->v);
    *set = (struct package_set){0};
}

static int package_copy(const struct package *from, struct package *ret)
{
    struct package p = {
        .name = strdup(from->name),
        .version = strdup(from->version),
        .arch = strdup(from->arch),
        .suite = strdup(from->suite),
        .sha256 = from->sha256,
    };

    if (p.name == NULL || p.version == NULL || p.arch == NULL || p.suite == NULL) {
        package_fini(&p);
        return -ENOMEM;
    }
    *ret = p;
    return 0;
}

int package_set_add(struct package_set *set, const struct package *package, struct err *err)
{
    struct package *grown = NULL;

    if (set->n >= PACKAGES_MAX) {
        return err_set(err, ERR_LIMIT, E2BIG, "an image holds at most %u packages", PACKAGES_MAX);
    }
    grown = reallocarray(set->v, set->n + 1, sizeof(*grown));
    if (grown == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    set->v = grown;
    if (package_copy(package, &set->v[set->n]) < 0) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    set->n++;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct package *)a)->name, ((const struct package *)b)->name);
}

void package_set_sort(struct package_set *set)
{
    if (set->n > 1) {
        qsort(set->v, set->n, sizeof(*set->v), by_name);
    }
}

const struct package *package_set_get(const struct package_set *set, const char *name)
{
    for (size_t i = 0; i < set->n; i++) {
        if (strcmp(set->v[i].name, name) == 0) {
            return &set->v[i];
        }
    }
    return NULL;
}

bool package_is_security(const struct package *package)
{
    return strstr(package->suite, "Debian-Security:") != NULL;
}

bool image_name_is_valid(const char *name)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    static const char rest[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t len = strnlen(name, IMAGE_NAME_MAX + 1);

    return len >= 1 && len <= IMAGE_NAME_MAX && strchr(first, name[0]) != NULL &&
           strspn(name, rest) == len;
}

bool package_name_is_valid(const char *name)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    static const char rest[] = "abcdefghijklmnopqrstuvwxyz0123456789+.-";
    size_t len = strnlen(name, 129);

    return len >= 2 && len <= 128 && strchr(first, name[0]) != NULL && strspn(name, rest) == len;
}

void image_manifest_fini(struct image_manifest *m)
{
    for (size_t i = 0; m->requested != NULL && m->requested[i] != NULL; i++) {
        free(m->requested[i]);
    }
    free(m->requested);
    free(m->name);
    free(m->from);
    package_set_fini(&m->packages);
    *m = (struct image_manifest){0};
}

void kernel_manifest_fini(struct kernel_manifest *m)
{
    package_fini(&m->package);
    *m = (struct kernel_manifest){0};
}

static int bad(struct err *err, const char *what)
{
    return err_set(err, ERR_USAGE, EBADMSG, "the manifest is damaged: %s", what);
}

static int load(const struct buf *json, json_t **ret, struct err *err)
{
    json_error_t why;
    json_t *root = NULL;

    if (json->data == NULL) {
        return bad(err, "it is empty");
    }
    root = json_loadb((const char *)json->data, json->len, JSON_REJECT_DUPLICATES, &why);
    if (root == NULL) {
        return err_set(err, ERR_USAGE, EBADMSG, "the manifest is damaged: line %d: %s", why.line,
                       why.text);
    }
    *ret = root;
    return 0;
}

static int get_digest(const char *hex, struct digest *ret, struct err *err)
{
    if (!digest_is_hex(hex)) {
        return bad(err, "a digest is not 64 lower-case hexadecimal digits");
    }
    (void)snprintf(ret->hex, sizeof(ret->hex), "%s", hex);
    return 0;
}

static int get_object(json_t *json, struct object *ret, struct err *err)
{
    const char *hex = NULL;
    json_int_t bytes = 0;

    if (json_unpack(json, "{s:s, s:I !}", "sha256", &hex, "bytes", &bytes) < 0 || bytes <= 0) {
        return bad(err, "an object is not {sha256, bytes}");
    }
    ret->bytes = (uint64_t)bytes;
    return get_digest(hex, &ret->digest, err);
}

/* Versions and the like end up in messages: printable ASCII, bounded. */
static bool is_plain(const char *s)
{
    size_t len = strnlen(s, 257);

    for (size_t i = 0; i < len; i++) {
        if (s[i] < ' ' || s[i] > '~') {
            return false;
        }
    }
    return len >= 1 && len <= 256;
}

static int get_package(json_t *json, struct package *ret, struct err *err)
{
    const char *name = NULL;
    const char *version = NULL;
    const char *arch = NULL;
    const char *suite = NULL;
    const char *hex = NULL;
    struct digest digest = {0};
    int r = 0;

    if (json_unpack(json, "{s:s, s:s, s:s, s:s, s:s !}", "name", &name, "version", &version, "arch",
                    &arch, "suite", &suite, "sha256", &hex) < 0) {
        return bad(err, "a package is not {name, version, arch, suite, sha256}");
    }
    if (!package_name_is_valid(name) || !is_plain(version) || !is_plain(arch) || !is_plain(suite)) {
        return bad(err, "a package has an impossible name or version");
    }
    r = get_digest(hex, &digest, err);
    if (r < 0) {
        return r;
    }
    r = package_copy(&(struct package){(char *)(uintptr_t)name, (char *)(uintptr_t)version,
                                       (char *)(uintptr_t)arch, (char *)(uintptr_t)suite, digest},
                     ret);
    return r < 0 ? err_set(err, ERR_HOST, ENOMEM, "out of memory") : 0;
}

static int get_requested(json_t *json, struct image_manifest *m, struct err *err)
{
    size_t n = json_array_size(json);

    if (!json_is_array(json) || n > PACKAGES_MAX) {
        return bad(err, "'requested' is not a list of packages");
    }
    m->requested = calloc(n + 1, sizeof(*m->requested));
    if (m->requested == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(json, i));

        if (name == NULL || !package_name_is_valid(name)) {
            return bad(err, "'requested' is not a list of packages");
        }
        m->requested[i] = strdup(name);
        if (m->requested[i] == NULL) {
            return err_set(err, ERR_HOST, ENOMEM, "out of memory");
        }
    }
    return 0;
}

static int get_packages(json_t *json, struct package_set *set, struct err *err)
{
    if (!json_is_array(json) || json_array_size(json) > PACKAGES_MAX) {
        return bad(err, "'packages' is not a list of packages");
    }
    for (size_t i = 0; i < json_array_size(json); i++) {
        struct package p = {0};
        int r = get_package(json_array_get(json, i), &p, err);

        if (r == 0 && p.name != NULL) {
            r = package_set_add(set, &p, err);
        }
        package_fini(&p);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

int image_manifest_parse(const struct buf *json, struct image_manifest *ret, struct err *err)
{
    json_auto_t *root = NULL;
    auto_image_manifest struct image_manifest m = {0};
    const char *name = NULL;
    const char *from = NULL;
    json_t *requested = NULL;
    json_t *object = NULL;
    json_t *packages = NULL;
    json_int_t created = 0;
    int format = 0;
    int r = load(json, &root, err);

    if (r < 0) {
        return r;
    }
    if (json_unpack(root, "{s:i, s:s, s:s, s:o, s:I, s:o, s:o !}", "format", &format, "name", &name,
                    "from", &from, "requested", &requested, "created", &created, "root", &object,
                    "packages", &packages) < 0) {
        return bad(err, "keys are missing, unknown or of the wrong type");
    }
    if (format != FORMAT || created < 0 || !image_name_is_valid(name) ||
        !image_name_is_valid(from)) {
        return bad(err, "a value is out of range");
    }
    m.created = (uint64_t)created;
    m.name = strdup(name);
    m.from = strdup(from);
    if (m.name == NULL || m.from == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    r = get_object(object, &m.root, err);
    if (r == 0) {
        r = get_requested(requested, &m, err);
    }
    if (r == 0) {
        r = get_packages(packages, &m.packages, err);
    }
    if (r < 0) {
        return r;
    }
    *ret = m;
    m = (struct image_manifest){0};
    return 0;
}

int kernel_manifest_parse(const struct buf *json, struct kernel_manifest *ret, struct err *err)
{
    json_auto_t *root = NULL;
    auto_kernel_manifest struct kernel_manifest m = {0};
    const char *agent = NULL;
    json_t *package = NULL;
    json_t *objects[3] = {NULL};
    struct object *const into[3] = {&m.vmlinuz, &m.modules, &m.initramfs};
    json_int_t created = 0;
    int format = 0;
    int r = load(json, &root, err);

    if (r < 0) {
        return r;
    }
    if (json_unpack(root, "{s:i, s:o, s:I, s:o, s:o, s:o, s:s !}", "format", &format, "package",
                    &package, "created", &created, "vmlinuz", &objects[0], "modules", &objects[1],
                    "initramfs", &objects[2], "agent", &agent) < 0) {
        return bad(err, "keys are missing, unknown or of the wrong type");
    }
    if (format != FORMAT || created < 0) {
        return bad(err, "a value is out of range");
    }
    m.created = (uint64_t)created;
    r = get_package(package, &m.package, err);
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(objects); i++) {
        r = get_object(objects[i], into[i], err);
    }
    if (r == 0) {
        r = get_digest(agent, &m.agent, err);
    }
    if (r < 0) {
        return r;
    }
    *ret = m;
    m = (struct kernel_manifest){0};
    return 0;
}

static json_t *put_object(const struct object *o)
{
    return json_pack("{s:s, s:I}", "sha256", o->digest.hex, "bytes", (json_int_t)o->bytes);
}

static json_t *put_package(const struct package *p)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", p->name, "version", p->version, "arch",
                     p->arch, "suite", p->suite, "sha256", p->sha256.hex);
}

/* Takes the reference. */
static int dump(json_t *json_take, struct buf *out, struct err *err)
{
    json_auto_t *json = json_take;
    auto_free char *text = json != NULL ? json_dumps(json, JSON_INDENT(1)) : NULL;
    int r = 0;

    if (text == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    r = buf_printf(out, "%s\n", text);
    return r < 0 ? err_set(err, ERR_HOST, -r, "the manifest is too large") : 0;
}

int image_manifest_print(const struct image_manifest *m, struct buf *out, struct err *err)
{
    json_t *requested = json_array();
    json_t *packages = json_array();

    for (size_t i = 0; m->requested != NULL && m->requested[i] != NULL; i++) {
        (void)json_array_append_new(requested, json_string(m->requested[i]));
    }
    for (size_t i = 0; i < m->packages.n; i++) {
        (void)json_array_append_new(packages, put_package(&m->packages.v[i]));
    }
    return dump(json_pack("{s:i, s:s, s:s, s:o, s:I, s:o, s:o}", "format", FORMAT, "name", m->name,
                          "from", m->from, "requested", requested, "created",
                          (json_int_t)m->created, "root", put_object(&m->root), "packages",
                          packages),
                out, err);
}

int kernel_manifest_print(const struct kernel_manifest *m, struct buf *out, struct err *err)
{
    return dump(json_pack("{s:i, s:o, s:I, s:o, s:o, s:o, s:s}", "format", FORMAT, "package",
                          put_package(&m->package), "created", (json_int_t)m->created, "vmlinuz",
                          put_object(&m->vmlinuz), "modules", put_object(&m->modules), "initramfs",
                          put_object(&m->initramfs), "agent", m->agent.hex),
                out, err);
}
