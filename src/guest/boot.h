/* boot.h - from the kernel's first instruction of ours to the point where a job can come. */
#pragma once

#include "base/base.h"
#include "base/err.h"

#define BOOT_DEV_MAX 32

struct boot {
    char input_dev[BOOT_DEV_MAX]; /* "/dev/vdb", found by serial, not opened */
    char scratch_dev[BOOT_DEV_MAX];
    bool scratch_mounted; /* before there was a job: a disk of the default size */
    char program[32];     /* the program's file, empty, on that disk; "" if there is none */
    uint64_t shm_bytes;   /* size of the program's /dev/shm */
    int urandom_fd;
    int machine_id_fd; /* the program's /etc/machine-id, empty until there is a job */
};

/*
 * Kernel filesystems, modules, and the port: *ret_port is the open, non-blocking channel.
 * boot_root() then does the rest: sysctls, cgroup, devices, the root the program will see.
 */
must_use int boot_early(int *ret_port, struct err *err) nonnull_all;
must_use int boot_root(struct boot *ret, struct err *err) nonnull_all;

/* The value of airlock.NAME= on the kernel's command line, or "" if it is not there. */
must_use int boot_parameter(const char *name, char *ret, size_t size, struct err *err) nonnull_all;

/* The links and the directory for shared memory that every /dev has, in the empty directory. */
must_use int boot_dev_links(int dirfd, struct err *err) nonnull_all;

/* For the console, the only place left when there is no channel. */
void boot_complain(const char *text) nonnull_all;
