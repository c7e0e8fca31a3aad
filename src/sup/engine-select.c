#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "sup/engine-qemu.h"
#include "sup/engine.h"
#include "sys/fd.h"
#include "sys/memo.h"
#include "sys/proc.h"

#define MEMO_NAME "engine-kvm"
/* A memo begins with how the probe ended. */
#define WORKS "works "
#define FAILS "fails "

static int name_files(const struct store *store, struct memo *memo, struct err *err)
{
    auto_free char *kernel = NULL;
    char monitor[PROC_PATH_MAX];
    int r = proc_find(QEMU_NAME, QEMU_PACKAGE, monitor, err);

    if (r == 0) {
        r = store_path(store, "kernel.json", &kernel, err);
    }
    if (r == 0) {
        r = memo_begin(memo, err);
    }
    if (r == 0) {
        r = memo_add_path(memo, "/dev/kvm", err);
    }
    if (r == 0) {
        r = memo_add_path(memo, monitor, err);
    }
    return r < 0 ? r : memo_add_path(memo, kernel, err);
}

static bool recall(const struct store *store, const struct memo *memo, struct engine_probe *ret)
{
    auto_buf struct buf text = BUF_INIT(4096);
    size_t head = strlen(WORKS);

    if (!memo_get(store->dirfd, MEMO_NAME, memo, &text) || text.len < head) {
        return false;
    }
    *ret = (struct engine_probe){.works = memcmp(text.data, WORKS, head) == 0, .remembered = true};
    (void)snprintf(ret->why, sizeof(ret->why), "%.*s", (int)(text.len - head),
                   (const char *)text.data + head);
    return ret->works || memcmp(text.data, FAILS, head) == 0;
}

static void keep(const struct store *store, const struct memo *memo,
                 const struct engine_probe *probe)
{
    char text[sizeof(WORKS) + sizeof(probe->why)];
    int n = snprintf(text, sizeof(text), "%s%s", probe->works ? WORKS : FAILS, probe->why);

    memo_put(store->dirfd, MEMO_NAME, memo, text, (size_t)n);
}

int engine_probe_kvm(const struct engine_wish *wish, bool anew, struct engine_probe *ret,
                     struct err *err)
{
    auto_memo struct memo memo = MEMO_INIT;
    auto_fd int device = -1;
    int r = fd_open(AT_FDCWD, "/dev/kvm", O_RDWR, 0, &device, err);

    if (r == 0) {
        r = name_files(wish->store, &memo, err);
    }
    if (r < 0 || (!anew && recall(wish->store, &memo, ret))) {
        return r;
    }
    r = engine_probe(wish, &engine_kvm, ret, err);
    if (r == 0) {
        keep(wish->store, &memo, ret);
    }
    return r;
}

int engine_select(const struct engine_wish *wish, const struct engine **ret, struct err *err)
{
    bool must = wish->wanted == SPEC_ENGINE_KVM || wish->weakest == SPEC_ISOLATION_HARDWARE;
    const char *option = wish->wanted == SPEC_ENGINE_KVM ? "--engine kvm" : "--isolation hardware";
    struct engine_probe probe = {.works = false};
    struct err why = ERR_INIT;
    int r = 0;

    *ret = &engine_tcg;
    if (wish->wanted == SPEC_ENGINE_TCG) {
        return wish->weakest != SPEC_ISOLATION_HARDWARE
                   ? 0
                   : err_set(err, ERR_USAGE, ENODEV,
                             "engine tcg gives isolation 'emulated', not 'hardware'; leave out "
                             "--engine tcg or --isolation hardware");
    }
    r = engine_probe_kvm(wish, false, &probe, &why);
    if (r < 0 && why.class == ERR_LIMIT && why.errnum == ECANCELED) {
        *err = why;
        return r;
    }
    if (r == 0 && probe.works) {
        *ret = &engine_kvm;
        return 0;
    }
    if (!must) {
        return 0;
    }
    return err_set(err, ERR_USAGE, ENODEV,
                   "engine kvm does not work here: %.400s%s; leave out %s to use engine tcg "
                   "(isolation 'emulated')",
                   r < 0 ? why.msg : probe.why,
                   probe.remembered ? " (found out before; 'airlock doctor' tries again)" : "",
                   option);
}
