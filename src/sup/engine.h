/*
 * engine.h - the one interface behind which virtual machine monitors stand.
 *
 * An engine turns a machine_config into a running machine: a process that we own, a channel to the
 * agent inside and a console that is evidence only.  Everything else (deadlines, accounting,
 * killing, verdicts) is the supervisor's and the same for every engine.  The machine depends on
 * nothing of the job but its size and its descriptors, so that it can start from the saved state of
 * another one (template.h).
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "image/store.h"
#include "job/spec.h"
#include "sys/cgroup.h"
#include "sys/proc.h"

struct machine_config {
    uint64_t vcpus;
    uint64_t memory_bytes; /* of the machine, not of the job */
    uint64_t tsc_khz;      /* the host's, for the guest's kernel */
    /* Of the scratch filesystem that is mounted when the machine is saved; 0: it is the job's. */
    uint64_t mounted_bytes, mounted_inodes;
    /* Program file of the interpreter that waits in the guest (sup/warm.h); NULL: none. */
    const char *warm;
    uint64_t scratch_bytes; /* most the monitor process may write to any file */
    /* Borrowed descriptors. Disks may be -1: such a machine only proves that a guest boots. */
    int kernel_fd, initramfs_fd, root_fd, input_fd, scratch_fd;
    /*
     * A file of memory_bytes or more that is the guest's memory, or -1: memory without a file. With
     * a state_fd (at its file offset; else -1) the machine goes on from there, the file is only
     * read and writes stay in the machine; without one it boots and writes to the file.
     */
    int memory_fd, state_fd;
    /* With a state_fd, of an engine that takes_writes: template-writes.h, at its offset; else -1. */
    int writes_fd;
    const struct cgroup *group; /* the monitor is born in them; NULL = the caller's */
    uid_t uid;      /* the jailed monitor runs as it when we are root; used by no other machine */
    bool is_probe;  /* its kernel shall speak as soon as it can */
    int memo_dirfd; /* STATE, for what is remembered of the monitor (sys/memo.h); -1: nothing is */
};

#define MACHINE_CONFIG_INIT                                                                   \
    {                                                                                         \
        .kernel_fd = -1, .initramfs_fd = -1, .root_fd = -1, .input_fd = -1, .scratch_fd = -1, \
        .memory_fd = -1, .state_fd = -1, .writes_fd = -1, .memo_dirfd = -1                    \
    }

struct machine {
    struct proc proc;
    uint64_t exec_ns; /* when the jailed monitor itself began, host monotonic; 0 = not told */
    int channel_fd;   /* our end of the channel to the agent, a stream socket */
    int console_fd;   /* read end: the guest's console and what the monitor prints */
    /* To the monitor itself: only while the guest has no job, -1 afterwards (engine->control). */
    int control_fd;
    struct buf control;
};

#define MACHINE_CONTROL_MAX 16384
#define MACHINE_INIT                                                             \
    {                                                                            \
        .proc = PROC_INIT, .channel_fd = -1, .console_fd = -1, .control_fd = -1, \
        .control = BUF_INIT(MACHINE_CONTROL_MAX)                                 \
    }

/* Kills the monitor, reaps it, closes everything. */
void machine_fini(struct machine *m) nonnull_all;
#define auto_machine on_scope_exit(machine_fini)

struct engine {
    const char *name;      /* "tcg" or "kvm" */
    const char *isolation; /* "emulated" or "hardware" */
    /*
     * What the monitor needs beside the guest's memory: so many bytes, and one for overhead_per bytes
     * of that memory (0: none), for tables of its pages. engine_group_bytes() reads them.
     */
    uint64_t overhead_bytes, overhead_per;
    bool takes_writes; /* machine_config.writes_fd is of use */
    /* Starts the machine; ERR_USAGE if what it needs is not installed, else ERR_HOST. */
    int (*start)(const struct machine_config *config, struct machine *ret, struct err *err);
    /* One line that names the monitor and its version, for results. memo_dirfd: as the config's. */
    int (*version)(int memo_dirfd, char *text, size_t size, struct err *err);
    /* Appends what the guest can see of the machine: equal texts, interchangeable machines. */
    int (*describe)(const struct machine_config *config, struct buf *ret, struct err *err);
    /* Asks a machine with a memory_fd to write the rest of its state to fd, at its offset. */
    int (*save)(struct machine *m, int fd, struct err *err);
    /*
     * Call when control_fd can be read. 1: the machine goes on from its state_fd, or is saved;
     * control_fd is then closed. 0: not yet. ERR_HOST with the monitor's words if it failed.
     */
    int (*control)(struct machine *m, struct err *err);
    /* What an exit code of the monitor means; NULL: nothing in particular. May be NULL. */
    const char *(*exit_words)(int code);
};

extern const struct engine engine_tcg; /* QEMU emulates the CPU */
extern const struct engine engine_kvm; /* our own monitor on hardware virtualization */

/* Bytes the machine gets for a job limit: limit + kernel and agent, in whole steps of 64 MiB. */
uint64_t engine_machine_bytes(uint64_t job_memory_bytes);
/* The largest job limit that gets such a machine. */
uint64_t engine_job_bytes(uint64_t machine_bytes);
/*
 * What its control group holds, and admission counts: such a machine's memory and what its monitor
 * needs beside it. NULL: the engine is not chosen yet, so the most that any of them takes.
 */
uint64_t engine_group_bytes(const struct engine *engine, uint64_t machine_bytes);
/*
 * What a machine has of its own while it waits for a job: measured 60 MiB after a rehearsal, most of
 * it translated code, and what the template's file does not give it.
 */
#define ENGINE_WAITING_BYTES (96 * MIB)

struct engine_wish {
    const struct store *store; /* what is remembered of KVM, and what a probe boots */
    enum spec_engine wanted;
    enum spec_isolation weakest; /* that the job accepts */
    /* Asked about 10 times a second while a guest is probed: true gives up. May be NULL. */
    bool (*stop)(void *ctx);
    /* Told before a guest is probed, which can take 20 s. May be NULL. */
    void (*probing)(void *ctx);
    void *ctx;
    bool again; /* the asker can wait: a probe that was late long ago is made once more */
};

/* How long a probe that was late counts: a busy host has quieter hours. */
#define ENGINE_AGAIN_NS (3600 * NS_PER_S)

/*
 * The strongest engine that works here and that the job accepts. ERR_USAGE/-ENODEV with the reason
 * and the remedy if there is none (verdict `rejected`, reason `engine_unavailable`);
 * ERR_LIMIT/-ECANCELED: stopped. Unless it is wanted, KVM is used only where a probe worked: the
 * first call on a host that has it may take as long as engine_probe(), and so may one with again
 * that accepts nothing but KVM.
 */
must_use int engine_select(const struct engine_wish *wish, const struct engine **ret,
                           struct err *err) nonnull_all;

/* The last line of what a console said, made harmless; "" if it said nothing. */
void engine_last_words(const char *console, size_t len, char *ret, size_t size) nonnull_all;

/* A functional probe: a guest was booted to its agent and answered; existence proves nothing. */
struct engine_probe {
    bool works;
    bool late;       /* it does not, as far as that goes: time was up, which proves nothing */
    bool remembered; /* from an earlier probe; ns is 0 then */
    bool due;        /* ... that was late ENGINE_AGAIN_NS ago or longer */
    char why[512];   /* if not: what happened */
    uint64_t ns;     /* how long the boot to READY took */
};

/*
 * Fails only if the probe could not be made (no kernel built yet, disk, stopped): -errno. Takes up
 * to 60 s. Of wish only store and stop count.
 */
must_use int engine_probe(const struct engine_wish *wish, const struct engine *engine,
                          struct engine_probe *ret, struct err *err) nonnull_all;

/*
 * The same for engine kvm, remembered in STATE/memo while /dev/kvm, the monitor, the guest kernel
 * and the boot of the host are the same; anew: whatever is remembered. wish->again: also if what is
 * remembered is due. Fails also if there is no /dev/kvm for us.
 */
must_use int engine_probe_kvm(const struct engine_wish *wish, bool anew, struct engine_probe *ret,
                              struct err *err) nonnull_all;
