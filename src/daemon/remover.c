#include "daemon/remover.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "daemon/jobfiles.h"
#include "sys/fd.h"

struct remover {
    int jobs_fd;
    int done_fd;
    pthread_t thread;
    pthread_mutex_t lock; /* of the rest */
    pthread_cond_t news;
    bool asked, looks, ends;
    struct err why; /* of the last look that failed, until it was told */
};

static void *run(void *arg)
{
    struct remover *r = arg;
    uint64_t one = 1;

    (void)pthread_mutex_lock(&r->lock);
    while (r->asked || !r->ends) { /* what was asked for is done before the end */
        struct jobfiles_swept swept = {0};
        struct err err = ERR_INIT;

        if (!r->asked) {
            (void)pthread_cond_wait(&r->news, &r->lock);
            continue;
        }
        r->asked = false;
        r->looks = true;
        (void)pthread_mutex_unlock(&r->lock);
        (void)!jobfiles_sweep(r->jobs_fd, NULL, NULL, &swept, &err);
        (void)pthread_mutex_lock(&r->lock);
        r->looks = false;
        if (err.class != ERR_NONE) {
            r->why = err;
        }
        (void)!write(r->done_fd, &one, sizeof(one));
    }
    (void)pthread_mutex_unlock(&r->lock);
    return NULL;
}

static int start_thread(struct remover *r)
{
    sigset_t all;
    sigset_t old;
    int e = 0;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    e = pthread_create(&r->thread, NULL, run, r);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return e;
}

int remover_start(int jobs_fd, struct remover **ret, struct err *err)
{
    auto_free struct remover *r = calloc(1, sizeof(*r));
    auto_fd int done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int e = 0;

    if (r == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    if (done < 0) {
        return err_sys(err, "eventfd");
    }
    r->jobs_fd = jobs_fd;
    r->done_fd = done;
    (void)pthread_mutex_init(&r->lock, NULL);
    (void)pthread_cond_init(&r->news, NULL);
    e = start_thread(r);
    if (e != 0) {
        return err_sys_num(err, e, "start the thread that removes jobs' files");
    }
    (void)STEAL_FD(&done);
    *ret = STEAL_PTR(&r);
    return 0;
}

void remover_free(struct remover *r)
{
    if (r == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&r->lock);
    r->ends = true;
    (void)pthread_cond_signal(&r->news);
    (void)pthread_mutex_unlock(&r->lock);
    (void)pthread_join(r->thread, NULL);
    (void)pthread_cond_destroy(&r->news);
    (void)pthread_mutex_destroy(&r->lock);
    fd_close_p(&r->done_fd);
    free(r);
}

void remover_ask(struct remover *r)
{
    (void)pthread_mutex_lock(&r->lock);
    r->asked = true;
    (void)pthread_cond_signal(&r->news);
    (void)pthread_mutex_unlock(&r->lock);
}

int remover_fd(const struct remover *r)
{
    return r->done_fd;
}

int remover_done(struct remover *r, struct err *err)
{
    uint64_t n = 0;
    int e = 0;

    (void)!read(r->done_fd, &n, sizeof(n));
    (void)pthread_mutex_lock(&r->lock);
    if (r->why.class != ERR_NONE) {
        *err = STEAL(&r->why, (struct err)ERR_INIT);
        e = -err->errnum;
    }
    (void)pthread_mutex_unlock(&r->lock);
    return e;
}

bool remover_idle(struct remover *r)
{
    bool idle = false;

    (void)pthread_mutex_lock(&r->lock);
    idle = !r->asked && !r->looks;
    (void)pthread_mutex_unlock(&r->lock);
    return idle;
}
