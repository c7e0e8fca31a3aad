/*
 * How it works.  The argument list is made from nothing (-nodefaults -no-user-config): a microvm
 * board without PCI, virtio over MMIO only, no network device, no monitor, no display.  Files come
 * as descriptors: disks through fd sets, the channel as a connected socket, the file that is the
 * guest's memory and /dev/kvm as the answers to the opens that ask for them (jail.h); kernel and
 * initramfs are read-only files in the jail.  The console's bytes and QEMU's own complaints share
 * one pipe that the supervisor drains.  RLIMIT_FSIZE bounds what a guest that writes to the raw scratch
 * device can put on the host's disk: past the filesystem's end its writes fail.
 *
 * TCG and KVM are one code; struct accel holds all that differs.  Neither ever runs without its jail,
 * not even to be probed.
 */
#include "sup/engine-qemu.h"

#include <assert.h>
#include <cpuid.h>
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

/* Descriptor numbers inside the monitor process; disk_args() and memory_args() know them as text. */
enum {
    FD_CHANNEL = 3,
    FD_ROOT = 6,
    FD_INPUT,
    FD_SCRATCH,
    FD_CONTROL
};

/* Files inside the jail. */
#define JAIL_KERNEL    "/kernel"
#define JAIL_INITRAMFS "/initramfs"
/* Nothing has this name: the open is answered. */
#define JAIL_MEMORY "/ram"
#define DEVICE_KVM  "/dev/kvm"
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

/* Never depends on the job. loglevel=3 lets a panic through to the console, our evidence. */
#define KERNEL_ARGS "console=ttyS0 quiet loglevel=3 panic=-1 reboot=t edd=off"

struct accel {
    const char *name;   /* for -accel, with its options */
    const char *module; /* a plug-in that QEMU loads where it exists, or NULL */
    const char *cpu;
    const char *kernel_args;
    bool tell_tsc; /* to the kernel; else it can ask the accelerator itself */
    bool is_kvm;
    int (*filter)(struct seccomp_filter *ret, struct err *err);
};

static const struct accel tcg = {
    /* tb-size: its default grows with guest RAM. */
    .name = "tcg,tb-size=128",
    .module = QEMU_TCG_MODULE,
    /* SSE4 without AVX (emulated AVX is slower), with what keeps a guest's kernel and program apart. */
    .cpu = "Nehalem,+smep,+smap,+umip,+fsgsbase,+rdrand,+arat",
    /*
     * docs/decisions/0019: emulated code does not speculate, and KPTI costs a TLB flush per call.
     * Without tsc=reliable the clock stays at 4 ms jiffies for the first second or two: for most
     * jobs' whole life.
     */
    .kernel_args = " tsc=reliable mitigations=off",
    .tell_tsc = true,
    .filter = jail_filter_qemu_tcg,
};

static const struct accel kvm = {
    .name = "kvm",
    /*
     * The host's own, but for virtualization and performance counters: more of KVM's code than any
     * program needs. A saved state only ever goes on on the host it was made on (describe()).
     */
    .cpu = "host,-vmx,-svm,pmu=off",
    .kernel_args = "",
    .is_kvm = true,
    .filter = jail_filter_qemu_kvm,
};

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

/* Nothing is at that path: the supervisor answers the open (jail.h, opens). */
static void memory_args(struct args *a, const struct machine_config *c)
{
    bool restored = c->state_fd >= 0;

    if (c->memory_fd < 0) {
        return;
    }
    argf(a, "-object",
         "memory-backend-file,id=ram,size=%lluM,mem-path=" JAIL_MEMORY
         ",share=%s,merge=off,dump=off",
         (unsigned long long)(c->memory_bytes / MIB), restored ? "off" : "on");
    arg2(a, "-chardev", "socket,id=control,fd=9");
    arg2(a, "-mon", "chardev=control,mode=control");
    if (restored) {
        arg2(a, "-incoming", "defer");
    }
}

/*
 * A restored machine has its kernel in memory. Given one all the same, the monitor reads 43 MB of
 * files into memory of its own that nobody looks at.
 */
static bool boots(const struct machine_config *c)
{
    return c->state_fd < 0;
}

static void kernel_args(struct args *a, const struct accel *accel, const struct machine_config *c)
{
    char tsc[48] = "";
    char scratch[48] = "";
    const char *warm = c->warm != NULL ? c->warm : "";

    if (accel->tell_tsc) {
        (void)snprintf(tsc, sizeof(tsc), " tsc_early_khz=%llu", (unsigned long long)c->tsc_khz);
    }
    if (c->mounted_inodes > 0) {
        (void)snprintf(scratch, sizeof(scratch), " airlock.scratch=%llu",
                       (unsigned long long)c->mounted_inodes);
    }
    /* Before "quiet", which would count for it too. */
    argf(a, "-append", "%s" KERNEL_ARGS "%s%s%s%s%s", c->is_probe ? "earlyprintk=ttyS0 " : "",
         accel->kernel_args, tsc, c->warm != NULL ? " airlock.warm=" : "", warm, scratch);
}

static void build_args(struct args *a, const char *path, const struct accel *accel,
                       const struct machine_config *c)
{
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
    arg2(a, "-accel", accel->name);
    arg2(a, "-cpu", accel->cpu);
    argf(a, "-smp", "%llu", (unsigned long long)c->vcpus);
    argf(a, "-m", "%lluM", (unsigned long long)(c->memory_bytes / MIB));
    if (boots(c)) {
        arg2(a, "-kernel", JAIL_KERNEL);
        arg2(a, "-initrd", JAIL_INITRAMFS);
        kernel_args(a, accel, c);
    }
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

static int add_files(struct jail_files *files, const char *path, const struct accel *accel,
                     const struct machine_config *c, struct err *err)
{
    bool module = accel->module != NULL && access(accel->module, F_OK) == 0;
    int r = jail_files_add_program(files, path, module ? accel->module : NULL, c->memo_dirfd, err);

    if (r == 0) {
        r = jail_files_add(files, JAIL_DATA, QEMU_FIRMWARE, QEMU_FIRMWARE, err);
    }
    if (r == 0) {
        r = jail_files_add(files, JAIL_DEVICE, "/dev/null", "/dev/null", err);
    }
    if (r == 0) {
        r = jail_files_add(files, JAIL_DEVICE, "/dev/urandom", "/dev/urandom", err);
    }
    if (r < 0 || !boots(c)) {
        return r;
    }
    r = jail_files_add_fd(files, c->kernel_fd, JAIL_KERNEL, err);
    return r < 0 ? r : jail_files_add_fd(files, c->initramfs_fd, JAIL_INITRAMFS, err);
}

struct monitor {
    const struct accel *accel;
    const struct machine_config *config;
    struct args args;
    struct proc_fd fds[8];
    size_t n_fds;
};

static int spawn(const struct monitor *m, struct machine *ret, struct err *err)
{
    const struct machine_config *c = m->config;
    auto_jail_files struct jail_files files = JAIL_FILES_INIT;
    auto_seccomp_filter struct seccomp_filter filter = SECCOMP_FILTER_INIT;
    auto_fd int device = -1;
    int procs_fds[CGROUP_TREES_MAX];
    struct jail_spec spec = {
        .argv = m->args.argv,
        .fds = m->fds,
        .n_fds = m->n_fds,
        .uid = c->uid,
        .gid = c->uid,
        .nofile_max = QEMU_NOFILE,
        .fsize_bytes = c->scratch_bytes,
        .threads_max = QEMU_THREADS_MAX,
        .oom_score_adj = QEMU_OOM_SCORE,
        .cgroup_fd = c->group != NULL ? cgroup_clone_fd(c->group) : -1,
        .procs_fds = procs_fds,
        .filter = &filter,
        .ret_exec_ns = &ret->exec_ns,
    };
    int r = add_files(&files, m->args.argv[0], m->accel, c, err);

    if (r == 0) {
        r = m->accel->filter(&filter, err);
    }
    if (r == 0 && m->accel->is_kvm) {
        r = fd_open(AT_FDCWD, DEVICE_KVM, O_RDWR, 0, &device, err);
        spec.opens[spec.n_opens++] = (struct seccomp_open){DEVICE_KVM, device};
    }
    if (r < 0) {
        return r;
    }
    if (c->memory_fd >= 0) {
        /* Under TCG there is no other open to tell it from, and no need to look. */
        spec.opens[spec.n_opens++] =
            (struct seccomp_open){m->accel->is_kvm ? JAIL_MEMORY : NULL, c->memory_fd};
    }
    for (size_t i = 0; c->group != NULL && i < c->group->n_members; i++) {
        if (!c->group->members[i].v2) {
            procs_fds[spec.n_procs_fds++] = c->group->members[i].procs_fd;
        }
    }
    spec.binds = files.binds;
    spec.n_binds = files.n;
    return jail_spawn(&spec, &ret->proc, err);
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

static void give(struct monitor *m, int fd, int number)
{
    if (fd >= 0) {
        m->fds[m->n_fds++] = (struct proc_fd){fd, number};
    }
}

static int start(const struct accel *accel, const struct machine_config *c, struct machine *ret,
                 struct err *err)
{
    char path[PROC_PATH_MAX];
    struct monitor m = {.accel = accel, .config = c};
    int pair[2] = {-1, -1};
    int console[2] = {-1, -1};
    auto_fd int ours = -1;
    auto_fd int theirs = -1;
    auto_fd int console_rd = -1;
    auto_fd int console_wr = -1;
    auto_fd int control = -1;
    auto_fd int their_control = -1;
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
    give(&m, console_wr, 1);
    give(&m, console_wr, 2);
    give(&m, theirs, FD_CHANNEL);
    give(&m, c->root_fd, FD_ROOT);
    give(&m, c->input_fd, FD_INPUT);
    give(&m, c->scratch_fd, FD_SCRATCH);
    give(&m, their_control, FD_CONTROL);
    build_args(&m.args, path, accel, c);
    r = spawn(&m, ret, err);
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
    return start(&tcg, config, ret, err);
}

static int kvm_start(const struct machine_config *config, struct machine *ret, struct err *err)
{
    return start(&kvm, config, ret, err);
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

static int too_long(struct err *err)
{
    return err_set(err, ERR_HOST, ENOBUFS, "the machine's description is too long");
}

/* All arguments but the one that names this host's clock, which template.h holds apart. */
static int describe(const struct accel *accel, const struct machine_config *config, struct buf *ret,
                    struct err *err)
{
    struct machine_config same = *config;
    struct args args = {.n = 0};

    same.tsc_khz = 0;
    build_args(&args, QEMU_NAME, accel, &same);
    for (size_t i = 0; i < args.n; i++) {
        if (buf_printf(ret, "%s\n", args.argv[i]) < 0) {
            return too_long(err);
        }
    }
    return 0;
}

static int tcg_describe(const struct machine_config *config, struct buf *ret, struct err *err)
{
    return describe(&tcg, config, ret, err);
}

/* "-cpu host" is a word for whatever this host's is: maker, model and features by CPUID. */
static int kvm_describe(const struct machine_config *config, struct buf *ret, struct err *err)
{
    static const struct {
        unsigned int leaf, subleaf;
    } told[] = {{0, 0}, {1, 0}, {7, 0}, {0xd, 0}, {0xd, 1}, {0x80000001, 0}, {0x80000008, 0}};

    int r = describe(&kvm, config, ret, err);

    for (size_t i = 0; i < ARRAY_LEN(told) && r == 0; i++) {
        unsigned int a = 0;
        unsigned int b = 0;
        unsigned int c = 0;
        unsigned int d = 0;

        (void)__get_cpuid_count(told[i].leaf, told[i].subleaf, &a, &b, &c, &d);
        b = told[i].leaf == 1 ? 0 : b; /* the number of the processor that we run on */
        r = buf_printf(ret, "cpuid %x.%x: %x %x %x %x\n", told[i].leaf, told[i].subleaf, a, b, c,
                       d) < 0
                ? too_long(err)
                : 0;
    }
    return r;
}

const struct engine engine_tcg = {
    .name = "tcg",
    .isolation = "emulated",
    .start = tcg_start,
    .version = qemu_version,
    .describe = tcg_describe,
    .save = qemu_control_save,
    .control = qemu_control_read,
};

const struct engine engine_kvm = {
    .name = "kvm",
    .isolation = "hardware",
    .start = kvm_start,
    .version = qemu_version,
    .describe = kvm_describe,
    .save = qemu_control_save,
    .control = qemu_control_read,
};
