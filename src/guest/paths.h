/*
 * paths.h - the agent's own world: a tmpfs that the program never sees.
 *
 *   /dev /proc /sys /cgroup   devtmpfs, proc, sysfs, cgroup2 of the machine
 *   /lower /rw                the root image (squashfs) and the small tmpfs over it
 *   /root                     overlay of the two: what the program sees as /
 *   /input /scratch           the job's devices, mounted after JOB
 *   /warm                     the hook of a waiting interpreter (warm.h)
 */
#pragma once

#define PATH_LOWER      "/lower"
#define PATH_RW         "/rw"
#define PATH_ROOT       "/root"
#define PATH_INPUT      "/input"
#define PATH_SCRATCH    "/scratch"
#define PATH_CGROUP     "/cgroup"
#define PATH_JOB_CGROUP "/cgroup/job"
#define PATH_WARM       "/warm"

#define PROGRAM_UID 1000
#define PROGRAM_GID 1000
