/*
 * ledger.h - the host's capacity, shared by all supervisors of one state directory.
 *
 *   STATE/slots/lock   flock()ed for the moment of every admission, release and listing
 *   STATE/slots/N      flock()ed by the supervisor of one machine for its life; says what it takes
 *
 * The kernel drops a flock with the last descriptor of its open file, kill -9 included, so a slot
 * is taken exactly as long as its lock is held and the sum over locked slots is what the host has
 * promised. A file that is not empty and not locked was left by a crash (ledger_stale()): it takes
 * nothing, but its number, and so its uid, is not given out again until ledger_clear().
 *
 * A child that a supervisor forks without exec shares the lock: it calls ledger_drop(), or keeps it
 * on purpose (the reaper: the slot then comes back when it has cleaned up).
 *
 * Two state directories do not see each other's slots. Their uids and control groups differ all the
 * same: both carry a tag made from device and inode of STATE/slots.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "base/err.h"

#include "sys/cgroup.h"

#define LEDGER_NUMBERS 1024 /* slot numbers; most machines at once of a state directory */
#define LEDGER_ID_SIZE 65   /* machine id, a-z 0-9 and '-', with the NUL */

/*
 * uid (= gid) of a machine: LEDGER_UID_BASE + 1024 * (tag % LEDGER_UID_WINDOWS) + slot number,
 * below LEDGER_UID_END. Nobody gives these out: systemd and nspawn end at 1879048191 and have
 * 2147352576 on for foreign images (systemd.io/UIDS-GIDS), SSSD and FreeIPA end at 2000200000 by
 * default, subuids begin at 100000 and would need 30000 users; over 2^31 programs see negative
 * numbers. Only directories that hash names into 0x70000000..0x7ffdffff (Kanidm) could meet one
 * by chance.
 */
#define LEDGER_UID_BASE    0x78000000u /* 2013265920 */
#define LEDGER_UID_END     0x7ffe0000u
#define LEDGER_UID_WINDOWS ((LEDGER_UID_END - LEDGER_UID_BASE) / LEDGER_NUMBERS)

/* What one machine takes. */
struct ledger_need {
    const char *machine_id; /* borrowed */
    uint64_t memory_bytes;  /* the machine's and the monitor's overhead */
    uint64_t vcpus;         /* 0: it waits for a job, see ledger_set_need() */
    uint64_t disk_bytes;    /* most that it may write below the state directory */
};

/* What there is. 0 = the default, read from the host while the lock is held. */
struct ledger_capacity {
    uint64_t machines;               /* 64; at most LEDGER_NUMBERS */
    uint64_t memory_total_bytes;     /* MemTotal: bounds the sum of all promises */
    uint64_t memory_available_bytes; /* MemAvailable: bounds what is promised but not yet touched */
    uint64_t memory_reserve_bytes;   /* 256 MiB, kept of both */
    uint64_t vcpus;                  /* CPUs we may run on * vcpus_per_cpu */
    uint64_t vcpus_per_cpu;          /* 4 */
    uint64_t disk_free_bytes;        /* free to us in the state directory's file system */
    uint64_t disk_reserve_bytes;     /* 256 MiB */
};

/*
 * Replaces each 0 by what the host has now, or the default: what an admission would go by. store_fd
 * names the file system. ERR_HOST.
 */
must_use int ledger_ask_host(int store_fd, struct ledger_capacity *capacity,
                             struct err *err) nonnull_all;

/* A slot that is held. Owns its descriptors. */
struct ledger_slot {
    int fd;       /* STATE/slots/N, locked; -1 is the empty value */
    int slots_fd; /* STATE/slots */
    unsigned int number;
    uid_t uid;                    /* the machine's, gid too; used by no other live machine */
    char group[CGROUP_NAME_SIZE]; /* name for cgroup_create() */
};

#define LEDGER_SLOT_INIT          \
    {                             \
        .fd = -1, .slots_fd = -1, \
    }

/*
 * Takes a slot if every live one and this one together fit; creates STATE/slots (0700). The caller
 * owns *ret. ERR_LIMIT (verdict `capacity_rejected`): -ENOMEM memory, -ENOSPC disk, -EAGAIN machines,
 * vCPUs and slots; the text names the resource, the need and what
 * is left; also when the slot file can't be written for want of disk. A live slot whose file can't
 * be read counts as all there is. ERR_USAGE for a bad id, ERR_HOST/-ETIMEDOUT if the lock is not to
 * be had within 5 s, ERR_HOST if the directory is not ours alone to write.
 */
must_use int ledger_admit(int store_fd, const struct ledger_need *need,
                          const struct ledger_capacity *capacity, struct ledger_slot *ret,
                          struct err *err) nonnull_all;

/* What there is and what is promised of it, now. */
struct ledger_usage {
    struct ledger_capacity capacity;                    /* as given, the host's where that was 0 */
    uint64_t machines, memory_bytes, vcpus, disk_bytes; /* promised to live slots */
    uint64_t untouched_bytes; /* of memory_bytes: what no monitor has made its own yet */
    unsigned int stale;       /* slots that crashes left, not yet reconciled */
    bool blocked;             /* a live slot can't be read: nothing more is admitted */
};

/* Waits for the lock as ledger_admit() does. Changes nothing but that STATE/slots is there then. */
must_use int ledger_usage(int store_fd, const struct ledger_capacity *capacity,
                          struct ledger_usage *ret, struct err *err) nonnull_all;

/*
 * Once the machine runs: tells the monitor's pid and what of the promised disk is still to be
 * written. Memory that it already touched (RssAnon + RssShmem) and blocks that its files have are
 * then not counted twice, as promised and as no longer available. Without it a slot counts in full:
 * safe. disk_left_bytes above what was promised changes nothing of it.
 */
must_use int ledger_note_monitor(struct ledger_slot *slot, pid_t pid, uint64_t disk_left_bytes,
                                 struct err *err) nonnull_all;

/*
 * The machine's need becomes another one (machine_id is not looked at); of what grows only if the
 * host has it, as ledger_admit(): ERR_LIMIT, and the slot is as before. Without vCPUs the machine
 * waits, and is none of those at once.
 */
must_use int ledger_set_need(struct ledger_slot *slot, int store_fd, const struct ledger_need *need,
                             const struct ledger_capacity *capacity, struct err *err) nonnull_all;

/*
 * Gives the slot back and removes its file, unless it is in quarantine (quarantine.h). After the machine is gone for certain: its uid may be
 * another's at once. Never fails: if the lock is not to be had an empty file stays, which is free.
 */
void ledger_release(struct ledger_slot *slot) nonnull_all;
#define auto_ledger_slot on_scope_exit(ledger_release)

/* Closes our descriptors only; in a forked child. */
void ledger_drop(struct ledger_slot *slot) nonnull_all;

/* What a crashed supervisor left. The numbers are what it wrote, believed only as far as checked. */
struct ledger_entry {
    unsigned int number;
    bool readable; /* else only number and why count */
    char why[128]; /* if not readable: what is wrong with the file */
    char machine_id[LEDGER_ID_SIZE];
    char group[CGROUP_NAME_SIZE];
    uint64_t memory_bytes, vcpus, disk_bytes;
    uid_t uid;                           /* as it must be for this number, whatever the file says */
    pid_t pid, monitor_pid;              /* monitor_pid 0: never told */
    uint64_t start_ticks, monitor_start; /* /proc/PID/stat field 22 */
    bool pid_lives;     /* a process with this pid and start time exists (it lost its lock) */
    bool monitor_lives; /* the same of the monitor */
};

/*
 * Calls found() for every stale slot, without the lock held, so that found() may kill, remove and
 * ledger_clear(). A non-zero return ends it and is returned.
 */
typedef int ledger_stale_fn(void *arg, const struct ledger_entry *entry, struct err *err);
must_use int ledger_stale(int store_fd, ledger_stale_fn *found, void *arg, struct err *err)
    nonnull_args(2, 4);

/*
 * Removes the file of a stale slot, when what it described is gone. ERR_HOST/-EBUSY if it is held
 * again or has other contents now, -EPERM if it is in quarantine. Missing is fine.
 */
must_use int ledger_clear(int store_fd, const struct ledger_entry *entry,
                          struct err *err) nonnull_all;

enum ledger_held {
    LEDGER_HELD_NOT,  /* no slot names the machine */
    LEDGER_HELD_LIVE, /* its supervisor or reaper lives; or, in doubt: a live slot can't be read */
    LEDGER_HELD_DEAD, /* its slot is stale: neither lives */
};

/* Who is left of a machine's holders. Waits for the lock as ledger_admit() does. */
must_use int ledger_held(int store_fd, const char *machine_id, enum ledger_held *ret,
                         struct err *err) nonnull_all;

/*
 * Whether a control group found by cgroup_list() is a leftover of this state directory: it has our
 * tag and no live slot has its machine. False in doubt: a live slot that can't be read, another
 * directory's tag, a name of another form. List the groups first, ask then.
 */
must_use int ledger_group_is_stale(int store_fd, const char *group, bool *ret,
                                   struct err *err) nonnull_all;
