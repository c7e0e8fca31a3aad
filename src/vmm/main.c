/* airlock-vmm: one machine on KVM, made of the descriptors that start.h names. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sys/fd.h"
#include "vmm/acpi.h"
#include "vmm/boot.h"
#include "vmm/machine.h"
#include "vmm/options.h"
#include "vmm/snapshot.h"
#include "vmm/start.h"

static int exit_code(const struct err *err)
{
    if (err->class == ERR_USAGE) {
        return START_EXIT_USAGE;
    }
    return err->class == ERR_GUEST ? START_EXIT_GUEST : START_EXIT_HOST;
}

static int complain(const struct err *err, int code)
{
    char line[ERR_MSG_MAX + 32];
    int len = snprintf(line, sizeof(line), "airlock-vmm: %s\n", err->msg);
    struct err ignored = ERR_INIT;

    (void)!fd_write_full(STDERR_FILENO, line, (size_t)len, &ignored); /* nobody else to tell */
    return code;
}

static int boot(struct machine *m, int initramfs, struct err *err)
{
    struct boot_entry entry = {.info = 0};
    int r = acpi_write(&m->mem, m->n_vcpus, machine_slots(m), err);

    r = r < 0 ? r
              : boot_load(&m->mem, START_FD_KERNEL, initramfs, m->options->cmdline, &entry, err);
    return r < 0 ? r : boot_enter(m->vcpus[0].fd, &entry, err);
}

/* The I/O thread: how the machine ends, the process ends. */
static void *serve(void *machine)
{
    struct err err = ERR_INIT;

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the only thread that ends the process once it is there */
    exit(machine_serve(machine, &err) < 0 ? complain(&err, exit_code(&err)) : START_EXIT_OFF);
}

int main(int argc, char **argv)
{
    static struct machine machine; /* large; released with the process */
    struct machine_options options = {.cmdline = NULL};
    struct err err = ERR_INIT;

    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* the write fails, which is enough (dev/blk.c) */
    if (options_parse(argc, argv, &options, &err) < 0) {
        return complain(&err, START_EXIT_USAGE);
    }
    /* Before we have descriptors of our own, which take the free numbers. */
    int initramfs = fcntl(START_FD_INITRAMFS, F_GETFD) < 0 ? -1 : START_FD_INITRAMFS;
    options.writes = options.restore && fcntl(START_FD_WRITES, F_GETFD) >= 0;
    options.memory_file = options.restore || fcntl(START_FD_MEMORY, F_GETFD) >= 0;
    if (machine_make(&options, &machine, &err) < 0) {
        return complain(&err, exit_code(&err));
    }
    if (options.restore) {
        if (snapshot_restore(&machine, START_FD_STATE, &err) < 0) {
            return complain(&err, err.class == ERR_USAGE ? START_EXIT_STATE : exit_code(&err));
        }
    } else if (boot(&machine, initramfs, &err) < 0) {
        return complain(&err, exit_code(&err));
    }
    if (machine_run(&machine, serve, &err) < 0) {
        return complain(&err, exit_code(&err));
    }
    return START_EXIT_HOST; /* not reached */
}
