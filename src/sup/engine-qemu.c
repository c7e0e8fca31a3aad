/*
 * How it works.  The argument list is made from nothing (-nodefaults -no-user-config): a microvm
 * board without PCI, virtio over MMIO only, no network device, no monitor, no display.  Files come
 * as descriptors: disks through fd sets, the channel as a connected socket, the file that is the
 * guest's memory as the answer to the open that asks for it (jail.h); kernel and initramfs are
 * read-only files in the jail.  The console's bytes and QEMU's own complaints share
 * one pipe that the supervisor drains.  RLIMIT_FSIZE bounds what a guest that writes to the raw scratch
 * device can put on the host's disk: past the filesystem's end its writes fail.
 *
 * It never runs without its jail, not even to be probed.
 */
#include "sup/engine-qemu.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sup/jail-files.h"
#include "sup/jail-filter.h"
#include "sup/monitor.h"
#include "sup/qemu-control.h"
#include "sys/fd.h"
#include "sys/memo.h"

/* Descriptor numbers inside the monitor process; disk_args() and memory_args() know them as text. */
enum {
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
/* What QEMU looks for by name, measured with strace; the first is a plug-in where it exists. */
#define QEMU_TCG_MODULE "/usr/lib/x86_64-linux-gnu/qemu/accel-tcg-x86_64.so"
#define QEMU_FIRMWARE   "/usr/share/qemu/bios-microvm.bin"

#define QEMU_NOFILE 256
/* 64 of the block layer's pool, vCPUs, the main loop and its helpers. */
#define QEMU_THREADS_MAX 128

#define QEMU_ARGS_MAX 80
#define QEMU_TEXT_MAX 512

/* Never depends on the job. loglevel=3 lets a panic through to the console, our evidence. */
#define KERNEL_ARGS "console=ttyS0 quiet loglevel=3 panic=-1 reboot=t edd=off"

/* tb-size: its default grows with guest RAM. */
#define ACCEL "tcg,tb-size=128"
/* SSE4 without AVX (emulated AVX is slower), with what keeps a guest's kernel and program apart. */
#define CPU "Nehalem,+smep,+smap,+umip,+fsgsbase,+rdrand,+arat"
/*
 * docs/decisions/0019: emulated code does not speculate, and KPTI costs a TLB flush per call.
 * Without tsc=reliable the clock stays at 4 ms jiffies for the first second or two: for most jobs'
 * whole life.
 */
#define KERNEL_CPU_ARGS " tsc=reliable mitigations=off"

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

static void kernel_args(struct args *a, const struct machine_config *c)
{
    char scratch[48] = "";
    const char *warm = c->warm != NULL ? c->warm : "";

    if (c->mounted_inodes > 0) {
        (void)snprintf(scratch, sizeof(scratch), " airlock.scratch=%llu",
                       (unsigned long long)c->mounted_inodes);
    }
    /* Before "quiet", which would count for it too. */
    argf(a, "-append",
         "%s" KERNEL_ARGS KERNEL_CPU_ARGS " tsc_early_khz=%llu airlock.shm=%llu%s%s%s",
         c->is_probe ? "earlyprintk=ttyS0 " : "", (unsigned long long)c->tsc_khz,
         (unsigned long long)engine_job_bytes(c->memory_bytes) / 2,
         c->warm != NULL ? " airlock.warm=" : "", warm, scratch);
}

static void build_args(struct args *a, const char *path, const struct machine_config *c)
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
    arg2(a, "-accel", ACCEL);
    arg2(a, "-cpu", CPU);
    argf(a, "-smp", "%llu", (unsigned long long)c->vcpus);
    argf(a, "-m", "%lluM", (unsigned long long)(c->memory_bytes / MIB));
    if (boots(c)) {
        arg2(a, "-kernel", JAIL_KERNEL);
        arg2(a, "-initrd", JAIL_INITRAMFS);
        kernel_args(a, c);
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
    if (r < 0 || !boots(c)) {
        return r;
    }
    r = jail_files_add_fd(files, c->kernel_fd, JAIL_KERNEL, err);
    return r < 0 ? r : jail_files_add_fd(files, c->initramfs_fd, JAIL_INITRAMFS, err);
}

static int tcg_start(const struct machine_config *c, struct machine *ret, struct err *err)
{
    auto_jail_files struct jail_files files = JAIL_FILES_INIT;
    auto_seccomp_filter struct seccomp_filter filter = SECCOMP_FILTER_INIT;
    auto_fd int control = -1;
    auto_fd int their_control = -1;
    char path[PROC_PATH_MAX];
    struct args args = {.n = 0};
    struct monitor m = {
        .argv = args.argv,
        .files = &files,
        .filter = &filter,
        .nofile_max = QEMU_NOFILE,
        .threads_max = QEMU_THREADS_MAX,
    };
    int r = proc_find(QEMU_NAME, QEMU_PACKAGE, path, err);

    if (r == 0 && c->memory_fd >= 0) {
        r = qemu_control_open(c->state_fd, &control, &their_control, err);
    }
    if (r == 0) {
        r = add_files(&files, path, c, err);
    }
    if (r == 0) {
        r = jail_filter_qemu(&filter, err);
    }
    if (r < 0) {
        return r;
    }
    if (c->memory_fd >= 0) {
        m.open_fd = &c->memory_fd;
    }
    monitor_give(&m, c->root_fd, FD_ROOT);
    monitor_give(&m, c->input_fd, FD_INPUT);
    monitor_give(&m, c->scratch_fd, FD_SCRATCH);
    monitor_give(&m, their_control, FD_CONTROL);
    build_args(&args, path, c);
    r = monitor_start(&m, c, ret, err);
    if (r == 0) {
        ret->control_fd = STEAL_FD(&control);
    }
    return r;
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
static int tcg_describe(const struct machine_config *config, struct buf *ret, struct err *err)
{
    struct machine_config same = *config;
    struct args args = {.n = 0};

    same.tsc_khz = 0;
    build_args(&args, QEMU_NAME, &same);
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
    .overhead_bytes = 192 * MIB, /* most of it the translator's buffer, tb-size */
    .start = tcg_start,
    .version = qemu_version,
    .describe = tcg_describe,
    .save = qemu_control_save,
    .control = qemu_control_read,
};
