#include "fake-service.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/jobstore.h"
#include "daemon/problem.h"
#include "daemon/request.h"
#include "job/verdict.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/unique.h"

struct fake_job {
    struct service *service;
    struct job_info info;
    struct jobfiles files;
    char key[JOB_KEY_SIZE];
    struct digest body;
    bool hang;
    char *program;
    size_t program_len;
    struct event *timer;
};

struct service {
    struct event_base *base;
    int jobs_fd;
    bool play, tokens, ready;
    size_t room;
    struct fake_job jobs[FAKE_JOBS];
    size_t n;
    struct service_watch *watches;
    struct service_job last;
    bool has_last;
};

int fake_service_new(struct event_base *base, const char *dir, bool play, struct service **ret,
                     struct err *err)
{
    struct service *s = calloc(1, sizeof(*s));

    if (s == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    s->base = base;
    s->play = play;
    s->ready = true;
    s->room = FAKE_JOBS;
    s->jobs_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->jobs_fd < 0) {
        free(s);
        return err_sys(err, "open %s", dir);
    }
    *ret = s;
    return 0;
}

void fake_service_free(struct service *s)
{
    struct err err = ERR_INIT;

    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < s->n; i++) {
        jobfiles_fini(&s->jobs[i].files);
        free(s->jobs[i].program);
        if (s->jobs[i].timer != NULL) {
            event_free(s->jobs[i].timer);
        }
        (void)!jobfiles_remove(s->jobs_fd, s->jobs[i].info.id, false, &err);
    }
    if (s->has_last) {
        service_job_fini(&s->last);
    }
    (void)close(s->jobs_fd);
    free(s);
}

void fake_use_tokens(struct service *s, bool use)
{
    s->tokens = use;
}

void fake_set_room(struct service *s, size_t jobs)
{
    s->room = jobs;
}

void fake_set_ready(struct service *s, bool ready)
{
    s->ready = ready;
}

int fake_authorize(void *ctx, const char *authorization, bool local, struct tenant *ret_tenant,
                   struct refusal *ret_refusal, struct err *err)
{
    static const char scheme[] = "Bearer alk_";
    const struct service *s = ctx;

    (void)err;
    *ret_tenant = (struct tenant){.name = TENANT_LOCAL};
    if (!s->tokens && local) {
        return 0;
    }
    if (authorization == NULL || strlen(authorization) != sizeof(scheme) ||
        strncmp(authorization, scheme, sizeof(scheme) - 1) != 0) {
        return problem_set(ret_refusal, PROBLEM_UNAUTHORIZED, "", "a token is needed");
    }
    ret_tenant->name[0] = authorization[sizeof(scheme) - 1];
    ret_tenant->name[1] = '\0';
    return 0;
}

const char *fake_last(const struct service *s)
{
    return s->n > 0 ? s->jobs[s->n - 1].info.id : "";
}

size_t fake_accepted(const struct service *s)
{
    return s->n;
}

size_t fake_watches(const struct service *s)
{
    size_t n = 0;

    for (const struct service_watch *w = s->watches; w != NULL; w = w->next) {
        n++;
    }
    return n;
}

const struct service_job *fake_job(const struct service *s)
{
    return s->has_last ? &s->last : NULL;
}

static struct fake_job *find(struct service *s, const char *tenant, const char *id)
{
    for (size_t i = 0; i < s->n; i++) {
        if (strcmp(s->jobs[i].info.id, id) == 0 &&
            (tenant == NULL || strcmp(s->jobs[i].info.tenant, tenant) == 0)) {
            return &s->jobs[i];
        }
    }
    return NULL;
}

/* A test that names a job which is not there is wrong. */
static struct fake_job *known(struct service *s, const char *id)
{
    struct fake_job *j = find(s, NULL, id);

    if (j == NULL) {
        abort();
    }
    return j;
}

static int not_found(struct err *err)
{
    return err_set(err, ERR_USAGE, ENOENT, "there is no such job");
}

static void news(struct service *s, const char *id)
{
    struct service_watch *next = NULL;

    for (struct service_watch *w = s->watches; w != NULL; w = next) {
        next = w->next;
        if (strcmp(w->id, id) == 0) {
            w->changed(w);
        }
    }
}

int fake_run(struct service *s, const char *id, struct err *err)
{
    struct fake_job *j = known(s, id);
    int r = 0;

    j->info.state = JOB_RUNNING;
    j->info.attempts = 1;
    j->info.started_ms = clock_ns(CLOCK_REALTIME) / NS_PER_MS;
    r = jobfiles_put_state(&j->files, JOB_RUNNING, err);
    news(s, id);
    return r;
}

int fake_print(struct service *s, const char *id, const void *data, size_t len, struct err *err)
{
    struct fake_job *j = known(s, id);
    int r = jobfiles_put_stream(&j->files, JOBFILES_STDOUT, data, len, err);

    news(s, id);
    return r;
}

static int put_output(struct fake_job *j, struct err *err)
{
    int r = 0;
    int fd = -1;

    if (mkdirat(j->files.dirfd, "out", 0700) < 0 && errno != EEXIST) {
        return err_sys(err, "make out");
    }
    r = fd_open_nolink(j->files.dirfd, "out/answer.txt", O_WRONLY | O_CREAT, 0600, &fd, err);
    if (r == 0) {
        r = fd_write_full(fd, "0123456789", 10, err);
        (void)close(fd);
    }
    return r;
}

int fake_end(struct service *s, const char *id, int verdict, struct err *err)
{
    struct fake_job *j = known(s, id);
    char text[512];
    int n = 0;
    int r = put_output(j, err);

    n = snprintf(text, sizeof(text),
                 "{\"verdict\":\"%s\",\"reason\":null,\"message\":\"it ended\",\"stdout\":"
                 "{\"encoding\":null,\"data\":null,\"bytes\":%llu,\"truncated\":false},\"stderr\":"
                 "{\"encoding\":null,\"data\":null,\"bytes\":0,\"truncated\":false}}",
                 verdict_name((enum airlock_verdict)verdict),
                 (unsigned long long)j->files.stdout_bytes);
    j->info.state = JOB_ENDED;
    j->info.verdict = verdict;
    j->info.ended_ms = clock_ns(CLOCK_REALTIME) / NS_PER_MS;
    if (r == 0) {
        r = jobfiles_put_state(&j->files, JOB_ENDED, err);
    }
    if (r == 0) {
        r = jobfiles_put_result(&j->files, text, (size_t)n, err);
    }
    news(s, id);
    return r;
}

/* Two steps of a job that lives by itself. */
static void on_play(evutil_socket_t fd, short what, void *ctx)
{
    struct fake_job *j = ctx;
    struct timeval tv = {.tv_usec = 20000};
    struct err err = ERR_INIT;
    int r = 0;

    (void)fd;
    (void)what;
    if (j->info.state == JOB_ENDED) {
        return;
    }
    if (j->info.state == JOB_QUEUED) {
        r = fake_run(j->service, j->info.id, &err);
        (void)evtimer_add(j->timer, &tv);
    } else if (!j->hang) {
        r = fake_print(j->service, j->info.id, j->program, j->program_len, &err);
        if (r == 0) {
            r = fake_end(j->service, j->info.id, AIRLOCK_SUCCESS, &err);
        }
    }
    if (r < 0) {
        (void)fprintf(stderr, "fake service: %s\n", err.msg);
    }
}

static int start_playing(struct fake_job *j, const struct spec *spec, struct err *err)
{
    struct timeval tv = {.tv_usec = 20000};

    j->program_len = spec->program_len;
    j->program = malloc(spec->program_len + 1);
    j->timer = evtimer_new(j->service->base, on_play, j);
    if (j->program == NULL || j->timer == NULL || evtimer_add(j->timer, &tv) < 0) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    if (spec->program_len > 0) {
        memcpy(j->program, spec->program_data, spec->program_len);
    }
    j->hang = spec->program_len == 4 && memcmp(j->program, "hang", 4) == 0;
    return 0;
}

static struct fake_job *find_key(struct service *s, const char *tenant, const char *key)
{
    for (size_t i = 0; key[0] != '\0' && i < s->n; i++) {
        if (strcmp(s->jobs[i].key, key) == 0 && strcmp(s->jobs[i].info.tenant, tenant) == 0) {
            return &s->jobs[i];
        }
    }
    return NULL;
}

static size_t living(const struct service *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        n += s->jobs[i].info.state != JOB_ENDED ? 1 : 0;
    }
    return n;
}

int service_submit(struct service *s, const struct tenant *tenant, struct service_job *job,
                   struct job_info *ret, struct refusal *ret_refusal, struct err *err)
{
    struct fake_job *j = find_key(s, tenant->name, job->key);
    int r = 0;

    if (j != NULL) {
        if (!digest_equal(&j->body, &job->body)) {
            return problem_set(ret_refusal, PROBLEM_KEY_REUSED, "Idempotency-Key",
                               "the key was used with another body");
        }
        *ret = j->info;
        return 1;
    }
    if (s->n == FAKE_JOBS || living(s) >= s->room) {
        r = problem_set(ret_refusal, PROBLEM_QUEUE_FULL, "", "the queue is full");
        ret_refusal->retry_after_s = 3;
        return r;
    }
    j = &s->jobs[s->n];
    *j = (struct fake_job){.service = s, .files = JOBFILES_INIT, .body = job->body};
    j->info = (struct job_info){.verdict = -1, .priority = job->priority};
    r = unique_id(j->info.id, err);
    memcpy(j->info.tenant, tenant->name, sizeof(j->info.tenant));
    memcpy(j->key, job->key, sizeof(j->key));
    j->info.created_ms = clock_ns(CLOCK_REALTIME) / NS_PER_MS;
    j->info.deadline_ms = job->deadline_ms > 0 ? j->info.created_ms + job->deadline_ms : 0;
    if (r == 0) {
        r = jobfiles_create(s->jobs_fd, j->info.id, &j->files, err);
    }
    if (r == 0) {
        s->n++;
        r = jobfiles_put_state(&j->files, JOB_QUEUED, err);
    }
    if (r == 0 && s->play) {
        r = start_playing(j, &job->spec, err);
    }
    if (s->has_last) {
        service_job_fini(&s->last);
    }
    s->last = *job; /* its owner must not free what is in it */
    s->has_last = true;
    service_job_init(job);
    *ret = j->info;
    return r;
}

int service_get(struct service *s, const struct tenant *tenant, const char *id,
                struct job_info *ret, struct err *err)
{
    const struct fake_job *j = find(s, tenant->name, id);

    if (j == NULL) {
        return not_found(err);
    }
    *ret = j->info;
    return 0;
}

int service_list(struct service *s, const struct tenant *tenant, const struct job_filter *filter,
                 struct jobstore_page *page, struct err *err)
{
    bool begun = filter->after[0] == '\0';

    page->n = 0;
    page->more = false;
    for (size_t i = s->n; i > 0; i--) {
        const struct job_info *info = &s->jobs[i - 1].info;

        if (!begun) {
            begun = strcmp(info->id, filter->after) == 0;
        } else if (strcmp(info->tenant, tenant->name) == 0 &&
                   (filter->state < 0 || filter->state == (int)info->state) &&
                   (filter->verdict < 0 || filter->verdict == info->verdict)) {
            if (page->n == page->max) {
                page->more = true;
                break;
            }
            page->jobs[page->n++] = *info;
        }
    }
    return begun ? 0 : not_found(err);
}

int service_cancel(struct service *s, const struct tenant *tenant, const char *id,
                   struct job_info *ret, struct err *err)
{
    struct fake_job *j = find(s, tenant->name, id);
    int r = 0;

    if (j == NULL) {
        return not_found(err);
    }
    j->info.cancel = true;
    if (j->info.state == JOB_QUEUED || j->hang) {
        r = fake_end(s, id, AIRLOCK_CANCELED, err);
    }
    *ret = j->info;
    return r;
}

int service_purge(struct service *s, const struct tenant *tenant, const char *id, struct err *err)
{
    struct fake_job *j = find(s, tenant->name, id);

    if (j == NULL || j->info.purged) {
        return not_found(err);
    }
    if (j->info.state != JOB_ENDED) {
        return err_set(err, ERR_USAGE, EBUSY, "the job has not ended");
    }
    j->info.purged = true;
    jobfiles_fini(&j->files);
    return jobfiles_remove(s->jobs_fd, id, true, err);
}

int service_files(struct service *s, const struct tenant *tenant, const char *id, int *ret_dirfd,
                  struct err *err)
{
    const struct fake_job *j = find(s, tenant->name, id);

    if (j == NULL || j->info.purged) {
        return not_found(err);
    }
    return fd_open_nolink(s->jobs_fd, id, O_RDONLY | O_DIRECTORY, 0, ret_dirfd, err);
}

void service_watch(struct service *s, const char *id, struct service_watch *watch)
{
    memcpy(watch->id, id, sizeof(watch->id));
    watch->next = s->watches;
    watch->at = &s->watches;
    if (s->watches != NULL) {
        s->watches->at = &watch->next;
    }
    s->watches = watch;
}

void service_unwatch(struct service_watch *watch)
{
    *watch->at = watch->next;
    if (watch->next != NULL) {
        watch->next->at = watch->at;
    }
}

int service_images(struct service *s, json_t **ret, struct err *err)
{
    if (!s->ready) {
        return err_set(err, ERR_HOST, EAGAIN, "the images are not known yet");
    }
    *ret = json_pack("{s:[{s:s}]}", "images", "name", "python");
    return *ret != NULL ? 0 : err_set(err, ERR_HOST, ENOMEM, "out of memory");
}

int service_capacity(struct service *s, json_t **ret, struct err *err)
{
    if (!s->ready) {
        return err_set(err, ERR_HOST, EAGAIN, "the capacity is not known yet");
    }
    *ret = json_pack("{s:i}", "room", (int)s->room);
    return *ret != NULL ? 0 : err_set(err, ERR_HOST, ENOMEM, "out of memory");
}

int service_record(struct service *s, const struct tenant *tenant, const char *id, json_t **ret,
                   struct err *err)
{
    const struct fake_job *j = find(s, tenant->name, id);

    if (j == NULL || j->info.state != JOB_ENDED) {
        return not_found(err);
    }
    *ret = json_pack("{s:s}", "job", id);
    return *ret != NULL ? 0 : err_set(err, ERR_HOST, ENOMEM, "out of memory");
}

bool service_ready(const struct service *s, const char **ret_why)
{
    *ret_why = "the service is asked not to be";
    return s->ready;
}
