/*
 * posture PID UID GID FSIZE_BYTES [CGROUP-TEXT [ENGINE]] - holds a running monitor against its posture.
 * Exit code 0: as it must be; 1: departures, one a line; 2: could not look.
 */
#include <stdio.h>
#include <string.h>

#include "posture.h"

/* Disks are unlinked files and the root image; only scratch may be written to. */
static const char *const qemu_files[] = {"/usr/bin/qemu-system-x86_64",
                                         "/usr/lib/x86_64-linux-gnu/qemu/accel-tcg-x86_64.so",
                                         "/usr/share/qemu/bios-microvm.bin",
                                         "/lib/x86_64-linux-gnu/lib*.so*",
                                         "/lib64/ld-linux-x86-64.so.2",
                                         "/dev/null",
                                         "/dev/urandom",
                                         "/kernel",
                                         "/initramfs",
                                         NULL};
static const char *const qemu_fds[] = {"rw /dev/null",
                                       "w pipe:*",
                                       "rw socket:*",
                                       "rw anon_inode:?eventfd?",
                                       "rw anon_inode:?eventpoll?",
                                       "rw anon_inode:?signalfd?",
                                       "r /*",
                                       "rw /*(deleted)",
                                       "rw /*/#*",
                                       NULL};

static const char *const vmm_files[] = {"/airlock-vmm", NULL};
static const char *const vmm_fds[] = {"rw /dev/kvm",
                                      "rw anon_inode:kvm-vm",
                                      "rw anon_inode:kvm-vcpu:*",
                                      "rw /dev/null",
                                      "w pipe:*",
                                      "rw socket:*",
                                      "rw anon_inode:?eventfd?",
                                      "rw anon_inode:?eventpoll?",
                                      "r /*",
                                      "rw /*(deleted)",
                                      "rw /*/#*",
                                      NULL};

int main(int argc, char **argv)
{
    bool is_kvm = argc > 6 && strcmp(argv[6], "kvm") == 0;
    struct buf report = BUF_INIT(65536);
    struct posture p = {.files = is_kvm ? vmm_files : qemu_files,
                        .n_files = is_kvm ? 1 : 0,
                        .fds = is_kvm ? vmm_fds : qemu_fds,
                        .program = is_kvm ? "/airlock-vmm" : "/usr/bin/qemu-system-x86_64",
                        .nofile = is_kvm ? "128 128" : "256 256",
                        .nproc = is_kvm ? "16 16" : "128 128",
                        .oom_score_adj = "500",
                        .cgroup = argc > 5 ? argv[5] : NULL};
    int n = 0;

    if (argc < 5) {
        (void)fprintf(stderr, "usage: posture PID UID GID FSIZE_BYTES [CGROUP-TEXT]\n");
        return 2;
    }
    char fsize[64];

    (void)snprintf(fsize, sizeof(fsize), "%s %s", argv[4], argv[4]);
    p.fsize = fsize;
    p.pid = (pid_t)strtol(argv[1], NULL, 10);
    p.uid = (uid_t)strtoul(argv[2], NULL, 10);
    p.gid = (gid_t)strtoul(argv[3], NULL, 10);
    n = posture_check(&p, &report);
    (void)printf("%s", report.data != NULL ? (const char *)report.data : "");
    buf_fini(&report);
    return n < 0 ? 2 : n > 0;
}
