#include "cli/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"

#include "airlock/verdict.h"
#include "cli/opt.h"
#include "image/build.h"
#include "image/store.h"
#include "sys/fd.h"

void batch_say(const char *command, const char *text)
{
    auto_buf struct buf line = BUF_INIT(16 * KIB);

    if (str_escape(&line, text, strlen(text), false) == 0 && line.len > 0) {
        (void)fprintf(stderr, "airlock %s: %s\n", command, (const char *)line.data);
    }
}

int batch_exit_code(const char *command, int r, const struct err *err)
{
    batch_say(command, err->msg);
    if (r == -EINTR) {
        return AIRLOCK_CANCELED;
    }
    return err->class == ERR_USAGE ? OPT_EXIT_USAGE : AIRLOCK_SANDBOX_FAILURE;
}

unsigned int batch_processors(unsigned int max)
{
    cpu_set_t cpus;
    int n = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 1;

    return n > (int)max ? max : (unsigned int)n;
}

int batch_engine(const char *state, const char *wanted, const struct engine **ret, struct err *err)
{
    auto_store struct store store = STORE_INIT;
    struct engine_wish wish = {
        .store = &store, .wanted = SPEC_ENGINE_AUTO, .weakest = SPEC_ISOLATION_EMULATED};
    int r = store_open(state, &store, err);

    if (wanted != NULL && strcmp(wanted, "auto") != 0) {
        wish.wanted = strcmp(wanted, "kvm") == 0 ? SPEC_ENGINE_KVM : SPEC_ENGINE_TCG;
    }
    return r < 0 ? r : engine_select(&wish, ret, err);
}

static void on_step(void *ctx, const char *text)
{
    const char *const *command = ctx;

    batch_say(*command, text);
}

int batch_images(const char *command, const char *state, bool python, bool javascript,
                 struct err *err)
{
    auto_store struct store store = STORE_INIT;
    struct build_progress progress = {.step = on_step, .ctx = &command};
    int r = store_open(state, &store, err);

    if (r == 0 && python) {
        r = build_ensure(&store, "python", &progress, err);
    }
    if (r == 0 && javascript) {
        r = build_ensure(&store, "javascript", &progress, err);
    }
    return r;
}

int batch_directory(const char *command, size_t longest, char *dir, size_t size, int *ret_fd,
                    struct err *err)
{
    const char *wish = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe): one thread */
    const char *base = wish != NULL && wish[0] == '/' ? wish : "/tmp";
    auto_free char *real = realpath(base, NULL); /* inputs are opened without following links */
    int n = 0;

    dir[0] = '\0';
    if (real == NULL) {
        return err_sys(err, "directory '%s' for temporary files", base);
    }
    n = snprintf(dir, size, "%s/airlock-%s-XXXXXX", real, command);
    if (n < 0 || (size_t)n >= size - longest) {
        dir[0] = '\0';
        return err_usage(err, "TMPDIR is too long");
    }
    if (mkdtemp(dir) == NULL) {
        int r = err_sys(err, "make a directory '%s'", dir);

        dir[0] = '\0';
        return r;
    }
    return fd_open(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0, ret_fd, err);
}

int batch_signals(sigset_t *old, int *ret_fd, struct err *err)
{
    sigset_t set;

    if (sigemptyset(&set) < 0 || sigaddset(&set, SIGINT) < 0 || sigaddset(&set, SIGTERM) < 0 ||
        sigaddset(&set, SIGHUP) < 0) {
        return err_sys(err, "choose signals");
    }
    if (sigprocmask(SIG_BLOCK, &set, old) < 0) { /* NOLINT(concurrency-mt-unsafe): one thread */
        return err_sys(err, "block signals");
    }
    *ret_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return *ret_fd < 0 ? err_sys(err, "signalfd") : 0;
}
