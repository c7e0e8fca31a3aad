#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "image/manifest.h"
#include "sup/engine-vmm.h"
#include "sup/engine.h"
#include "sys/fd.h"
#include "sys/memo.h"

/* A memo begins with how the probe ended. */
#define WORKS "works "
#define FAILS "fails "

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

static bool recall(const struct store *store, const struct tried *tried, struct engine_probe *ret)
{
    auto_buf struct buf text = BUF_INIT(4096);
    size_t head = strlen(WORKS);

    if (!memo_get(store->dirfd, tried->name, &tried->files, &text) || text.len < head) {
        return false;
    }
    *ret = (struct engine_probe){.works = memcmp(text.data, WORKS, head) == 0, .remembered = true};
    (void)snprintf(ret->why, sizeof(ret->why), "%.*s", (int)(text.len - head),
                   (const char *)text.data + head);
    return ret->works || memcmp(text.data, FAILS, head) == 0;
}

static void keep(const struct store *store, const struct tried *tried,
                 const struct engine_probe *probe)
{
    char text[sizeof(WORKS) + sizeof(probe->why)];
    int n = snprintf(text, sizeof(text), "%s%s", probe->works ? WORKS : FAILS, probe->why);

    memo_put(store->dirfd, tried->name, &tried->files, text, (size_t)n);
}

int engine_probe_kvm(const struct engine_wish *wish, bool anew, struct engine_probe *ret,
                     struct err *err)
{
    auto_tried struct tried tried = {.files = MEMO_INIT};
    auto_fd int device = -1;
    int r = fd_open(AT_FDCWD, "/dev/kvm", O_RDWR, 0, &device, err);

    if (r == 0) {
        r = what_is_tried(wish->store, &tried, err);
    }
    if (r < 0 || (!anew && recall(wish->store, &tried, ret))) {
        return r;
    }
    if (wish->probing != NULL) {
        wish->probing(wish->ctx);
    }
    r = engine_probe(wish, &engine_kvm, ret, err);
    if (r == 0) {
        keep(wish->store, &tried, ret);
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
