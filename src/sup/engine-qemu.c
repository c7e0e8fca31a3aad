/*
 * How it works.  The argument list is made from nothing (-nodefaults -no-user-config): a microvm
 * board without PCI, virtio over MMIO only, no network device, no monitor, no display.  Files come
 * as descriptors: disks through fd sets, the channel as a connected socket, the file that is the
 * guest's memory as the answer to its one open; kernel and initramfs are read-only files in the jail.  The console's bytes and QEMU's own complaints share one pipe
 * that the supervisor drains.  RLIMIT_FSIZE bounds what a guest that writes to the raw scratch
 * device can put on the host's disk: past the filesystem's end its writes fail.
 *
 * Under TCG the monitor runs in the jail (jail.h).  Stock QEMU under KVM only ever boots our own
 * guest, without a job, to find out whether KVM works (engine_probe()): /dev/kvm is often open to
 * root or a group alone, and that machine runs without a jail and dies with us.
 */
#include "sup/engine-qemu.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sup/jail-files.h"
#include "sup/jail-filter.h"
#include "sup/jail.h"
#include "sup/qemu-control.h"
#include "sys/fd.h"
#include "sys/memo.h"

/* Descriptor numbers inside the monitor process. */
enum {
    FD_CHANNEL = 3,
    FD_KERNEL,
    FD_INITRAMFS,
    FD_ROOT,
    FD_INPUT,
    FD_SCRATCH,
    FD_CONTROL
};

/* Files inside the jail. */
#define JAIL_KERNEL    "/kernel"
#define JAIL_INITRAMFS "/initramfs"
/* What QEMU looks for by name, measured with strace; the first is a plug-in where it exists. */
#define QEMU_TCG_MODULE "/usr/lib/x86_64-linux-gnu/qemu/accel-tcg-x86_64.so"
#define QEMU_FIRMWARE   "/usr/share/qemu/bios-microvm.bin"

#define QEMU_NOFILE 256
/* 64 of the block layer's pool, vCPUs, the main loop and its helpers. */
#define QEMU_THREADS_MAX 128
/* Before anything else of this size: the machine can be lost, the host not. */
#define QEMU_OOM_SCORE 500

#define QEMU_ARGS_MAX 80
#define QEMU_TEXT_MAX 512

/* SSE4 without AVX (emulated AVX is slower), with what keeps a guest's kernel and program apart. */
#define QEMU_TCG_CPU "Nehalem,+smep,+smap,+umip,+fsgsbase,+rdrand"
#define QEMU_KVM_CPU "host"

/*
 * Never depends on the job. loglevel=3 lets a panic through to the console, our evidence. Without
 * tsc=reliable the clock stays at 4 ms jiffies for the first second or two: for most jobs' whole life.
 */
#define KERNEL_ARGS "console=ttyS0 quiet loglevel=3 panic=-1 reboot=t edd=off tsc=reliable"
/* docs/decisions/0019: emulated code does not speculate, and KPTI costs a TLB flush per call. */
#define KERNEL_ARGS_TCG "mitigations=off"

struct args {
    const char *argv[QEMU_ARGS_MAX];
    size_t n;
    char text[8][QEMU_TEXT_MAX];
    size_t n_text;
};

static void arg(struct args *a, const char *s)
{
    assert(a->n < QEMU_ARGS_MAX - 1); /* the list is ours, and so is its length */
    a->argv[a->n++] = s;
}

static void arg2(struct args *a, const char *option, const char *value)
{
    arg(a, option);
    arg(a, value);
}

/* A formatted value that lives as long as the list. */
static void argf(struct args *a, const char *option, const char *fmt, ...) printf_like(3, 4);

static void argf(struct args *a, const char *option, const char *fmt, ...)
{
    char *text = a->text[a->n_text];
    va_list ap;

    assert(a->n_text < ARRAY_LEN(a->text) - 1);
    a->n_text++;
    va_start(ap, fmt);
    (void)vsnprintf(text, QEMU_TEXT_MAX, fmt, ap);
    va_end(ap);
    arg2(a, option, text);
}

static void disk_args(struct args *a, const struct machine_config *c)
{
    if (c->root_fd < 0) {
        return;
    }
    arg2(a, "-add-fd", "fd=6,set=1");
    arg2(
        a, "-blockdev",
        "driver=file,node-name=root,filename=/dev/fdset/1,read-only=on,locking=off,drop-cache=off,aio=threads");
    arg2(a, "-device", "virtio-blk-device,drive=root,serial=airlock-root");
    arg2(a, "-add-fd", "fd=7,set=2");
    arg2(
        a, "-blockdev",
        "driver=file,node-name=input,filename=/dev/fdset/2,read-only=on,locking=off,drop-cache=off,aio=threads");
    arg2(a, "-device", "virtio-blk-device,drive=input,serial=airlock-input");
    arg2(a, "-add-fd", "fd=8,set=3");
    arg2(
        a, "-blockdev",
        "driver=file,node-name=scratch,filename=/dev/fdset/3,locking=off,drop-cache=off,aio=threads");
    arg2(a, "-device", "virtio-blk-device,drive=scratch,serial=airlock-scratch");
}

/* The path is never looked at: the supervisor answers the open (jail.h, opened_fd). */
static void memory_args(struct args *a, const struct machine_config *c)
{
    bool restored = c->state_fd >= 0;

    if (c->memory_fd < 0) {
        return;
    }
    argf(a, "-object",
         "memory-backend-file,id=ram,size=%lluM,mem-path=/ram,share=%s,merge=off,dump=off",
         (unsigned long long)(c->memory_bytes / MIB), restored ? "off" : "on");
    arg2(a, "-chardev", "socket,id=control,fd=9");
    arg2(a, "-mon", "chardev=control,mode=control");
    if (restored) {
        arg2(a, "-incoming", "defer");
    }
}

static void build_args(struct args *a, const char *path, const char *accel,
                       const struct machine_config *c)
{
    static const char *const warm[] = {
        [SPEC_COMMAND] = "",
        [SPEC_PYTHON] = " airlock.warm=python",
        [SPEC_JAVASCRIPT] = " airlock.warm=javascript",
    };
    char scratch[48] = "";
    bool tcg = strcmp(accel, "tcg") == 0;

    arg(a, path);
    arg2(a, "-name", "airlock");
    arg(a, "-nodefaults");
    arg(a, "-no-user-config");
    arg(a, "-nographic");
    arg(a, "-no-reboot");
    arg2(a, "-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny");
    argf(a, "-machine",
         "microvm,acpi=on,rtc=on,pit=on,pic=on,isa-serial=on,x-option-roms=off,usb=off,"
         "graphics=off,mem-merge=off,dump-guest-core=off%s",
         c->memory_fd >= 0 ? ",memory-backend=ram" : "");
    /* tb-size: its default grows with guest RAM. */
    arg2(a, "-accel", tcg ? "tcg,tb-size=128" : "kvm");
    arg2(a, "-cpu", tcg ? QEMU_TCG_CPU : QEMU_KVM_CPU);
    argf(a, "-smp", "%llu", (unsigned long long)c->vcpus);
    argf(a, "-m", "%lluM", (unsigned long long)(c->memory_bytes / MIB));
    arg2(a, "-kernel", tcg ? JAIL_KERNEL : "/proc/self/fd/4");
    arg2(a, "-initrd", tcg ? JAIL_INITRAMFS : "/proc/self/fd/5");
    if (c->mounted_inodes > 0) {
        (void)snprintf(scratch, sizeof(scratch), " airlock.scratch=%llu",
                       (unsigned long long)c->mounted_inodes);
    }
    argf(a, "-append", KERNEL_ARGS " %s tsc_early_khz=%llu%s%s", tcg ? KERNEL_ARGS_TCG : "",
         (unsigned long long)c->tsc_khz, warm[c->warm], scratch);
    arg2(a, "-global", "virtio-mmio.force-legacy=false");
    memory_args(a, c);
    disk_args(a, c);
    arg2(a, "-device", "virtio-rng-device");
    arg2(a, "-device", "virtio-serial-device,max_ports=2");
    arg2(a, "-chardev", "socket,id=channel,fd=3");
    arg2(a, "-device", "virtserialport,chardev=channel,name=airlock");
    arg2(a, "-chardev", "stdio,id=console,signal=off");
    arg2(a, "-serial", "chardev:console");
    a->argv[a->n] = NULL;
}

static int add_files(struct jail_files *files, const char *path, const struct machine_config *c,
                     struct err *err)
{
    bool module = access(QEMU_TCG_MODULE, F_OK) == 0;
    int r =
        jail_files_add_program(files, path, module ? QEMU_TCG_MODULE : NULL, c->memo_dirfd, err);

    if (r == 0) {
        r = jail_files_add(files, JAIL_DATA, QEMU_FIRMWARE, QEMU_FIRMWARE, err);
    }
    if (r == 0) {
        r = jail_files_add(files, JAIL_DEVICE, "/dev/null", "/dev/null", err);
    }
    if (r == 0) {
        r = jail_files_add(files, JAIL_DEVICE, "/dev/urandom", "/dev/urandom", err);
    }
    if (r == 0) {
        r = jail_files_add_fd(files, c->kernel_fd, JAIL_KERNEL, err);
    }
    return r < 0 ? r : jail_files_add_fd(files, c->initramfs_fd, JAIL_INITRAMFS, err);
}

static int spawn_jailed(const struct args *args, const struct machine_config *c,
                        const struct proc_fd *fds, size_t n_fds, struct proc *ret, struct err *err)
{
    auto_jail_files struct jail_files files = JAIL_FILES_INIT;
    auto_seccomp_filter struct seccomp_filter filter = SECCOMP_FILTER_INIT;
    int procs_fds[CGROUP_TREES_MAX];
    struct jail_spec spec = {
        .argv = args->argv,
        .fds = fds,
        .n_fds = n_fds,
        .uid = c->uid,
        .gid = c->uid,
        .nofile_max = QEMU_NOFILE,
        .fsize_bytes = c->scratch_bytes,
        .threads_max = QEMU_THREADS_MAX,
        .oom_score_adj = QEMU_OOM_SCORE,
        .cgroup_fd = c->group != NULL ? cgroup_clone_fd(c->group) : -1,
        .procs_fds = procs_fds,
        .filter = &filter,
        .opened_fd = c->memory_fd,
    };
    int r = add_files(&files, args->argv[0], c, err);

    if (r == 0) {
        r = jail_filter_qemu_tcg(&filter, err);
    }
    if (r < 0) {
        return r;
    }
    for (size_t i = 0; c->group != NULL && i < c->group->n_members; i++) {
        if (!c->group->members[i].v2) {
            procs_fds[spec.n_procs_fds++] = c->group->members[i].procs_fd;
        }
    }
    spec.binds = files.binds;
    spec.n_binds = files.n;
    return jail_spawn(&spec, ret, err);
}

static int spawn_bare(const struct args *args, const struct machine_config *c,
                      const struct proc_fd *fds, size_t n_fds, struct proc *ret, struct err *err)
{
    const struct proc_spec spec = {.argv = args->argv,
                                   .fds = fds,
                                   .n_fds = n_fds,
                                   .die_with_parent = true,
                                   .fsize_max = c->scratch_bytes,
                                   .nofile = QEMU_NOFILE};

    return proc_spawn(&spec, ret, err);
}

/* A monitor that ended before it opened its memory said why on its console. */
static int with_last_words(int console_fd, struct err *err)
{
    struct err ignored = ERR_INIT;
    char said[2048];
    char words[512] = "";
    ssize_t n =
        fd_set_nonblock(console_fd, &ignored) == 0 ? read(console_fd, said, sizeof(said)) : -1;

    if (n > 0) {
        engine_last_words(said, (size_t)n, words, sizeof(words));
    }
    return words[0] == '\0' ? err_negative(-err->errnum)
                            : err_wrap(err, "the monitor ended at its start (%s)", words);
}

int qemu_start(const char *accel, const struct machine_config *c, struct machine *ret,
               struct err *err)
{
    char path[PROC_PATH_MAX];
    struct args args = {.n = 0};
    int pair[2] = {-1, -1};
    int console[2] = {-1, -1};
    auto_fd int ours = -1;
    auto_fd int theirs = -1;
    auto_fd int console_rd = -1;
    auto_fd int console_wr = -1;
    auto_fd int control = -1;
    auto_fd int their_control = -1;
    struct proc_fd fds[10];
    size_t n = 0;
    bool jailed = strcmp(accel, "tcg") == 0;
    int r = proc_find(QEMU_NAME, QEMU_PACKAGE, path, err);

    if (r == 0 && c->memory_fd >= 0) {
        r = qemu_control_open(c->state_fd, &control, &their_control, err);
    }
    if (r < 0) {
        return r;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        return err_sys(err, "socketpair");
    }
    ours = pair[0];
    theirs = pair[1];
    if (pipe2(console, O_CLOEXEC) < 0) {
        return err_sys(err, "pipe");
    }
    console_rd = console[0];
    console_wr = console[1];
    fds[n++] = (struct proc_fd){console_wr, 1};
    fds[n++] = (struct proc_fd){console_wr, 2};
    fds[n++] = (struct proc_fd){theirs, FD_CHANNEL};
    if (!jailed) {
        fds[n++] = (struct proc_fd){c->kernel_fd, FD_KERNEL};
        fds[n++] = (struct proc_fd){c->initramfs_fd, FD_INITRAMFS};
    }
    if (c->root_fd >= 0) {
        fds[n++] = (struct proc_fd){c->root_fd, FD_ROOT};
        fds[n++] = (struct proc_fd){c->input_fd, FD_INPUT};
        fds[n++] = (struct proc_fd){c->scratch_fd, FD_SCRATCH};
    }
    if (their_control >= 0) {
        fds[n++] = (struct proc_fd){their_control, FD_CONTROL};
    }
    build_args(&args, path, accel, c);
    r = jailed ? spawn_jailed(&args, c, fds, n, &ret->proc, err)
               : spawn_bare(&args, c, fds, n, &ret->proc, err);
    if (r < 0) {
        return with_last_words(console_rd, err);
    }
    ret->channel_fd = STEAL_FD(&ours);
    ret->console_fd = STEAL_FD(&console_rd);
    ret->control_fd = STEAL_FD(&control);
    return 0;
}

static int tcg_start(const struct machine_config *config, struct machine *ret, struct err *err)
{
    return qemu_start("tcg", config, ret, err);
}

/* Asks the monitor itself; out gets what it says. */
static int ask_version(const char *path, struct buf *out, struct err *err)
{
    const char *const argv[] = {path, "--version", NULL};
    int r = proc_run(argv, NULL, 10 * NS_PER_S, out, err);

    if (r == 0 && (out->data == NULL || out->data[0] == '\n')) {
        return err_set(err, ERR_HOST, EPROTO, "'%s --version' says nothing", path);
    }
    return r;
}

/*
 * "QEMU emulator version 7.2.22 (Debian ...)" without the copyright lines. Asked once while program
 * and plug-in are the same files: the answer costs 30 to 100 ms.
 */
static int qemu_version(int memo_dirfd, char *text, size_t size, struct err *err)
{
    static const char name[] = "version-" QEMU_NAME;
    auto_memo struct memo memo = MEMO_INIT;
    auto_buf struct buf out = BUF_INIT(4096);
    char path[PROC_PATH_MAX];
    int r = proc_find(QEMU_NAME, QEMU_PACKAGE, path, err);

    if (r == 0) {
        r = memo_begin(&memo, err);
    }
    if (r == 0) {
        r = memo_add_path(&memo, path, err);
    }
    if (r == 0) {
        r = memo_add_path(&memo, QEMU_TCG_MODULE, err);
    }
    if (r == 0 && (!memo_get(memo_dirfd, name, &memo, &out) || out.data == NULL)) {
        r = ask_version(path, &out, err);
        if (r == 0) {
            memo_put(memo_dirfd, name, &memo, out.data, strcspn((const char *)out.data, "\n"));
        }
    }
    if (r < 0) {
        return r;
    }
    (void)snprintf(text, size, "%.*s", (int)strcspn((const char *)out.data, "\n"),
                   (const char *)out.data);
    return 0;
}

/* All arguments but the one that names this host's clock, which template.h holds apart. */
static int qemu_describe(const struct machine_config *config, struct buf *ret, struct err *err)
{
    struct machine_config same = *config;
    struct args args = {.n = 0};

    same.tsc_khz = 0;
    build_args(&args, QEMU_NAME, "tcg", &same);
    for (size_t i = 0; i < args.n; i++) {
        if (buf_printf(ret, "%s\n", args.argv[i]) < 0) {
            return err_set(err, ERR_HOST, ENOBUFS, "the machine's description is too long");
        }
    }
    return 0;
}

const struct engine engine_tcg = {
    .name = "tcg",
    .isolation = "emulated",
    .start = tcg_start,
    .version = qemu_version,
    .describe = qemu_describe,
    .save = qemu_control_save,
    .control = qemu_control_read,
};
