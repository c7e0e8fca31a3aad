/*
 * What the launcher tells in JSON.
 *
 *   images    [{"name", "from", "digest", "bytes", "created", "packages": [{"name", "version"}]}];
 *             created is in seconds since 1970. One that can't be read: {"name", "fault"}.
 *   capacity  for "machines", "vcpus", "memory_bytes" and "disk_bytes" what all machines together
 *             may take, with reserves taken off; "..._used" what live ones were promised of it.
 *             "memory_available_bytes" is what the host has left at the moment beyond its reserve,
 *             "memory_untouched_bytes" what of memory_used is not taken yet. "stale_slots" and
 *             "blocked" as in ledger.h; "engine": what `auto` chooses, or null and "engine_why".
 *             "pool" is null, or counts as in pool.h.
 */
#include <string.h>

#include "base/num.h"

#include "daemon/launcher-internal.h"
#include "job/json-build.h"
#include "sup/engine.h"

static json_t *packages_json(struct builder *b, const struct package_set *packages)
{
    json_t *list = json_array();

    for (size_t i = 0; i < packages->n; i++) {
        json_t *one = json_object();

        set(b, one, "name", json_string(packages->v[i].name));
        set(b, one, "version", json_string(packages->v[i].version));
        append(b, list, one);
    }
    return list;
}

static json_t *image_json(struct builder *b, const struct store *store, const char *name)
{
    auto_image_manifest struct image_manifest m = {0};
    struct err why = ERR_INIT;
    json_t *o = json_object();

    set(b, o, "name", json_string(name));
    if (store_read_image(store, name, &m, &why) < 0) {
        set(b, o, "fault", printable(why.msg));
        return o;
    }
    set(b, o, "from", json_string(m.from));
    set(b, o, "digest", digest_text(&m.root.digest));
    set(b, o, "bytes", integer(m.root.bytes));
    set(b, o, "created", integer(m.created));
    set(b, o, "packages", packages_json(b, &m.packages));
    return o;
}

static int finish(struct builder *b, json_t *take_root, struct buf *out, struct err *err)
{
    int r = json_finish(b, take_root, out);

    return r < 0 ? err_sys_num(err, -r, "an answer of the launcher") : 0;
}

int launcher_text_images(const struct store *store, struct buf *out, struct err *err)
{
    struct builder b = {.failed = false};
    auto_store_list char **names = NULL;
    json_t *list = NULL;
    int r = store_list(store, &names, err);

    if (r < 0) {
        return r;
    }
    list = json_array();
    for (size_t i = 0; names[i] != NULL; i++) {
        append(&b, list, image_json(&b, store, names[i]));
    }
    return finish(&b, list, out, err);
}

static json_t *pool_json(struct builder *b, const struct pool *pool)
{
    struct pool_stats s = {0};
    json_t *o = NULL;

    if (pool == NULL) {
        return json_null();
    }
    pool_stats(pool, &s);
    o = json_object();
    set(b, o, "planned", integer(s.planned));
    set(b, o, "waiting", integer(s.waiting));
    set(b, o, "preparing", integer(s.preparing));
    set(b, o, "hits", integer(s.hits));
    set(b, o, "misses", integer(s.misses));
    set(b, o, "restored", integer(s.restored));
    set(b, o, "failed", integer(s.failed));
    set(b, o, "died", integer(s.died));
    set(b, o, "retired", integer(s.retired));
    set(b, o, "restore_ns", integer(s.restore_ns));
    set(b, o, "why", s.why[0] != '\0' ? printable(s.why) : json_null());
    return o;
}

static void add_engine(struct builder *b, json_t *o, const struct store *store)
{
    const struct engine_wish wish = {
        .store = store, .wanted = SPEC_ENGINE_AUTO, .weakest = SPEC_ISOLATION_EMULATED};
    const struct engine *engine = NULL;
    struct err why = ERR_INIT;
    bool ok = engine_select(&wish, &engine, &why) == 0;

    set(b, o, "engine", ok ? json_string(engine->name) : json_null());
    set(b, o, "isolation", ok ? json_string(engine->isolation) : json_null());
    set(b, o, "engine_why", ok ? json_null() : printable(why.msg));
}

int launcher_text_capacity(const struct store *store, const struct ledger_capacity *capacity,
                           const struct pool *pool, struct buf *out, struct err *err)
{
    struct builder b = {.failed = false};
    struct ledger_usage u = {.machines = 0};
    const struct ledger_capacity *c = &u.capacity;
    json_t *o = NULL;
    int r = ledger_usage(store->dirfd, capacity, &u, err);

    if (r < 0) {
        return r;
    }
    o = json_object();
    set(&b, o, "machines", integer(c->machines));
    set(&b, o, "machines_used", integer(u.machines));
    set(&b, o, "vcpus", integer(c->vcpus));
    set(&b, o, "vcpus_used", integer(u.vcpus));
    set(&b, o, "memory_bytes", integer(num_less(c->memory_total_bytes, c->memory_reserve_bytes)));
    set(&b, o, "memory_used_bytes", integer(u.memory_bytes));
    set(&b, o, "memory_available_bytes",
        integer(num_less(c->memory_available_bytes, c->memory_reserve_bytes)));
    set(&b, o, "memory_untouched_bytes", integer(u.untouched_bytes));
    set(&b, o, "disk_bytes", integer(num_less(c->disk_free_bytes, c->disk_reserve_bytes)));
    set(&b, o, "disk_used_bytes", integer(u.disk_bytes));
    set(&b, o, "stale_slots", integer(u.stale));
    set(&b, o, "blocked", json_boolean(u.blocked));
    add_engine(&b, o, store);
    set(&b, o, "pool", pool_json(&b, pool));
    return finish(&b, o, out, err);
}
