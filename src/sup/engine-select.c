#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/manifest.h"
#include "sup/engine-vmm.h"
#include "sup/engine.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/memo.h"

/*
 * A memo begins with how the probe ended. That time was up proves nothing, so when that was (seconds since
 * the host's boot, a blank behind them) is in it, too.
 */
#define WORKS "works "
#define FAILS "fails "
#define LATE  "late: "

/* What a probe was made with: device and monitor as files, the guest by its digest as a name. */
struct tried {
    struct memo files;
    char name[64];
};

static void tried_fini(struct tried *t)
{
    memo_fini(&t->files);
}

#define auto_tried on_scope_exit(tried_fini)

static int what_is_tried(const struct store *store, struct tried *ret, struct err *err)
{
    auto_kernel_manifest struct kernel_manifest guest = {0};
    char monitor[VMM_PATH_MAX];
    int r = vmm_find(monitor, err);

    if (r == 0) {
        r = store_read_kernel(store, &guest, err);
    }
    if (r == 0) {
        r = memo_begin(&ret->files, err);
    }
    if (r == 0) {
        r = memo_add_path(&ret->files, "/dev/kvm", err);
    }
    if (r == 0) {
        r = memo_add_path(&ret->files, monitor, err);
    }
    (void)snprintf(ret->name, sizeof(ret->name), "engine-kvm-%.32s", guest.initramfs.digest.hex);
    return r;
}

static uint64_t now_s(void)
{
    return clock_ns(CLOCK_BOOTTIME) / NS_PER_S;
}

/* *ret_late_s: when time was up. */
static bool recall(const struct store *store, const struct tried *tried, struct engine_probe *ret,
                   uint64_t *ret_late_s)
{
    auto_buf struct buf text = BUF_INIT(4096);
    const char *why = NULL;
    char *end = NULL;

    if (!memo_get(store->dirfd, tried->name, &tried->files, &text) || text.len < strlen(WORKS) ||
        buf_put(&text, "", 1) < 0) {
        return false;
    }
    why = (const char *)text.data + strlen(WORKS);
    *ret = (struct engine_probe){.works = memcmp(text.data, WORKS, strlen(WORKS)) == 0,
                                 .late = memcmp(text.data, LATE, strlen(LATE)) == 0,
                                 .remembered = true};
    if (ret->late) {
        *ret_late_s = strtoull(why, &end, 10);
        if (*end != ' ') {
            return false;
        }
        why = end + 1;
        ret->due = now_s() < *ret_late_s || now_s() - *ret_late_s >= ENGINE_AGAIN_NS / NS_PER_S;
    }
    (void)snprintf(ret->why, sizeof(ret->why), "%s", why);
    return ret->works || ret->late || memcmp(text.data, FAILS, strlen(FAILS)) == 0;
}

static void keep(const struct store *store, const struct tried *tried,
                 const struct engine_probe *probe, uint64_t late_s)
{
    char text[sizeof(LATE) + 24 + sizeof(probe->why)];
    int n = 0;

    if (probe->late) {
        n = snprintf(text, sizeof(text), LATE "%llu %s", (unsigned long long)late_s, probe->why);
    } else {
        n = snprintf(text, sizeof(text), "%s%s", probe->works ? WORKS : FAILS, probe->why);
    }
    memo_put(store->dirfd, tried->name, &tried->files, text, (size_t)n);
}

int engine_probe_kvm(const struct engine_wish *wish, bool anew, struct engine_probe *ret,
                     struct err *err)
{
    auto_tried struct tried tried = {.files = MEMO_INIT};
    struct engine_probe before = {.works = false};
    auto_fd int device = -1;
    uint64_t late_s = 0;
    int r = fd_open(AT_FDCWD, "/dev/kvm", O_RDWR, 0, &device, err);

    if (r == 0) {
        r = what_is_tried(wish->store, &tried, err);
    }
    if (r < 0) {
        return r;
    }
    if (!anew && recall(wish->store, &tried, &before, &late_s)) {
        *ret = before;
        if (!before.due || !wish->again) {
            return 0;
        }
        keep(wish->store, &tried, &before, now_s()); /* the others need not try at the same time */
    }
    if (wish->probing != NULL) {
        wish->probing(wish->ctx);
    }
    r = engine_probe(wish, &engine_kvm, ret, err);
    if (r == 0) {
        keep(wish->store, &tried, ret, now_s());
    } else if (before.due) {
        keep(wish->store, &tried, &before, late_s); /* it was not made */
    }
    return r;
}

static const char *remembered(const struct engine_probe *probe)
{
    if (!probe->remembered) {
        return "";
    }
    return probe->late
               ? " (found out before; tried again when that is an hour old, and by 'airlock "
                 "doctor')"
               : " (found out before; 'airlock doctor' tries again)";
}

int engine_select(const struct engine_wish *wish, const struct engine **ret, struct err *err)
{
    bool must = wish->wanted == SPEC_ENGINE_KVM || wish->weakest == SPEC_ISOLATION_HARDWARE;
    const char *option = wish->wanted == SPEC_ENGINE_KVM ? "--engine kvm" : "--isolation hardware";
    struct engine_probe probe = {.works = false};
    struct engine_wish asked = *wish;
    struct err why = ERR_INIT;
    int r = 0;

    asked.again = wish->again && must; /* who can run on tcg does not wait once more */
    *ret = &engine_tcg;
    if (wish->wanted == SPEC_ENGINE_TCG) {
        return wish->weakest != SPEC_ISOLATION_HARDWARE
                   ? 0
                   : err_set(err, ERR_USAGE, ENODEV,
                             "engine tcg gives isolation 'emulated', not 'hardware'; leave out "
                             "--engine tcg or --isolation hardware");
    }
    r = engine_probe_kvm(&asked, false, &probe, &why);
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
                   r < 0 ? why.msg : probe.why, r < 0 ? "" : remembered(&probe), option);
}
