/*
 * template.h - machines from saved state: booted once to READY, saved, and every job starts there.
 *
 *   STATE/templates/KEY   one file: the guest's memory, the rest of the machine's state, and a
 *                         footer that says what it is (JSON); 0444
 *   STATE/templates/lock  flock()ed by whoever builds or removes one
 *
 * KEY is the SHA-256 of everything the guest can see of its machine: the monitor's version and
 * arguments, kernel, initramfs and root image by digest.  It never holds anything of a job: no job
 * data reaches a machine before it is saved, and what runs on from there writes to its own copy of
 * the memory (MAP_PRIVATE), through a descriptor that cannot write the file.
 *
 * One file appears at once (linkat) and stays what it is while it is open, even when it was removed
 * or replaced.  Templates of another boot of the host are not used: they are not flushed to disk,
 * and a host's clock may have changed.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "image/store.h"
#include "proto/msg.h"
#include "sup/engine.h"
#include "sys/boot.h"
#include "sys/digest.h"

struct template
{
    struct digest key;
    int memory_fd; /* read-only: the memory from offset 0 */
    int state_fd;  /* at its offset; each machine needs its own (one template, one use) */
    int writes_fd; /* the same, of template-writes.h; -1: it has none */
    bool built;    /* for this call */
    struct msg_interpreter interpreter;
    uint64_t scratch_at, scratch_bytes; /* where its scratch disk stands in the file; 0 = none */
};

#define TEMPLATE_INIT                                    \
    {                                                    \
        .memory_fd = -1, .state_fd = -1, .writes_fd = -1 \
    }
void template_fini(struct template *t) nonnull_all;
#define auto_template on_scope_exit(template_fini)

enum template_step {
    TEMPLATE_STEP_BOOT,
    TEMPLATE_STEP_SAVE,
    TEMPLATE_STEP_DIGEST
};

struct template_request {
    const struct store *store;
    const struct engine *engine;
    const char *monitor;           /* its version */
    const struct store_boot *boot; /* with a root image */
    /*
     * Size, clock, uid and boot files of the machine; disks, memory and state are filled in. A
     * machine that boots to be saved is in no group and runs no job.
     */
    struct machine_config config;
    const struct spec *model; /* template_take_for()'s */
    /* Asked about 20 times a second: true gives up (ERR_LIMIT/-ECANCELED). May be NULL. */
    bool (*stop)(void *ctx);
    uint64_t boot_ns; /* for a boot to be saved, 0: TEMPLATE_DEADLINE_NS */
    /* What begins now of a template that is built. May be NULL. */
    void (*progress)(void *ctx, enum template_step step);
    /* Gets what the console of a machine that boots says, as it comes. */
    void (*console)(void *ctx, const char *text, size_t len);
    void *ctx;
};

/* Room for state and footer behind the memory; what a saved machine may write at most. */
#define TEMPLATE_STATE_MAX (64 * MIB)
/* How long a boot to be saved may take for a job, and how long somebody else's is waited for. */
#define TEMPLATE_DEADLINE_NS (60 * NS_PER_S)

/* True if the machine of such a job is saved with its scratch filesystem mounted. */
must_use bool template_mounts(const struct spec *spec) nonnull_all;

/*
 * What the machine of a job is, beside its disks and its saved state. The descriptors are borrowed
 * from boot and store.
 */
struct machine_config template_machine(const struct spec *spec, const struct store *store,
                                       const struct store_boot *boot, uint64_t tsc_khz,
                                       uid_t uid) nonnull_all;

/*
 * Finds the template or builds it (seconds). The caller owns *ret. ERR_LIMIT/-ENOSPC: no room on
 * disk; ERR_LIMIT/-ECANCELED: stopped; ERR_HOST: the machine could not be booted or saved.
 */
must_use int template_take(const struct template_request *request, struct template *ret,
                           struct err *err) nonnull_all;

/* False if an interpreter waits in it and leaves too little of the job's memory limit. */
bool template_fits(const struct template *t, const struct spec *spec) nonnull_all;

/*
 * The same for a job: with an interpreter in it if the job can have it (warm.h) and it leaves room
 * for the job; else without. request->config.warm says afterwards which it is.
 */
must_use int template_take_for(const struct spec *spec, struct template_request *request,
                               struct template *ret, struct err *err) nonnull_all;

/* The footer, for template.c and its tests. */
#define TEMPLATE_FOOTER_BYTES 4096u
#define TEMPLATE_ENGINE_SIZE  16

struct template_footer {
    struct digest key;
    uint64_t memory_bytes;
    uint64_t state_bytes;
    struct digest state;
    struct digest memory; /* template_digest_memory(); not looked at by each job */
    uint64_t built;       /* seconds since 1970; the file's modification time, too */
    uint64_t vcpus;
    char engine[TEMPLATE_ENGINE_SIZE];
    char image[IMAGE_NAME_MAX + 1]; /* its name then; what counts is the digest */
    struct digest root;
    char boot_id[BOOT_ID_SIZE]; /* of the host */
    uint64_t tsc_khz;           /* of the host */
    uint64_t writes_bytes;      /* the last of the state_bytes: template-writes.h */
    uint64_t scratch_bytes;     /* those before: template-scratch.h */
    struct msg_interpreter interpreter;
};

must_use int template_footer_encode(const struct template_footer *f,
                                    char ret[TEMPLATE_FOOTER_BYTES], struct err *err) nonnull_all;
/*
 * The digest of the first bytes of a file, which are whole pages: over the number and the content of
 * each page that is not all zeros, so that holes cost nothing and count as the zeros they are.
 */
must_use int template_digest_memory(int fd, uint64_t bytes, struct digest *ret,
                                    struct err *err) nonnull_all;

/* ERR_USAGE with what is wrong; nothing of it is used unchecked. */
must_use int template_footer_decode(const char data[TEMPLATE_FOOTER_BYTES],
                                    struct template_footer *ret, struct err *err) nonnull_all;
