#include "sup/template-prepare.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"

#include "sup/host.h"
#include "sup/ledger.h"
#include "sup/warm.h"
#include "sys/unique.h"

#define CONSOLE_KEEP 4096
#define WORDS_MAX    512

/* One size only: each other one would be a template more; and root's has another owner. */
bool template_mounts(const struct spec *spec)
{
    return !spec->root && spec_disk_is_default(&spec->limits);
}

struct machine_config template_machine(const struct spec *spec, const struct store *store,
                                       const struct store_boot *boot, uint64_t tsc_khz, uid_t uid)
{
    struct machine_config config = MACHINE_CONFIG_INIT;
    const char *why = NULL;

    config.vcpus = spec->limits.vcpus;
    config.memory_bytes = engine_machine_bytes(spec->limits.memory_bytes);
    config.tsc_khz = tsc_khz;
    config.kernel_fd = boot->kernel_fd;
    config.initramfs_fd = boot->initramfs_fd;
    config.root_fd = boot->root_fd;
    config.uid = uid;
    config.memo_dirfd = store->dirfd;
    config.warm = warm_for(spec, &why);
    if (template_mounts(spec)) {
        config.mounted_bytes = spec->limits.disk_bytes;
        config.mounted_inodes = spec->limits.inodes;
    }
    return config;
}

bool template_fits(const struct template *t, const struct spec *spec)
{
    return !t->interpreter.waits ||
           t->interpreter.bytes + WARM_MARGIN_BYTES <= spec->limits.memory_bytes;
}

int template_take_for(const struct spec *spec, struct template_request *q, struct template *ret,
                      struct err *err)
{
    auto_template struct template t = TEMPLATE_INIT;
    const char *why = NULL;
    int r = 0;

    q->model = spec;
    q->config.warm = warm_for(spec, &why);
    r = template_take(q, &t, err);
    if (r == 0 && !template_fits(&t, spec)) {
        template_fini(&t);
        q->config.warm = NULL;
        r = template_take(q, &t, err);
    }
    if (r < 0) {
        return r;
    }
    *ret = t;
    t = (struct template)TEMPLATE_INIT;
    return 0;
}

struct prepare {
    const struct spec *spec;
    const struct template_watch *watch;
    char console[CONSOLE_KEEP]; /* the first of it, then the last */
    size_t console_len;
};

static bool stop(void *ctx)
{
    const struct prepare *p = ctx;

    return p->watch->stop != NULL && p->watch->stop(p->watch->ctx);
}

static void progress(void *ctx, enum template_step step)
{
    const struct prepare *p = ctx;

    if (p->watch->progress != NULL) {
        p->watch->progress(p->watch->ctx, step);
    }
}

/* Keeps the end: the last line says why a boot failed. */
static void console(void *ctx, const char *text, size_t len)
{
    struct prepare *p = ctx;
    size_t keep = 0;

    if (len > CONSOLE_KEEP) {
        text += len - CONSOLE_KEEP;
        len = CONSOLE_KEEP;
    }
    keep = CONSOLE_KEEP - len < p->console_len ? CONSOLE_KEEP - len : p->console_len;
    memmove(p->console, p->console + (p->console_len - keep), keep);
    memcpy(p->console + keep, text, len);
    p->console_len = keep + len;
}

static int take(struct template_request *q, const struct prepare *p, struct template_prepared *ret,
                struct err *err)
{
    auto_template struct template t = TEMPLATE_INIT;
    char words[WORDS_MAX] = "";
    int r = template_take_for(p->spec, q, &t, err);

    if (r < 0 && err->errnum != ECANCELED) {
        engine_last_words(p->console, p->console_len, words, sizeof(words));
        r = words[0] == '\0' ? r : err_wrap(err, "last words on its console: %.200s", words);
    }
    if (r == 0) {
        ret->key = t.key;
        ret->built = t.built;
        ret->warm = t.interpreter.waits;
    }
    return r;
}

int template_prepare(const struct store *store, const struct spec *spec,
                     const struct template_watch *watch, struct template_prepared *ret,
                     struct err *err)
{
    struct host_tsc tsc = host_tsc_now();
    auto_store_boot struct store_boot boot = STORE_BOOT_INIT;
    auto_ledger_slot struct ledger_slot slot = LEDGER_SLOT_INIT;
    const struct ledger_capacity by_host = {0};
    struct prepare p = {.spec = spec, .watch = watch};
    const struct engine *engine = NULL;
    char id[UNIQUE_ID_SIZE];
    char monitor[128];
    uint64_t machine_bytes = engine_machine_bytes(spec->limits.memory_bytes);
    struct ledger_need need = {.machine_id = id, .vcpus = spec->limits.vcpus};
    struct template_request q = {.store = store,
                                 .monitor = monitor,
                                 .boot_ns = watch->boot_ns,
                                 .boot = &boot,
                                 .stop = stop,
                                 .progress = progress,
                                 .console = console,
                                 .ctx = &p};
    const struct engine_wish wish = {.store = store,
                                     .wanted = spec->engine,
                                     .weakest = spec->isolation,
                                     .stop = stop,
                                     .ctx = &p};
    int r = engine_select(&wish, &engine, err);

    if (r == 0) {
        r = engine->version(store->dirfd, monitor, sizeof(monitor), err);
    }
    if (r == 0) {
        r = store_open_boot(store, spec->image, &boot, err);
    }
    if (r == 0) {
        r = unique_id(id, err);
    }
    if (r == 0) { /* a machine boots: it counts, and its uid is no other's */
        need.memory_bytes = engine_group_bytes(engine, machine_bytes);
        r = ledger_admit(store->dirfd, &need, &by_host, &slot, err);
    }
    if (r < 0) {
        return r;
    }
    q.engine = engine;
    q.config = template_machine(spec, store, &boot, host_tsc_khz(store->dirfd, tsc), slot.uid);
    ret->machine_bytes = q.config.memory_bytes;
    ret->engine = engine->name;
    (void)snprintf(ret->image, sizeof(ret->image), "%s", boot.image);
    return take(&q, &p, ret, err);
}
