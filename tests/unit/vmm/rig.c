#include "rig.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake-kvm.h"
#include "sys/fd.h"
#include "test.h"
#include "vmm/guard.h"

const struct machine_options rig_plain = {.memory_bytes = 128 * MIB,
                                          .vcpus = 1,
                                          .console = true,
                                          .cmdline = ""};

void guard_prepare(void)
{
}

int guard_enter(enum guard_kind kind, struct err *err)
{
    (void)kind, (void)err;
    return 0;
}

int rig_out_of_the_way(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 100);

    assert_true(high >= 100);
    (void)close(fd);
    return high;
}

/* Moves fd to a number of start.h; what was there comes back in rig_close(). */
static void give(struct rig *rig, int fd, int number)
{
    rig->before[number] = fcntl(number, F_DUPFD_CLOEXEC, 100);
    rig->given[number] = true;
    assert_int_equal(dup2(fd, number), number);
    assert_int_equal(close(fd), 0);
}

static int unnamed_file(uint64_t size)
{
    int fd = rig_out_of_the_way(memfd_create("rig", MFD_CLOEXEC));

    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    return fd;
}

static int give_socket(struct rig *rig, int number)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    pair[0] = rig_out_of_the_way(pair[0]);
    pair[1] = rig_out_of_the_way(pair[1]);
    assert_int_equal(fcntl(pair[1], F_SETFL, O_NONBLOCK), 0);
    give(rig, pair[1], number);
    return pair[0];
}

void rig_open(struct rig *rig, const struct machine_options *options)
{
    *rig = (struct rig){.options = *options, .channel = -1, .control = -1, .console = -1};
    rig->channel = give_socket(rig, START_FD_CHANNEL);
    if (options->disks) {
        give(rig, unnamed_file(MIB), START_FD_ROOT);
        give(rig, unnamed_file(MIB), START_FD_INPUT);
        give(rig, unnamed_file(MIB), START_FD_SCRATCH);
    }
    if (options->memory_file) {
        rig->control = give_socket(rig, START_FD_CONTROL);
        give(rig, unnamed_file(options->memory_bytes), START_FD_MEMORY);
    }
    give(rig, unnamed_file(0), START_FD_KVM);
}

void rig_setup(struct rig *rig, const struct machine_options *options)
{
    struct err err = ERR_INIT;
    int pair[2];

    rig_open(rig, options);
    assert_ok(machine_make(&rig->options, &rig->machine, &err), &err);
    assert_int_equal(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
    rig->console = pair[0];
    rig->machine.serial.fd = pair[1];
}

void rig_close(struct rig *rig)
{
    if (rig->machine.options != NULL) {
        if (rig->console >= 0) { /* not number 1, which is the test's */
            fd_close_p(&rig->machine.serial.fd);
        }
        machine_free(&rig->machine);
    }
    for (int number = START_FD_CHANNEL; number <= START_FD_KVM; number++) {
        if (rig->given[number]) {
            (void)close(number);
            if (rig->before[number] >= 0) {
                (void)dup2(rig->before[number], number);
                (void)close(rig->before[number]);
            }
        }
    }
    fd_close_p(&rig->channel);
    fd_close_p(&rig->control);
    fd_close_p(&rig->console);
}

static void *serve(void *machine)
{
    struct rig *rig = (void *)((uint8_t *)machine - offsetof(struct rig, machine));

    rig->served = (struct err)ERR_INIT;
    (void)!machine_serve(machine, &rig->served);
    return NULL;
}

int rig_go(struct rig *rig, struct err *err)
{
    int r = machine_run(&rig->machine, serve, err);

    if (r == 0) {
        *err = rig->served;
    }
    return r < 0 ? r : -err->errnum;
}

struct kvm_run *rig_run(struct rig *rig, int fd)
{
    for (unsigned int i = 0; i < rig->machine.n_vcpus; i++) {
        if (rig->machine.vcpus[i].fd == fd) {
            return rig->machine.vcpus[i].run;
        }
    }
    abort(); /* maybe not the test's thread: no cmocka here */
}

int rig_port(struct kvm_run *run, uint16_t port, uint8_t value)
{
    run->exit_reason = KVM_EXIT_IO;
    run->io.direction = KVM_EXIT_IO_OUT;
    run->io.size = 1;
    run->io.port = port;
    run->io.count = 1;
    run->io.data_offset = 4096;
    *((uint8_t *)run + 4096) = value;
    return 0;
}

int rig_exit(struct kvm_run *run, uint32_t reason)
{
    run->exit_reason = reason;
    return 0;
}

int rig_spin(struct kvm_run *run)
{
    while (__atomic_load_n(&run->immediate_exit, __ATOMIC_SEQ_CST) == 0) {
        (void)sched_yield();
    }
    return -EINTR;
}
