/* doctor-parse.h - what the kernel tells about this host in text files; pure functions. */
#pragma once

#include "base/base.h"

#define DOCTOR_PATH_MAX 256u
#define DOCTOR_WORD_MAX 128u

/* From the text of /proc/cpuinfo. */
struct doctor_cpu {
    unsigned int count;
    char model[DOCTOR_WORD_MAX];
    bool vmx; /* Intel's virtualization */
    bool svm; /* AMD's */
    bool hypervisor;
};

void doctor_parse_cpuinfo(const char *text, struct doctor_cpu *ret) nonnull_all;

/* From the text of /proc/self/mountinfo and /proc/self/cgroup. */
struct doctor_cgroups {
    char v2_mount[DOCTOR_PATH_MAX];       /* "" if cgroup v2 is not mounted */
    char v2_own[DOCTOR_PATH_MAX];         /* our group below it, beginning with '/' */
    char v1_controllers[DOCTOR_WORD_MAX]; /* "cpu memory pids": those mounted as v1 */
    char v1_memory_mount[DOCTOR_PATH_MAX];
    char v1_memory_own[DOCTOR_PATH_MAX];
};

void doctor_parse_cgroups(const char *mountinfo, const char *cgroup,
                          struct doctor_cgroups *ret) nonnull_all;

/* True if word stands in list, separated by blanks, commas or line ends. */
must_use bool doctor_has_word(const char *list, const char *word) nonnull_all;

/* Bytes of a "Key:   N kB" line of /proc/meminfo; 0 if there is none. */
must_use uint64_t doctor_parse_meminfo(const char *text, const char *key) nonnull_all;

/* Value of KEY= in /etc/os-release without quotes; "" if there is none. */
void doctor_parse_os_release(const char *text, const char *key,
                             char ret[DOCTOR_WORD_MAX]) nonnull_all;
