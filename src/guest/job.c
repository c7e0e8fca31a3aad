#include "guest/job.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/random.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "guest/cgroup.h"
#include "guest/paths.h"
#include "sys/fd.h"

/* Rounding of inode tables: below 16 for each 128 MiB of the largest scratch, and our own. */
#define SPARE_INODES_MAX 4096

#define PROGRAM_BYTES_MAX (GIB)

static int apply_entropy(struct boot *boot, struct msg_job *job, struct err *err)
{
    /* struct rand_pool_info, whose last member has no size: count in bits, bytes, data. */
    uint32_t pool[2 + MSG_ENTROPY_BYTES / 4] = {MSG_ENTROPY_BYTES * 8, MSG_ENTROPY_BYTES};
    bool ok = false;

    memcpy(pool + 2, job->entropy, MSG_ENTROPY_BYTES);
    ok = ioctl(boot->urandom_fd, RNDADDENTROPY, pool) == 0 &&
         ioctl(boot->urandom_fd, RNDRESEEDCRNG) == 0;
    explicit_bzero(pool, sizeof(pool));
    explicit_bzero(job->entropy, sizeof(job->entropy));
    return ok ? 0 : err_sys(err, "add entropy");
}

static int apply_clock(struct boot *boot, struct msg_job *job, struct err *err)
{
    struct timespec now = {
        .tv_sec = (time_t)(job->realtime_ns / NS_PER_S),
        .tv_nsec = (long)(job->realtime_ns % NS_PER_S),
    };

    (void)boot;
    if (clock_settime(CLOCK_REALTIME, &now) < 0) {
        return err_sys(err, "set the clock to %" PRIu64 " ns", job->realtime_ns);
    }
    return 0;
}

static int apply_identity(struct boot *boot, struct msg_job *job, struct err *err)
{
    char text[sizeof(job->machine_id) * 2 + 2];

    for (size_t i = 0; i < sizeof(job->machine_id); i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", job->machine_id[i]);
    }
    text[sizeof(text) - 2] = '\n';
    if (pwrite(boot->machine_id_fd, text, sizeof(text) - 1, 0) != (ssize_t)sizeof(text) - 1) {
        return err_sys(err, "write '/etc/machine-id'");
    }
    return 0;
}

static int apply_limits(struct boot *boot, struct msg_job *job, struct err *err)
{
    (void)boot;
    return cgroup_limit(job->memory_bytes, job->pids, err);
}

static uid_t program_uid(const struct msg_job *job)
{
    return job->root ? 0 : PROGRAM_UID;
}

/* A bind mount takes over the flags of the mount it is taken from (ro, nosuid, nodev). */
static int bind(const char *from, const char *name, struct err *err)
{
    char to[64];

    (void)snprintf(to, sizeof(to), PATH_ROOT "%s", name);
    if (mount(from, to, NULL, MS_BIND, NULL) < 0) {
        return err_sys(err, "bind '%s' to '%s' (the image needs this directory)", from, name);
    }
    return 0;
}

static int apply_input(struct boot *boot, struct msg_job *job, struct err *err)
{
    if (!job->input) {
        return 0;
    }
    if (umount2(PATH_ROOT "/in", MNT_DETACH) < 0) {
        return err_sys(err, "unmount the empty '/in'");
    }
    if (mount(boot->input_dev, PATH_INPUT, "squashfs", MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) <
        0) {
        return err_sys(err, "mount the input device '%s'", boot->input_dev);
    }
    return bind(PATH_INPUT "/in", "/in", err);
}

static int make_scratch_dir(const char *name, mode_t mode, uid_t uid, struct err *err)
{
    if (mkdir(name, mode) < 0 || chown(name, uid, uid) < 0) {
        return err_sys(err, "make '%s'", name);
    }
    return 0;
}

static int mount_scratch(const struct boot *boot, uid_t uid, struct err *err)
{
    static const struct {
        const char *from;
        const char *to;
        mode_t mode;
        bool program; /* its own, not root's */
    } dirs[] = {
        {PATH_SCRATCH "/work", "/work", 0755, true},
        {PATH_SCRATCH "/out", "/out", 0755, true},
        {PATH_SCRATCH "/tmp", "/tmp", 01777, false},
        {PATH_SCRATCH "/vartmp", "/var/tmp", 01777, false},
    };

    /* Whether a truncated file survives a crash is nobody's concern; writing it out at close is. */
    if (mount(boot->scratch_dev, PATH_SCRATCH, "ext4", MS_NOSUID | MS_NODEV | MS_NOATIME,
              "noauto_da_alloc") < 0) {
        return err_sys(err, "mount the scratch device '%s'", boot->scratch_dev);
    }
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        int r = make_scratch_dir(dirs[i].from, dirs[i].mode, dirs[i].program ? uid : 0, err);

        if (r < 0) {
            return r;
        }
        r = bind(dirs[i].from, dirs[i].to, err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

static int apply_scratch(struct boot *boot, struct msg_job *job, struct err *err)
{
    return boot->scratch_mounted ? 0 : mount_scratch(boot, program_uid(job), err);
}

/* Root sees every device of the machine, over what boot_root() made for other programs. */
static int apply_dev(struct boot *boot, struct msg_job *job, struct err *err)
{
    auto_fd int dir = -1;
    int r = 0;

    (void)boot;
    if (!job->root) {
        return 0;
    }
    if (mount("devtmpfs", PATH_ROOT "/dev", "devtmpfs", 0, NULL) < 0) {
        return err_sys(err, "mount devtmpfs on the program's '/dev'");
    }
    r = fd_open(AT_FDCWD, PATH_ROOT "/dev", O_RDONLY | O_DIRECTORY, 0, &dir, err);
    return r < 0 ? r : boot_dev_links(dir, err);
}

/* Shared memory is charged to whoever touches it first, so this only bounds what outlives it. */
static int mount_shm(uint64_t bytes, unsigned long flags, struct err *err)
{
    char options[96];

    (void)snprintf(options, sizeof(options), "mode=1777,size=%" PRIu64 ",nr_inodes=4096", bytes);
    if (mount("shm", PATH_ROOT "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | flags,
              options) < 0) {
        return err_sys(err, "mount '/dev/shm' with '%s'", options);
    }
    return 0;
}

/* Root has a /dev of its own, on which there is none yet. */
static int apply_shm(struct boot *boot, struct msg_job *job, struct err *err)
{
    uint64_t bytes = job->memory_bytes / 2;
    bool is_there = boot->shm_bytes > 0 && !job->root;

    if (is_there && boot->shm_bytes == bytes) {
        return 0;
    }
    boot->shm_bytes = bytes;
    return mount_shm(bytes, is_there ? MS_REMOUNT : 0, err);
}

/* From the frame, or from the input device. */
static int write_program(const struct msg_job *job, int out, struct err *err)
{
    auto_fd int prog = -1;
    auto_fd int in = -1;
    uint64_t bytes = 0;
    int r = 0;

    if (job->program_data != NULL) {
        return fd_write_full(out, job->program_data, job->program_len, err);
    }
    r = fd_open(AT_FDCWD, PATH_INPUT "/prog", O_PATH | O_DIRECTORY, 0, &prog, err);
    if (r == 0) {
        r = fd_open(prog, job->program, O_RDONLY | O_NOFOLLOW, 0, &in, err);
    }
    return r < 0 ? r : fd_copy(in, out, PROGRAM_BYTES_MAX, &bytes, err);
}

static int make_program(int work, const char *name, uid_t uid, int *ret, struct err *err)
{
    int r = fd_open(work, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644, ret, err);

    if (r == 0 && fchown(*ret, uid, uid) < 0) {
        return err_sys(err, "give '%s' to the program's user", name);
    }
    return r;
}

static int open_work(int *ret, struct err *err)
{
    return fd_open(AT_FDCWD, PATH_SCRATCH "/work", O_PATH | O_DIRECTORY, 0, ret, err);
}

/* A machine in which the file was made ahead gets only jobs with such a program. */
static int apply_program(struct boot *boot, struct msg_job *job, struct err *err)
{
    auto_fd int work = -1;
    auto_fd int out = -1;
    bool is_made = boot->program[0] != '\0';
    int r = 0;

    if (is_made && (job->root || strcmp(boot->program, job->program) != 0)) {
        return err_usage(err, "this machine is for '%s', not for another job", boot->program);
    }
    if (job->program[0] == '\0') {
        return 0;
    }
    r = open_work(&work, err);
    if (r == 0) {
        r = is_made ? fd_open(work, job->program, O_WRONLY | O_NOFOLLOW, 0, &out, err)
                    : make_program(work, job->program, program_uid(job), &out, err);
    }
    return r < 0 ? r : write_program(job, out, err);
}

static int make_program_ahead(struct boot *boot, struct err *err)
{
    char name[sizeof(boot->program)];
    auto_fd int work = -1;
    auto_fd int out = -1;
    int r = boot_parameter("warm", name, sizeof(name), err);

    if (r < 0 || name[0] == '\0') {
        return r;
    }
    r = open_work(&work, err);
    r = r < 0 ? r : make_program(work, name, PROGRAM_UID, &out, err);
    if (r == 0) {
        memcpy(boot->program, name, sizeof(name));
    }
    return r;
}

/*
 * The filesystem has a few inodes more than asked for (whole blocks of them): files out of the
 * program's sight take the rest, so that the limit is what it says.
 */
static int take_inodes(uint64_t inodes, struct err *err)
{
    struct statvfs st = {0};

    if (mkdir(PATH_SCRATCH "/spare", 0700) < 0) {
        return err_sys(err, "mkdir '/spare' on scratch");
    }
    if (statvfs(PATH_SCRATCH, &st) < 0) {
        return err_sys(err, "statvfs '%s'", PATH_SCRATCH);
    }
    if (st.f_ffree < inodes || st.f_ffree - inodes > SPARE_INODES_MAX) {
        return err_guest(err, "scratch has %" PRIu64 " free inodes, not the %" PRIu64 " asked for",
                         (uint64_t)st.f_ffree, inodes);
    }
    for (uint64_t n = st.f_ffree - inodes; n > 0; n--) {
        char path[64];

        (void)snprintf(path, sizeof(path), PATH_SCRATCH "/spare/%" PRIu64, n);
        if (mknod(path, S_IFREG | 0400, 0) < 0) {
            return err_sys(err, "take the spare inode %" PRIu64, n);
        }
    }
    return 0;
}

/* A disk that was mounted ahead has one inode more, for a program. */
static int apply_inodes(struct boot *boot, struct msg_job *job, struct err *err)
{
    if (!boot->scratch_mounted) {
        return take_inodes(job->inodes, err);
    }
    if (job->program[0] == '\0' && mknod(PATH_SCRATCH "/spare/program", S_IFREG | 0400, 0) < 0) {
        return err_sys(err, "take the program's inode");
    }
    return 0;
}

static int parameter_u64(const char *name, uint64_t *ret, struct err *err)
{
    char text[32];
    int r = boot_parameter(name, text, sizeof(text), err);

    *ret = r == 0 ? strtoull(text, NULL, 10) : 0;
    return r;
}

static int make_scratch_ahead(struct boot *boot, uint64_t inodes, struct err *err)
{
    int r = mount_scratch(boot, PROGRAM_UID, err);

    r = r < 0 ? r : take_inodes(inodes + 1, err);
    r = r < 0 ? r : make_program_ahead(boot, err);
    boot->scratch_mounted = r == 0;
    return r;
}

int job_make_ahead(struct boot *boot, struct err *err)
{
    uint64_t inodes = 0;
    int r = parameter_u64("shm", &boot->shm_bytes, err);

    if (r == 0 && boot->shm_bytes > 0) {
        r = mount_shm(boot->shm_bytes, 0, err);
    }
    r = r < 0 ? r : parameter_u64("scratch", &inodes, err);
    return r < 0 || inodes == 0 ? r : make_scratch_ahead(boot, inodes, err);
}

int job_apply(struct boot *boot, struct msg_job *job, const char **ret_phase, struct err *err)
{
    static const struct {
        const char *phase;
        int (*apply)(struct boot *, struct msg_job *, struct err *);
    } steps[] = {
        {"entropy", apply_entropy}, {"clock", apply_clock}, {"identity", apply_identity},
        {"limits", apply_limits},   {"input", apply_input}, {"scratch", apply_scratch},
        {"dev", apply_dev},         {"shm", apply_shm},     {"stage", apply_program},
        {"inodes", apply_inodes},
    };

    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        int r = steps[i].apply(boot, job, err);

        if (r < 0) {
            *ret_phase = steps[i].phase;
            return r;
        }
    }
    return 0;
}

int job_undo(const struct boot *boot, const struct msg_job *job, struct err *err)
{
    char path[sizeof(PATH_SCRATCH "/work/") + MSG_NAME_MAX];

    (void)snprintf(path, sizeof(path), PATH_SCRATCH "/work/%s", job->program);
    if ((boot->program[0] != '\0' ? truncate(path, 0) : unlink(path)) < 0) {
        return err_sys(err, "remove '%s'", path);
    }
    return 0;
}

int job_scratch_used(uint64_t *ret, struct err *err)
{
    struct statvfs st = {0};

    if (statvfs(PATH_SCRATCH, &st) < 0) {
        return err_sys(err, "statvfs '%s'", PATH_SCRATCH);
    }
    *ret = (uint64_t)(st.f_blocks - st.f_bfree) * st.f_frsize;
    return 0;
}
