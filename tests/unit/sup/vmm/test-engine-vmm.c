/* Engine kvm's side of a monitor, with a double beside this program (fake-vmm.c) that plays it. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store-dir.h"
#include "sup/engine-vmm.h"
#include "sup/engine.h"
#include "sup/monitor.h"
#include "vmm/start.h"

#define MONITOR_UID 1879000001u
#define WAIT_MS     10000

static void need_kvm(void)
{
    if (geteuid() != 0) {
        print_message("needs root\n");
        skip();
    }
    if (access("/dev/kvm", R_OK | W_OK) < 0) {
        print_message("needs /dev/kvm\n");
        skip();
    }
}

/* Everything that a machine is made of; all of it is one file, since nobody reads it. */
struct setup {
    int file;
    int memory_rw, memory_ro, state;
    struct machine machine;
};

#define SETUP_INIT                                                                         \
    {                                                                                      \
        .file = -1, .memory_rw = -1, .memory_ro = -1, .state = -1, .machine = MACHINE_INIT \
    }

static void setup_fini(struct setup *s)
{
    machine_fini(&s->machine);
    fd_close_p(&s->file);
    fd_close_p(&s->memory_rw);
    fd_close_p(&s->memory_ro);
    fd_close_p(&s->state);
}

#define auto_setup on_scope_exit(setup_fini)

/* state: what lies behind the memory, NULL for a machine that boots. */
static void setup(struct setup *s, const char *state)
{
    struct err err = ERR_INIT;

    s->file = memfd_create("file", MFD_CLOEXEC);
    s->memory_rw = memfd_create("memory", MFD_CLOEXEC);
    assert_int_equal(ftruncate(s->memory_rw, 8192), 0);
    assert_int_equal(pwrite(s->memory_rw, "M", 1, 0), 1);
    if (state != NULL) {
        assert_true(pwrite(s->memory_rw, state, strlen(state), 4096) > 0);
    }
    assert_ok(fd_reopen(s->memory_rw, O_RDONLY, &s->memory_ro, &err), &err);
    assert_ok(fd_reopen(s->memory_rw, O_RDONLY, &s->state, &err), &err);
    assert_int_equal(lseek(s->state, 4096, SEEK_SET), 4096);
}

/* A boot that the double plays as mode says; with its memory in a file if it is to be saved. */
static void start_boot(struct setup *s, const char *mode, bool may_save)
{
    struct machine_config config = MACHINE_CONFIG_INIT;
    struct err err = ERR_INIT;

    config.vcpus = 2;
    config.memory_bytes = 192 * MIB;
    config.warm = mode;
    config.uid = MONITOR_UID;
    config.scratch_bytes = MIB;
    config.kernel_fd = config.initramfs_fd = config.root_fd = config.input_fd = s->file;
    config.scratch_fd = s->file;
    config.memory_fd = may_save ? s->memory_rw : -1;
    assert_ok(engine_kvm.start(&config, &s->machine, &err), &err);
}

static int start_restore(struct setup *s, struct err *err)
{
    struct machine_config config = MACHINE_CONFIG_INIT;

    config.vcpus = 1;
    config.memory_bytes = 192 * MIB;
    config.mounted_inodes = 7;
    config.uid = MONITOR_UID;
    config.scratch_bytes = MIB;
    config.kernel_fd = config.initramfs_fd = config.root_fd = config.input_fd = s->file;
    config.scratch_fd = s->file;
    config.memory_fd = s->memory_ro;
    config.state_fd = s->state;
    return engine_kvm.start(&config, &s->machine, err);
}

/* What was written to fd so far, at least a byte. */
static void read_some(int fd, char *ret, size_t size)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    ssize_t n = poll(&p, 1, WAIT_MS) == 1 ? read(fd, ret, size - 1) : -1;

    assert_true(n > 0);
    ret[n] = '\0';
}

/* engine->control as the supervisor calls it, until it says something. */
static int control(struct setup *s, struct err *err)
{
    int r = 0;

    while (r == 0) {
        struct pollfd p = {.fd = s->machine.control_fd, .events = POLLIN};

        assert_int_equal(poll(&p, 1, WAIT_MS), 1);
        r = engine_kvm.control(&s->machine, err);
    }
    return r;
}

static void ended(struct setup *s, char *ret, size_t size)
{
    struct pollfd p = {.fd = s->machine.proc.pidfd, .events = POLLIN};

    assert_int_equal(poll(&p, 1, WAIT_MS), 1);
    monitor_how_it_ended(&engine_kvm, &s->machine.proc, ret, size);
}

static void it_is_found_beside_the_program_that_runs(void **state)
{
    char self[VMM_PATH_MAX] = "";
    char found[VMM_PATH_MAX] = "";
    struct err err = ERR_INIT;

    (void)state;
    assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    assert_ok(vmm_find(found, &err), &err);
    assert_string_equal(strrchr(found, '/'), "/airlock-vmm");
    assert_int_equal(strncmp(self, found, (size_t)(strrchr(found, '/') - found)), 0);
}

static void a_boot_has_its_descriptors_and_no_others(void **state)
{
    auto_setup struct setup s = SETUP_INIT;
    char told[2048] = "";

    (void)state;
    need_kvm();
    setup(&s, NULL);
    start_boot(&s, "end-0", false);
    read_some(s.machine.channel_fd, told, sizeof(told));
    assert_string_equal(told, "--memory 201326592 --vcpus 2 --disks --console --cmdline "
                              "quiet loglevel=3 panic=-1 reboot=t earlyprintk=ttyS0,keep "
                              "airlock.shm=33554432 airlock.warm=end-0 "
                              "0:rw 1:wn 2:wn 3:rwn 4:rw 5:rw 6:rw 7:rw 8:rw 12:rw\n");
    assert_int_equal(s.machine.control_fd, -1);
    assert_true(s.machine.exec_ns > 0);
}

static void a_probe_has_no_disks_and_speaks_at_once(void **state)
{
    auto_setup struct setup s = SETUP_INIT;
    struct machine_config config = MACHINE_CONFIG_INIT;
    char told[2048] = "";
    struct err err = ERR_INIT;

    (void)state;
    need_kvm();
    setup(&s, NULL);
    config.vcpus = 1;
    config.memory_bytes = 192 * MIB;
    config.uid = MONITOR_UID;
    config.scratch_bytes = MIB;
    config.kernel_fd = config.initramfs_fd = s.file;
    config.is_probe = true;
    assert_ok(engine_kvm.start(&config, &s.machine, &err), &err);
    read_some(s.machine.channel_fd, told, sizeof(told));
    assert_null(strstr(told, "--disks"));
    assert_non_null(strstr(told, "--cmdline earlyprintk=ttyS0,keep quiet "));
    assert_non_null(strstr(told, " 5:rw 12:rw\n"));
}

static void a_clone_gets_memory_that_it_cannot_write_and_no_kernel(void **state)
{
    auto_setup struct setup s = SETUP_INIT;
    char told[2048] = "";
    char byte = 0;
    struct err err = ERR_INIT;

    (void)state;
    need_kvm();
    setup(&s, "goes");
    assert_ok(start_restore(&s, &err), &err);
    read_some(s.machine.channel_fd, told, sizeof(told));
    assert_string_equal(told, "--memory 201326592 --vcpus 1 --disks --console --restore "
                              "0:rw 1:wn 2:wn 3:rwn 6:rw 7:rw 8:rw 9:rw 10:r 11:r 12:rw\n");
    assert_int_equal(control(&s, &err), 1);
    assert_int_equal(s.machine.control_fd, -1);
    assert_int_equal(pread(s.memory_rw, &byte, 1, 0), 1);
    assert_int_equal(byte, 'M');
}

static void a_state_that_cannot_go_on_is_told_in_the_monitors_words(void **state)
{
    auto_setup struct setup s = SETUP_INIT;
    char how[256];
    struct err err = ERR_INIT;

    (void)state;
    need_kvm();
    setup(&s, "old!");
    assert_ok(start_restore(&s, &err), &err);
    assert_int_equal(control(&s, &err), -EPROTO);
    assert_int_equal(err.class, ERR_HOST);
    assert_non_null(strstr(err.msg, "another version of the state"));
    ended(&s, how, sizeof(how));
    assert_non_null(strstr(how, "cannot go on here"));
}

static void a_machine_is_saved_to_the_descriptor_at_its_offset(void **state)
{
    auto_setup struct setup s = SETUP_INIT;
    char saved[8] = "";
    struct err err = ERR_INIT;

    (void)state;
    need_kvm();
    setup(&s, NULL);
    start_boot(&s, "save-well", true);
    assert_int_equal(lseek(s.file, 100, SEEK_SET), 100);
    assert_ok(engine_kvm.save(&s.machine, s.file, &err), &err);
    assert_int_equal(control(&s, &err), 1);
    assert_int_equal(s.machine.control_fd, -1);
    assert_int_equal(pread(s.file, saved, 5, 100), 5);
    assert_string_equal(saved, "STATE");
}

static void a_save_that_fails_says_why_or_that_it_does_not(void **state)
{
    static const struct {
        const char *mode;
        int r;
        const char *words;
    } cases[] = {
        {"save-full", -EPROTO,
         "no room for \\x1b[31mthe state"}, /* nothing that a terminal obeys */
        {"save-half", -EPROTO, "half a reason"},
        {"save-strange", -EPROTO, "nobody understands"},
        {"save-silent", -EPIPE, "closed its control socket"},
    };

    (void)state;
    need_kvm();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_setup struct setup s = SETUP_INIT;
        struct err err = ERR_INIT;

        setup(&s, NULL);
        start_boot(&s, cases[i].mode, true);
        assert_ok(engine_kvm.save(&s.machine, s.file, &err), &err);
        assert_int_equal(control(&s, &err), cases[i].r);
        assert_int_equal(err.class, ERR_HOST);
        if (strstr(err.msg, cases[i].words) == NULL) {
            fail_msg("%s: %s", cases[i].mode, err.msg);
        }
    }
}

static void every_end_of_a_monitor_has_its_words(void **state)
{
    static const struct {
        const char *mode, *words;
    } cases[] = {
        {"end-0", "the machine ended by itself"},
        {"end-64", "in a way that it does not know"},
        {"end-65", "the host failed the monitor"},
        {"end-66", "what no guest may"},
        {"end-67", "cannot go on here"},
        {"end-1", "the machine ended by itself"},
        {"open", "a system call that its jail does not allow"},
    };

    (void)state;
    need_kvm();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_setup struct setup s = SETUP_INIT;
        char how[256] = "";

        setup(&s, NULL);
        start_boot(&s, cases[i].mode, false);
        ended(&s, how, sizeof(how));
        if (strstr(how, cases[i].words) == NULL) {
            fail_msg("%s: %s", cases[i].mode, how);
        }
    }
}

static void a_monitor_that_runs_has_not_ended_and_a_killed_one_by_a_signal(void **state)
{
    auto_setup struct setup s = SETUP_INIT;
    char how[256] = "x";

    (void)state;
    need_kvm();
    setup(&s, NULL);
    start_boot(&s, "save-well", true);
    monitor_how_it_ended(&engine_kvm, &s.machine.proc, how, sizeof(how));
    assert_string_equal(how, "");
    proc_kill(&s.machine.proc);
    ended(&s, how, sizeof(how));
    assert_string_equal(how, "the monitor was ended by signal 9");
}

static void its_last_line_stands_on_the_console(void **state)
{
    auto_setup struct setup s = SETUP_INIT;
    char said[256] = "";
    char how[256] = "";

    (void)state;
    need_kvm();
    setup(&s, NULL);
    start_boot(&s, "end-65", false);
    ended(&s, how, sizeof(how));
    read_some(s.machine.console_fd, said, sizeof(said));
    assert_string_equal(said, "airlock-vmm: the reason\n");
}

/* The digest is what tells two builds of one version apart; it is kept while the file is the same. */
static void the_version_names_the_build(void **state)
{
    char first[128] = "";
    char again[128] = "";
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(engine_kvm.version(-1, first, sizeof(first), &err), &err);
    assert_int_equal(strncmp(first, "airlock-vmm " AIRLOCK_VERSION " (sha256 ",
                             strlen("airlock-vmm " AIRLOCK_VERSION " (sha256 ")),
                     0);
    assert_int_equal(strlen(strstr(first, "(sha256 ")), strlen("(sha256 )") + 16);
    assert_ok(engine_kvm.version(store, again, sizeof(again), &err), &err);
    assert_string_equal(first, again);
    assert_ok(engine_kvm.version(store, again, sizeof(again), &err), &err);
    assert_string_equal(first, again);
}

static bool same_description(const struct machine_config *a, const struct machine_config *b)
{
    auto_buf struct buf text_a = BUF_INIT(64 * KIB);
    auto_buf struct buf text_b = BUF_INIT(64 * KIB);
    struct err err = ERR_INIT;

    assert_ok(engine_kvm.describe(a, &text_a, &err), &err);
    assert_ok(engine_kvm.describe(b, &text_b, &err), &err);
    assert_non_null(strstr((const char *)text_a.data, "\nhost "));
    assert_non_null(strstr((const char *)text_a.data, "\ncpuid 1.0: "));
    return strcmp((const char *)text_a.data, (const char *)text_b.data) == 0;
}

static void a_machine_that_differs_is_described_otherwise(void **state)
{
    struct machine_config a = MACHINE_CONFIG_INIT;
    struct machine_config b;

    (void)state;
    a.vcpus = 1;
    a.memory_bytes = 384 * MIB;
    b = a;
    b.tsc_khz = 1000; /* held apart: two measurements of one clock differ */
    assert_true(same_description(&a, &b));
    b.warm = "main.py";
    assert_false(same_description(&a, &b));
    b.warm = NULL;
    b.mounted_inodes = 5;
    assert_false(same_description(&a, &b));
    b.mounted_inodes = 0;
    b.vcpus = 2;
    assert_false(same_description(&a, &b));
}

#define D(f) cmocka_unit_test_setup_teardown(f, make_store, drop_store)

TEST_MAIN(T(it_is_found_beside_the_program_that_runs), T(a_boot_has_its_descriptors_and_no_others),
          T(a_probe_has_no_disks_and_speaks_at_once),
          T(a_clone_gets_memory_that_it_cannot_write_and_no_kernel),
          T(a_state_that_cannot_go_on_is_told_in_the_monitors_words),
          T(a_machine_is_saved_to_the_descriptor_at_its_offset),
          T(a_save_that_fails_says_why_or_that_it_does_not),
          T(every_end_of_a_monitor_has_its_words),
          T(a_monitor_that_runs_has_not_ended_and_a_killed_one_by_a_signal),
          T(its_last_line_stands_on_the_console), D(the_version_names_the_build),
          T(a_machine_that_differs_is_described_otherwise))
