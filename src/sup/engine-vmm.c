/*
 * How it works.  The monitor is one static file in an otherwise empty root directory, and opens
 * nothing: disks, kernel, memory, saved state, sockets and /dev/kvm are descriptors whose numbers
 * vmm/start.h gives.  /dev/kvm is opened here, by whoever may; the monitor's own user need not.  The
 * console's bytes and the monitor's last line, which says why it ended, share one pipe.
 *
 * The control socket carries one message at most each way: save yourself there, and: done, or goes
 * on, or could not.  All of it comes before the guest has a job, so that what answers is our own
 * kernel and agent at worst; it is read with bounds all the same.
 */
#include "sup/engine-vmm.h"

#include <assert.h>
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/str.h"

#include "sup/jail-filter.h"
#include "sup/monitor.h"
#include "sys/digest.h"
#include "sys/fd.h"
#include "sys/memo.h"
#include "vmm/start.h"

#define VMM_NAME "airlock-vmm"
/* In the jail. */
#define JAIL_PROGRAM_PATH "/" VMM_NAME

/* 14 of start.h, the VM, 8 processors, 5 interrupts, 16 queues, and some of its own. */
#define VMM_NOFILE 128
/* Processors and the main thread. */
#define VMM_THREADS_MAX 16

/*
 * Beside RAM and page cache a control group was charged 1.0 MiB with 1 processor, 1.3 with 2 and 2.5
 * with 8 (docs/vmm.md); the rest is for other kernels and for the cache, without which disks crawl.
 * Tables of the pages of RAM: 1/512 of it for the monitor and 1/512 for the guest, or where KVM shadows
 * the guest's own up to 1/50 (KVM_PERMILLE_MMU_PAGES).
 */
#define OVERHEAD_BYTES (32 * MIB)
#define OVERHEAD_PER   32

#define VMM_ARGS_MAX    16
#define VMM_CMDLINE_MAX 512
#define VMM_WORDS_MAX   600

/*
 * Never depends on the job. The machine has a transmitter where a serial port would be and no more
 * (vmm/dev/serial.h): the early console prints through it, for good, and with loglevel 3 only what
 * is evidence, such as a panic.
 */
#define KERNEL_ARGS "quiet loglevel=3 panic=-1 reboot=t"
#define EARLY       "earlyprintk=ttyS0,keep"

struct args {
    const char *argv[VMM_ARGS_MAX];
    size_t n;
    char memory[24], vcpus[8], cmdline[VMM_CMDLINE_MAX];
};

static void arg(struct args *a, const char *s)
{
    assert(a->n < VMM_ARGS_MAX - 1); /* the list is ours, and so is its length */
    a->argv[a->n++] = s;
}

static void arg2(struct args *a, const char *option, const char *value)
{
    arg(a, option);
    arg(a, value);
}

static void make_cmdline(struct args *a, const struct machine_config *c)
{
    char scratch[48] = "";

    if (c->mounted_inodes > 0) {
        (void)snprintf(scratch, sizeof(scratch), " airlock.scratch=%llu",
                       (unsigned long long)c->mounted_inodes);
    }
    /* A probe's kernel speaks before "quiet" counts: that it got as far as its first word. */
    (void)snprintf(a->cmdline, sizeof(a->cmdline), "%s%s airlock.shm=%llu%s%s%s",
                   c->is_probe ? EARLY " " : "", c->is_probe ? KERNEL_ARGS : KERNEL_ARGS " " EARLY,
                   (unsigned long long)engine_job_bytes(c->memory_bytes) / 2,
                   c->warm != NULL ? " airlock.warm=" : "", c->warm != NULL ? c->warm : "",
                   scratch);
}

/* A machine that goes on has its kernel, with its command line, in memory. */
static void build_args(struct args *a, const struct machine_config *c)
{
    (void)snprintf(a->memory, sizeof(a->memory), "%llu", (unsigned long long)c->memory_bytes);
    (void)snprintf(a->vcpus, sizeof(a->vcpus), "%llu", (unsigned long long)c->vcpus);
    arg(a, JAIL_PROGRAM_PATH);
    arg2(a, "--memory", a->memory);
    arg2(a, "--vcpus", a->vcpus);
    if (c->root_fd >= 0) {
        arg(a, "--disks");
    }
    arg(a, "--console");
    if (c->state_fd >= 0) {
        arg(a, "--restore");
    } else {
        make_cmdline(a, c);
        arg2(a, "--cmdline", a->cmdline);
    }
    a->argv[a->n] = NULL;
}

/* name beside the program that runs; false if it is not there. */
static bool find_beside(char ret[VMM_PATH_MAX])
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    const char *slash = NULL;
    int len = 0;

    if (n <= 0) {
        return false;
    }
    self[n] = '\0';
    slash = strrchr(self, '/');
    if (slash == NULL) {
        return false;
    }
    len = snprintf(ret, VMM_PATH_MAX, "%.*s/%s", (int)(slash - self), self, VMM_NAME);
    return len > 0 && len < VMM_PATH_MAX && access(ret, X_OK) == 0;
}

int vmm_find(char ret[VMM_PATH_MAX], struct err *err)
{
    static const char installed[] = AIRLOCK_BINDIR "/" VMM_NAME;

    if (find_beside(ret)) {
        return 0;
    }
    if (access(installed, X_OK) == 0) {
        (void)snprintf(ret, VMM_PATH_MAX, "%s", installed);
        return 0;
    }
    return err_set(err, ERR_USAGE, ENOENT,
                   "the monitor '%s' is neither beside this program nor at %s; build or install "
                   "airlock again",
                   VMM_NAME, installed);
}

static void give_all(struct monitor *m, const struct machine_config *c, int control, int device)
{
    bool boots = c->state_fd < 0;

    monitor_give(m, boots ? c->kernel_fd : -1, START_FD_KERNEL);
    monitor_give(m, boots ? c->initramfs_fd : -1, START_FD_INITRAMFS);
    if (c->root_fd >= 0) {
        monitor_give(m, c->root_fd, START_FD_ROOT);
        monitor_give(m, c->input_fd, START_FD_INPUT);
        monitor_give(m, c->scratch_fd, START_FD_SCRATCH);
    }
    monitor_give(m, control, START_FD_CONTROL);
    monitor_give(m, c->memory_fd, START_FD_MEMORY);
    monitor_give(m, c->state_fd, START_FD_STATE);
    monitor_give(m, device, START_FD_KVM);
    monitor_give(m, c->writes_fd, START_FD_WRITES);
}

static int start(const struct machine_config *c, struct machine *ret, struct err *err)
{
    auto_jail_files struct jail_files files = JAIL_FILES_INIT;
    auto_seccomp_filter struct seccomp_filter filter = SECCOMP_FILTER_INIT;
    int pair[2] = {-1, -1};
    auto_fd int control = -1;
    auto_fd int their_control = -1;
    auto_fd int device = -1;
    char path[VMM_PATH_MAX];
    struct args args = {.n = 0};
    struct monitor m = {
        .argv = args.argv,
        .files = &files,
        .filter = &filter,
        .nofile_max = VMM_NOFILE,
        .threads_max = VMM_THREADS_MAX,
    };
    int r = vmm_find(path, err);

    if (r == 0) {
        r = fd_open(AT_FDCWD, "/dev/kvm", O_RDWR, 0, &device, err);
    }
    if (r == 0) {
        r = jail_files_add(&files, JAIL_PROGRAM, path, JAIL_PROGRAM_PATH, err);
    }
    if (r == 0) {
        r = jail_filter_vmm(&filter, err);
    }
    if (r < 0) {
        return r;
    }
    if (c->memory_fd >= 0) {
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
            return err_sys(err, "socketpair");
        }
        control = pair[0];
        their_control = pair[1];
    }
    give_all(&m, c, their_control, device);
    build_args(&args, c);
    r = monitor_start(&m, c, ret, err);
    if (r == 0) {
        ret->control_fd = STEAL_FD(&control);
    }
    return r;
}

static int digest_of(const char *path, struct digest *ret, struct err *err)
{
    auto_fd int fd = -1;
    uint64_t bytes = 0;
    int r = fd_open(AT_FDCWD, path, O_RDONLY, 0, &fd, err);

    return r < 0 ? r : digest_of_fd(fd, ret, &bytes, err);
}

/*
 * "airlock-vmm 0.1.0 (sha256 0123456789abcdef)": a version is made of many builds, and a saved state
 * is one build's. Read once while the program is the same file.
 */
static int version(int memo_dirfd, char *text, size_t size, struct err *err)
{
    static const char name[] = "version-" VMM_NAME;
    auto_memo struct memo memo = MEMO_INIT;
    auto_buf struct buf known = BUF_INIT(4096);
    struct digest digest = {""};
    char path[VMM_PATH_MAX];
    int r = vmm_find(path, err);

    if (r == 0) {
        r = memo_begin(&memo, err);
    }
    if (r == 0) {
        r = memo_add_path(&memo, path, err);
    }
    if (r < 0) {
        return r;
    }
    if (memo_get(memo_dirfd, name, &memo, &known) && known.len < sizeof(digest.hex)) {
        memcpy(digest.hex, known.data, known.len);
    } else {
        r = digest_of(path, &digest, err);
        if (r < 0) {
            return err_wrap(err, "%s", path);
        }
        memo_put(memo_dirfd, name, &memo, digest.hex, strlen(digest.hex));
    }
    (void)snprintf(text, size, "%s %s (sha256 %.16s)", VMM_NAME, AIRLOCK_VERSION, digest.hex);
    return 0;
}

static int too_long(struct err *err)
{
    return err_set(err, ERR_HOST, ENOBUFS, "the machine's description is too long");
}

/* What the monitor hands through of this processor: maker, model and features by CPUID. */
static int describe_cpu(struct buf *ret)
{
    static const struct {
        unsigned int leaf, subleaf;
    } told[] = {{0, 0}, {1, 0}, {7, 0}, {0xd, 0}, {0xd, 1}, {0x80000001, 0}, {0x80000008, 0}};

    int r = 0;

    for (size_t i = 0; i < ARRAY_LEN(told) && r == 0; i++) {
        unsigned int a = 0;
        unsigned int b = 0;
        unsigned int c = 0;
        unsigned int d = 0;

        (void)__get_cpuid_count(told[i].leaf, told[i].subleaf, &a, &b, &c, &d);
        b = told[i].leaf == 1 ? 0 : b; /* the number of the processor that we run on */
        r = buf_printf(ret, "cpuid %x.%x: %x %x %x %x\n", told[i].leaf, told[i].subleaf, a, b, c,
                       d);
    }
    return r;
}

/*
 * The monitor's version (its digest) is in the key already. The state holds what this kernel's KVM
 * knows of a processor; another kernel's may know less.
 */
static int describe(const struct machine_config *config, struct buf *ret, struct err *err)
{
    struct args args = {.n = 0};
    struct utsname host = {.release = ""};

    build_args(&args, config);
    for (size_t i = 0; i < args.n; i++) {
        if (buf_printf(ret, "%s\n", args.argv[i]) < 0) {
            return too_long(err);
        }
    }
    if (uname(&host) < 0) {
        return err_sys(err, "uname");
    }
    if (buf_printf(ret, "host %s %s\n", host.release, host.version) < 0) {
        return too_long(err);
    }
    return describe_cpu(ret) < 0 ? too_long(err) : 0;
}

static int save(struct machine *m, int fd, struct err *err)
{
    const char order = START_CONTROL_SAVE;
    ssize_t n = fd_send(m->control_fd, &order, 1, fd, MSG_DONTWAIT);

    return n == 1 ? 0
                  : err_sys_num(err, n < 0 ? (int)-n : EAGAIN,
                                "write to the monitor's control socket");
}

static int complain(const struct buf *said, struct err *err)
{
    auto_buf struct buf shown = BUF_INIT(4 * VMM_WORDS_MAX + 1);
    const char *text = (const char *)said->data + 1;
    const char *end = memchr(text, '\n', said->len - 1);
    size_t len = end != NULL ? (size_t)(end - text) : said->len - 1;

    text += len > 0 && *text == ' ';
    len -= len > 0 && text[-1] == ' ';
    (void)!str_escape(&shown, text, len < 300 ? len : 300, false);
    return err_set(err, ERR_HOST, EPROTO, "the monitor could not save or restore a machine: %s",
                   shown.len > 0 ? (const char *)shown.data : "it does not say why");
}

/* 1, 0 or an error, as engine->control. ended: nothing more comes. */
static int understand(const struct buf *said, bool ended, struct err *err)
{
    uint8_t first = said->len > 0 ? said->data[0] : 0;

    if (first == START_CONTROL_GOES || first == START_CONTROL_SAVED) {
        return 1;
    }
    if (first == START_CONTROL_ERROR) {
        bool whole = memchr(said->data, '\n', said->len) != NULL || said->len >= VMM_WORDS_MAX;

        return whole || ended ? complain(said, err) : 0;
    }
    if (said->len > 0) {
        return err_set(err, ERR_HOST, EPROTO, "the monitor says what nobody understands");
    }
    return err_set(err, ERR_HOST, EPIPE,
                   "the monitor closed its control socket before its machine was ready");
}

static int control(struct machine *m, struct err *err)
{
    char chunk[VMM_WORDS_MAX];
    ssize_t n = recv(m->control_fd, chunk, sizeof(chunk), MSG_DONTWAIT);
    int r = 0;

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    if (n > 0 && buf_put(&m->control, chunk, (size_t)n) < 0) {
        return err_set(err, ERR_HOST, EMSGSIZE, "the monitor says more than it should");
    }
    r = understand(&m->control, n <= 0, err);
    if (r == 1) {
        fd_close_p(&m->control_fd);
        buf_fini(&m->control);
    }
    return r;
}

static const char *exit_words(int code)
{
    switch (code) {
    case START_EXIT_USAGE:
        return "the monitor was started in a way that it does not know";
    case START_EXIT_HOST:
        return "the host failed the monitor";
    case START_EXIT_GUEST:
        return "the guest did to its machine what no guest may, and the monitor ended it";
    case START_EXIT_STATE:
        return "the saved machine cannot go on here";
    default:
        return NULL;
    }
}

const struct engine engine_kvm = {
    .name = "kvm",
    .isolation = "hardware",
    .overhead_bytes = OVERHEAD_BYTES,
    .overhead_per = OVERHEAD_PER,
    .takes_writes = true,
    .start = start,
    .version = version,
    .describe = describe,
    .save = save,
    .control = control,
    .exit_words = exit_words,
};
