#include "cli/suite-remote.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/relay.h"
#include "cli/remote.h"
#include "job/spec.h"
#include "job/text.h"
#include "sup/sup.h"

static int read_engine(const struct sup_event *ev, struct suite_facts *facts, struct err *err)
{
    static char engine[32];
    static char isolation[32];

    json_error_t at;
    json_t *result = json_loadb((const char *)ev->data, ev->len, JSON_ALLOW_NUL, &at);
    const json_t *machine = json_object_get(result, "machine");
    const char *name = json_string_value(json_object_get(machine, "engine"));
    const char *class = json_string_value(json_object_get(machine, "isolation"));
    const char *message = json_string_value(json_object_get(result, "message"));
    int r = 0;

    if (name == NULL || class == NULL || strlen(name) >= sizeof(engine) ||
        strlen(class) >= sizeof(isolation)) {
        r = err_set(err, ERR_HOST, EPROTO, "the daemon could not run a job of one line: %.600s",
                    message != NULL ? text_of_str(message).s : "it says nothing");
    } else {
        (void)snprintf(engine, sizeof(engine), "%s", name);
        (void)snprintf(isolation, sizeof(isolation), "%s", class);
        facts->engine = engine;
        facts->isolation = isolation;
    }
    json_decref(result);
    return r;
}

static int await_result(struct sup *sup, struct suite_facts *facts, struct err *err)
{
    for (;;) {
        struct sup_event ev = {0};
        int r = sup_next(sup, &ev, err);

        if (r < 0) {
            return r;
        }
        if (r == 0) {
            return err_set(err, ERR_HOST, EPIPE, "no result came");
        }
        if (ev.kind == SUP_RESULT) {
            return read_engine(&ev, facts, err);
        }
    }
}

static int make_spec(const char *wanted, struct spec *spec, struct err *err)
{
    static const char text[] = "{\"language\":\"python\",\"code\":\"\"}";
    int r = spec_from_json(spec, text, sizeof(text) - 1, err);

    if (r == 0 && wanted != NULL && strcmp(wanted, "auto") != 0) {
        spec->engine = strcmp(wanted, "kvm") == 0 ? SPEC_ENGINE_KVM : SPEC_ENGINE_TCG;
    }
    return r == 0 ? spec_check(spec, err) : r;
}

int suite_remote_engine(const struct http_config *http, const char *wanted,
                        struct suite_facts *facts, struct err *err)
{
    const struct remote_terms terms = {.key = NULL};
    auto_remote_body struct remote_body body = {0};
    auto_http struct http *checked = NULL;
    auto_spec struct spec spec;
    auto_sup struct sup sup = SUP_INIT;
    struct relay_job job = {
        .http = http, .body = &body, .limits = &spec.limits, .streaming = true, .cancels = true};
    int r = 0;

    spec_init(&spec);
    r = http_new(http, &checked, err);
    if (r == 0) {
        r = make_spec(wanted, &spec, err);
    }
    if (r == 0) {
        r = remote_body_build(&spec, &terms, &body, err);
    }
    if (r == 0) {
        r = relay_start(&job, &sup, err);
    }
    return r < 0 ? r : await_result(&sup, facts, err);
}
