#include <string.h>

#include "daemon/config-internal.h"
#include "job/json-build.h"

static json_t *texts_schema(struct builder *b, const struct config_member *m)
{
    json_t *items = json_object();

    set(b, items, "type", json_string("string"));
    if (m->pattern != NULL) {
        set(b, items, "pattern", json_string(m->pattern));
    }
    return items;
}

static void number_schema(struct builder *b, json_t *o, const struct config_member *m)
{
    set(b, o, "type", json_string("integer"));
    set(b, o, "minimum", integer(m->min));
    set(b, o, "maximum", integer(m->max));
    set(b, o, "default", integer(m->def));
}

static void choice_schema(struct builder *b, json_t *o, const struct config_member *m)
{
    json_t *all = json_array();

    for (size_t i = 0; m->choices[i] != NULL; i++) {
        append(b, all, json_string(m->choices[i]));
    }
    set(b, o, "enum", all);
    set(b, o, "default", json_string(m->choices[m->def]));
}

static void list_schema(struct builder *b, json_t *o, const struct config_member *m)
{
    json_t *def = json_array();

    if (m->def_text != NULL) {
        append(b, def, json_string(m->def_text));
    }
    set(b, o, "type", json_string("array"));
    set(b, o, "items", texts_schema(b, m));
    set(b, o, "minItems", integer(m->list_min));
    set(b, o, "maxItems", integer(CONFIG_LIST_MAX));
    set(b, o, "uniqueItems", json_true());
    set(b, o, "default", def);
}

static json_t *member_schema(struct builder *b, const struct config_member *m)
{
    json_t *o = m->kind == CONFIG_TEXT ? texts_schema(b, m) : json_object();

    switch (m->kind) {
    case CONFIG_BOOL:
        set(b, o, "type", json_string("boolean"));
        set(b, o, "default", json_boolean(m->def));
        break;
    case CONFIG_NUMBER:
        number_schema(b, o, m);
        break;
    case CONFIG_CHOICE:
        choice_schema(b, o, m);
        break;
    case CONFIG_LIST:
        list_schema(b, o, m);
        break;
    case CONFIG_TEXT:
        break;
    }
    set(b, o, "description", json_string(m->help));
    /* An annotation of ours; readers of schemas pass over what they don't know. */
    set(b, o, "x-reload", json_boolean(m->reload));
    return o;
}

static json_t *object_schema(struct builder *b)
{
    json_t *o = json_object();

    set(b, o, "type", json_string("object"));
    set(b, o, "additionalProperties", json_false());
    set(b, o, "properties", json_object());
    return o;
}

/* The object in which the member stands, made with its first one. */
static json_t *home_of(struct builder *b, json_t *root, const char *path, const char **ret_leaf)
{
    json_t *properties = json_object_get(root, "properties");
    const char *dot = strchr(path, '.');
    char group[64] = "";

    *ret_leaf = path;
    if (dot == NULL) {
        return properties;
    }
    *ret_leaf = dot + 1;
    (void)snprintf(group, sizeof(group), "%.*s", (int)(dot - path), path);
    if (json_object_get(properties, group) == NULL) {
        set(b, properties, group, object_schema(b));
    }
    return json_object_get(json_object_get(properties, group), "properties");
}

int config_schema(struct buf *out, struct err *err)
{
    struct builder b = {.failed = false};
    json_t *root = json_object();
    json_t *tls = NULL;
    int r = 0;

    set(&b, root, "$schema", json_string("https://json-schema.org/draft/2020-12/schema"));
    set(&b, root, "$id", json_string("urn:airlock:schema:airlockd"));
    set(&b, root, "title", json_string("The configuration of airlockd"));
    set(&b, root, "type", json_string("object"));
    set(&b, root, "additionalProperties", json_false());
    set(&b, root, "properties", json_object());
    for (size_t i = 0; i < config_members_len && !b.failed; i++) {
        const struct config_member *m = &config_members[i];
        const char *leaf = NULL;
        json_t *home = home_of(&b, root, m->path, &leaf);

        set(&b, home, leaf, member_schema(&b, m));
    }
    tls = json_object_get(json_object_get(root, "properties"), "tls");
    set(&b, tls, "required", json_pack("[s, s]", "cert", "key"));
    if (b.failed || json_dump_callback(root, json_to_buf, out, JSON_INDENT(2)) < 0 ||
        buf_put(out, "\n", 1) < 0) {
        r = err_set(err, ERR_HOST, ENOMEM, "out of memory for the schema");
    }
    json_decref(root);
    return r;
}
