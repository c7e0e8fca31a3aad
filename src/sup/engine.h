/*
 * engine.h - the one interface behind which virtual machine monitors stand.
 *
 * An engine turns a machine_config into a running machine: a process that we own, a channel to the
 * agent inside and a console that is evidence only.  Everything else (deadlines, accounting,
 * killing, verdicts) is the supervisor's and the same for every engine.  The machine depends on
 * nothing of the job but its size and its descriptors, so that starting from a saved state can
 * stand behind the same call.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "image/store.h"
#include "job/spec.h"
#include "sys/cgroup.h"
#include "sys/proc.h"

struct machine_config {
    uint64_t vcpus;
    uint64_t memory_bytes;  /* of the machine, not of the job */
    uint64_t tsc_khz;       /* the host's, for the guest's kernel */
    uint64_t scratch_bytes; /* most the monitor process may write to any file */
    /* Borrowed descriptors. Disks may be -1: such a machine only proves that a guest boots. */
    int kernel_fd, initramfs_fd, root_fd, input_fd, scratch_fd;
    const struct cgroup *group; /* the monitor is born in them; NULL = the caller's */
    uid_t uid; /* the jailed monitor runs as it when we are root; used by no other machine */
};

struct machine {
    struct proc proc;
    int channel_fd; /* our end of the channel to the agent, a stream socket */
    int console_fd; /* read end: the guest's console and what the monitor prints */
};

#define MACHINE_INIT                                          \
    {                                                         \
        .proc = PROC_INIT, .channel_fd = -1, .console_fd = -1 \
    }

/* Kills the monitor, reaps it, closes everything. */
void machine_fini(struct machine *m) nonnull_all;
#define auto_machine on_scope_exit(machine_fini)

struct engine {
    const char *name;      /* "tcg" */
    const char *isolation; /* "emulated" or "hardware" */
    /* Starts the machine; ERR_USAGE if what it needs is not installed, else ERR_HOST. */
    int (*start)(const struct machine_config *config, struct machine *ret, struct err *err);
    /* One line that names the monitor and its version, for results. */
    int (*version)(char *text, size_t size, struct err *err);
};

extern const struct engine engine_tcg;

/* Bytes the machine gets for a job limit: limit + kernel and agent, in whole steps of 64 MiB. */
uint64_t engine_machine_bytes(uint64_t job_memory_bytes);
/* What the monitor process needs beside the guest's memory, for admission. */
#define ENGINE_OVERHEAD_BYTES (192 * MIB)

/*
 * The strongest engine that works here and that the job accepts. ERR_USAGE/-ENODEV with the reason
 * and the remedy if there is none (verdict `rejected`, reason `engine_unavailable`).
 */
must_use int engine_select(enum spec_engine wanted, enum spec_isolation weakest,
                           const struct engine **ret, struct err *err) nonnull_all;

/* A functional probe: a guest was booted to its agent and answered; existence proves nothing. */
struct engine_probe {
    bool works;
    char why[512]; /* if not: what happened */
    uint64_t ns;   /* how long the boot to READY took */
};

/*
 * which: SPEC_ENGINE_TCG or SPEC_ENGINE_KVM (stock QEMU with accel=kvm boots the same guest).
 * Fails only if the probe could not be made (no kernel built yet, disk): -errno. Takes up to 20 s with KVM, 60 s with TCG.
 */
must_use int engine_probe(const struct store *store, enum spec_engine which,
                          struct engine_probe *ret, struct err *err) nonnull_all;
