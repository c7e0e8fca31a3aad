/*
 * How it works.  The slot goes back to the queue first: nothing of the host is in use any more.  Then
 * result, event and row are written, in this order, and each again until it is done: a disk that is
 * full delays what is told of the job, and nothing else.  A crash in between is put right by
 * recover.c, which finds the result without the row.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/service-internal.h"
#include "job/result-read.h"
#include "job/result.h"
#include "job/spec-wire.h"
#include "job/verdict.h"
#include "sys/clock.h"
#include "sys/fd.h"

static const struct timeval again_after = {.tv_sec = 1};

int ending_read(const uint8_t *json, size_t len, struct ending_said *ret, struct err *err)
{
    json_t *root = json_loadb((const char *)json, len, JSON_ALLOW_NUL, NULL);
    int verdict = verdict_find(json_string_value(json_object_get(root, "verdict")));
    const char *reason = json_string_value(json_object_get(root, "reason"));
    const char *message = json_string_value(json_object_get(root, "message"));
    const char *name = NULL;
    json_t *ok = NULL;
    json_int_t cpu = 0;

    *ret = (struct ending_said){.started = false};
    if (verdict < 0) {
        json_decref(root);
        return err_set(err, ERR_HOST, EPROTO, "the supervisor gave no readable result");
    }
    ret->verdict = (enum airlock_verdict)verdict;
    (void)snprintf(ret->reason, sizeof(ret->reason), "%s", reason != NULL ? reason : "");
    (void)snprintf(ret->message, sizeof(ret->message), "%s", message != NULL ? message : "");
    ret->started_ns = result_read_phase(root, "started_ns");
    ret->started = ret->started_ns != 0;
    ret->exited_ns = result_read_phase(root, "exited_ns");
    ret->total_ns = result_read_phase(root, "cleaned_ns");
    cpu = json_integer_value(json_object_get(json_object_get(root, "peaks"), "cpu_ns"));
    ret->cpu_ns = cpu > 0 ? (uint64_t)cpu : 0;
    json_object_foreach(json_object_get(json_object_get(root, "cleanup"), "checks"), name, ok)
    {
        ret->unclean += !json_is_true(ok);
    }
    json_decref(root);
    return 0;
}

/* Not for what was no fault of the program's, and could not be one. */
static bool is_charged(const struct ending_said *said)
{
    return said->started && said->verdict != AIRLOCK_CAPACITY_REJECTED;
}

static void tell(const struct active *a, const struct ending_said *said)
{
    struct service *s = a->s;
    struct metrics *m = s->c.metrics;

    metrics_add(m, METRIC_JOBS_ENDED, said->verdict, 1);
    metrics_add(m, METRIC_CLEANUP_FAILURES, 0, said->unclean);
    if (said->started) {
        metrics_observe(m, METRIC_PHASE_SECONDS, METRIC_PHASE_PREPARE, said->started_ns);
        metrics_observe(m, METRIC_PHASE_SECONDS, METRIC_PHASE_RUN,
                        result_read_span(said->started_ns, said->exited_ns));
        metrics_observe(m, METRIC_PHASE_SECONDS, METRIC_PHASE_FINISH,
                        result_read_span(said->exited_ns, said->total_ns));
    }
    metrics_observe(m, METRIC_PHASE_SECONDS, METRIC_PHASE_TOTAL,
                    (a->info.ended_ms - a->info.created_ms) * NS_PER_MS);
    log_event(s->c.log, said->unclean > 0 ? LOG_ERROR : LOG_INFO, "job-ended", a->info.id,
              LOG_TEXT("tenant", a->info.tenant), LOG_TEXT("verdict", verdict_name(said->verdict)),
              LOG_TEXT("reason", said->reason), LOG_NUMBER("attempts", a->info.attempts),
              LOG_NUMBER("total_ms", a->info.ended_ms - a->info.created_ms),
              LOG_NUMBER("cpu_ms", said->cpu_ns / NS_PER_MS), LOG_NUMBER("unclean", said->unclean));
}

static int drop_spec(struct active *a, struct err *err)
{
    uint64_t bytes = 0;
    int r = jobfiles_drop_spec(a->s->c.jobs_fd, a->info.id, &bytes, err);

    a->s->wipe_bytes += bytes;
    return r;
}

static int write_files(struct active *a, struct err *err)
{
    int r = 0;

    if (!a->files.over) {
        r = jobfiles_put_state(&a->files, JOB_ENDED, err);
        r = r < 0 ? r : jobfiles_put_result(&a->files, a->result.data, a->result.len, err);
    }
    r = r < 0 ? r : drop_spec(a, err);
    return r < 0 ? r : jobfiles_bytes(a->files.dirfd, &a->info.kept_bytes, err);
}

static int write_end(struct active *a, struct err *err)
{
    const struct ending_said *said = &a->said;
    struct jobstore_charge charge = {0};
    int r = a->result.len == 0    ? err_set(err, ERR_HOST, ENOMEM, "there is no result to write")
            : a->files.dirfd >= 0 ? write_files(a, err)
                                  : 0;

    if (r < 0) {
        return r;
    }
    a->info.state = JOB_ENDED;
    a->info.verdict = (int)said->verdict;
    memcpy(a->info.reason, said->reason, sizeof(a->info.reason));
    a->info.ended_ms = service_real_ms();
    a->info.ended_ms =
        a->info.ended_ms < a->info.created_ms ? a->info.created_ms : a->info.ended_ms;
    if (is_charged(said)) {
        charge = (struct jobstore_charge){
            .cpu_ns = said->cpu_ns, .wall_ns = result_read_span(said->started_ns, said->exited_ns)};
    }
    r = jobstore_end(a->s->c.store, &a->info, is_charged(said) ? &charge : NULL, err);
    if (r == 0) {
        tell(a, said);
    }
    return r;
}

static void on_again(evutil_socket_t fd, short what, void *ctx);

static void finish(struct active *a)
{
    struct service *s = a->s;
    struct err err = ERR_INIT;
    char id[JOB_ID_SIZE];
    int r = write_end(a, &err);

    if (r < 0) {
        service_complain(s, "end", a->info.id, &err);
        s->fault = "the end of a job can't be written down: is the disk full?";
        a->again = a->again != NULL ? a->again : evtimer_new(s->c.base, on_again, a);
        if (a->again != NULL) {
            (void)event_add(a->again, &again_after);
        }
        return;
    }
    s->fault = NULL;
    if (a->info.machine_id[0] != '\0') {
        upkeep_ask_record(s, &a->info, false, 0);
    }
    memcpy(id, a->info.id, sizeof(id));
    runner_drop(a);
    service_news(s, id);
}

static void on_again(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    finish(ctx);
}

static void give_slot_back(struct active *a)
{
    struct err ignored = ERR_INIT; /* -ENOENT: it has none */

    (void)!queue_ended(a->s->queue, a->info.id, is_charged(&a->said), clock_mono_ns(), &ignored);
}

/* Into initialised limits, which stay if nobody can say (any more) what was asked for. */
static void read_limits(int dirfd, struct spec_limits *ret)
{
    uint8_t head[SPEC_WIRE_HEAD_MAX];
    auto_spec struct spec spec;
    auto_fd int file = -1;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    spec_init(&spec);
    if (dirfd >= 0 && jobfiles_spec(dirfd, &file, &ignored) == 0 &&
        fd_pread_full(file, head, sizeof(head), 0, &len, &ignored) == 0 &&
        spec_decode_head(&spec, head, len, &ignored) == 0) {
        *ret = spec.limits;
    }
    explicit_bzero(head, sizeof(head)); /* its end may be of the program */
}

/* As GET of the stream has it. */
static struct result_stream kept(const struct active *a, uint64_t bytes, uint64_t cap, bool cut)
{
    bool full = !a->cut_known && bytes > 0 && bytes >= cap; /* nobody can say that it was all */

    return (struct result_stream){.bytes = a->faulty ? 0 : bytes,
                                  .truncated = cut || full || (a->faulty && bytes > 0)};
}

/* The result where no supervisor wrote one. */
static int own_result(const struct active *a, enum airlock_verdict verdict, const char *reason,
                      const char *text, struct buf *out)
{
    struct result_kept k = {.machine_id = a->info.machine_id};
    struct spec_limits limits;
    auto_spec struct spec defaults;

    spec_init(&defaults);
    limits = defaults.limits;
    read_limits(a->files.dirfd, &limits);
    k.out = kept(a, a->files.stdout_bytes, limits.stdout_bytes, a->stdout_cut);
    k.err = kept(a, a->files.stderr_bytes, limits.stderr_bytes, a->stderr_cut);
    return result_kept_json(&limits, &k, verdict, reason, text, out);
}

void ending_result(struct active *a, const uint8_t *json, size_t len)
{
    struct err err = ERR_INIT;

    if (a->ending) {
        return;
    }
    a->ending = true;
    if (a->ev != NULL) {
        event_free(a->ev);
        a->ev = NULL;
    }
    if (buf_put(&a->result, json, len) < 0 || ending_read(json, len, &a->said, &err) < 0) {
        a->said = (struct ending_said){.verdict = AIRLOCK_SANDBOX_FAILURE, .reason = "memory"};
        a->result.len = 0;
        if (own_result(a, AIRLOCK_SANDBOX_FAILURE, "memory", "there was no memory for the result",
                       &a->result) < 0) {
            service_complain(a->s, "memory", a->info.id, &err);
        }
    }
    give_slot_back(a);
    finish(a);
}

void ending_own(struct service *s, struct active *a, enum airlock_verdict verdict,
                const char *reason, const char *text)
{
    struct buf json = BUF_INIT(64 * KIB);

    if (own_result(a, verdict, reason, text, &json) < 0) {
        log_event(s->c.log, LOG_ERROR, "memory", a->info.id,
                  LOG_TEXT("verdict", verdict_name(verdict)));
    }
    ending_result(a, json.data, json.len);
    buf_fini(&json);
}

struct active *ending_load(struct service *s, const char *id)
{
    struct active *a = runner_new(s);
    struct err err = ERR_INIT;

    if (a == NULL) {
        return NULL;
    }
    a->answered = true;
    if (jobstore_get(s->c.store, NULL, id, &a->info, &err) < 0) {
        service_complain(s, "store", id, &err);
        runner_free(a);
        return NULL;
    }
    if (jobfiles_open(s->c.jobs_fd, id, &a->files, &err) < 0) {
        service_complain(s, "files", id, &err); /* then the row alone says what became of it */
    }
    a->next = s->active;
    s->active = a;
    return a;
}

void ending_waiting(struct service *s, const char *id, enum airlock_verdict verdict,
                    const char *reason, const char *text)
{
    struct active *a = ending_load(s, id);

    if (a != NULL) {
        ending_own(s, a, verdict, reason, text);
    }
}
