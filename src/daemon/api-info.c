/* api-info.c - what the service is and how it is. */
#include <errno.h>

#include "daemon/api.h"
#include "daemon/openapi.h"

/* What service_images() or service_capacity() said; takes json. */
static int reply_known(int r, json_t *json, struct reply *ret, struct refusal *ret_refusal,
                       struct err *err)
{
    if (r == -EAGAIN) {
        (void)problem_set(ret_refusal, PROBLEM_NOT_READY, "", "%s", err->msg);
        ret_refusal->retry_after_s = 1;
        return -EINVAL;
    }
    if (r == 0) {
        r = reply_json(ret, 200, json, err);
        json_decref(json);
    }
    return r;
}

int api_images(struct call *call, struct reply *ret, struct refusal *ret_refusal, struct err *err)
{
    json_t *json = NULL;
    int r = service_images(call->o->service, &json, err);

    return reply_known(r, json, ret, ret_refusal, err);
}

int api_capacity(struct call *call, struct reply *ret, struct refusal *ret_refusal, struct err *err)
{
    json_t *json = NULL;
    int r = service_capacity(call->o->service, &json, err);

    return reply_known(r, json, ret, ret_refusal, err);
}

/* The process lives and its loop turns: nothing else is asked. */
int api_healthz(struct call *call, struct reply *ret, struct refusal *ret_refusal, struct err *err)
{
    (void)call;
    (void)ret_refusal;
    return reply_constant(ret, 200, "text/plain; charset=utf-8", "ok\n", 3, err);
}

int api_readyz(struct call *call, struct reply *ret, struct refusal *ret_refusal, struct err *err)
{
    const char *why = NULL;

    if (!service_ready(call->o->service, &why)) {
        (void)problem_set(ret_refusal, PROBLEM_NOT_READY, "", "%s", why);
        ret_refusal->retry_after_s = 5;
        return -EINVAL;
    }
    return reply_constant(ret, 200, "text/plain; charset=utf-8", "ready\n", 6, err);
}

int api_metrics(struct call *call, struct reply *ret, struct refusal *ret_refusal, struct err *err)
{
    auto_buf struct buf text = BUF_INIT(1 * MIB);

    if (call->o->metrics == NULL) {
        return problem_set(ret_refusal, PROBLEM_NOT_FOUND, "", "no metrics are kept");
    }
    metrics_set(call->o->metrics, METRIC_LOG_LOST, 0,
                call->o->log != NULL ? log_lost(call->o->log) : 0);
    if (metrics_text(call->o->metrics, &text) < 0) {
        return err_set(err, ERR_HOST, ENOMEM, "write the metrics: out of memory");
    }
    return reply_bytes(ret, 200, "text/plain; version=0.0.4; charset=utf-8", text.data, text.len,
                       err);
}

int api_openapi(struct call *call, struct reply *ret, struct refusal *ret_refusal, struct err *err)
{
    (void)call;
    (void)ret_refusal;
    return reply_constant(ret, 200, "application/json", openapi_json, openapi_json_len, err);
}
