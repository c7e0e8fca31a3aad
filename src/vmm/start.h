/*
 * start.h - what the supervisor tells a monitor that it starts: arguments and descriptors.
 *
 *   airlock-vmm --memory BYTES --vcpus N [--disks] [--restore] [--console] [--cmdline TEXT]
 *
 * The monitor is a static program that opens nothing: all it uses is in these descriptors. It ends
 * with an exit code below, and says why on descriptor 2 (one line, "airlock-vmm: WHAT").
 */
#pragma once

/* Descriptors; one that the machine does not need is not open. */
enum start_fd {
    START_FD_CONSOLE = 1, /* write end of a pipe, non-blocking: what the early console printed */
    START_FD_CHANNEL = 3, /* a connected stream socket: the agent's port */
    START_FD_KERNEL,      /* read-only; a boot only */
    START_FD_INITRAMFS,   /* the same */
    START_FD_ROOT,
    START_FD_INPUT,
    START_FD_SCRATCH,
    START_FD_CONTROL, /* a connected stream socket: control.h. Not with a plain boot */
    START_FD_MEMORY,  /* the file that is the guest's memory; not with a plain boot */
    START_FD_STATE,   /* --restore: the state to go on from, read from its offset */
    START_FD_KVM,     /* /dev/kvm */
    START_FD_WRITES   /* --restore: what the guest will write first, read from its offset */
};

/* START_FD_WRITES: ranges of u32 first page of RAM and u32 pages; one of no pages ends the list. */
#define START_WRITES_RANGE     8u
#define START_WRITES_BYTES_MAX 16384u

/* Exit codes. Any other end is the jail's or a bug, and as much a failure. */
enum start_exit {
    START_EXIT_OFF = 0,    /* the guest switched off or restarted, or the machine was saved */
    START_EXIT_USAGE = 64, /* arguments or descriptors; never the guest's doing */
    START_EXIT_HOST = 65,  /* KVM, memory, a disk of the host's: what the monitor needed failed */
    START_EXIT_GUEST =
        66, /* the guest did what no guest may: unknown exit, triple fault at its start */
    START_EXIT_STATE = 67, /* the saved state is not one that can go on here */
};

/* One byte each way, then text up to the end of the line, on START_FD_CONTROL. */
#define START_CONTROL_SAVE  'S' /* to the monitor, with a descriptor (SCM_RIGHTS) for the state */
#define START_CONTROL_GOES  'R' /* from it: the machine goes on from its state */
#define START_CONTROL_SAVED 'D' /* from it: state written, memory complete; it ends */
#define START_CONTROL_ERROR 'E' /* from it: text follows, ended by a newline; it ends */
