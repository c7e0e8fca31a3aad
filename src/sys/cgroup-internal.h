/* cgroup-internal.h - what the cgroup files share, and seams for their tests. */
#pragma once

#include "sys/cgroup.h"

#define CGROUP_GROUP "airlock"      /* holds the machines' groups */
#define CGROUP_LEAF  "airlock-self" /* holds us, where v2 wants processes in leaves */

/*
 * The hierarchies in the two texts of /proc/self, nothing looked at: v2, mount, own and, for v1,
 * parts. v2's parts are left to cgroup_probe(). Lines that make no sense are passed over.
 */
void cgroup_parse(const char *mountinfo, const char *self_cgroup,
                  struct cgroup_host *ret) nonnull_all;

/* Whether /proc/swaps lists anything. */
bool cgroup_parse_swaps(const char *text) nonnull_all;

/*
 * Looks at the directories: writable, controllers, and decides where[] and why[]. root stands
 * before every path ("" but in tests), euid is the caller's.
 */
void cgroup_probe(struct cgroup_host *host, const char *root, uid_t euid) nonnull_all;

/* where[] and why[] from trees. v2 goes first. */
void cgroup_choose(struct cgroup_host *host) nonnull_all;

/* A plain name that may be a machine's group. */
bool cgroup_name_ok(const char *name) nonnull_all;

/* Whole small file dir/name into text with a NUL. -errno; -EFBIG if it does not fit. */
must_use int cgroup_read(int dir, const char *name, char *text, size_t size) nonnull_all;

/* One write(). -errno, which the callers for whom a refusal is no harm drop. */
int cgroup_write(int dir, const char *name, const char *text) nonnull_all;

/* The number behind "key " at the start of a line; CGROUP_UNKNOWN if there is none. */
uint64_t cgroup_keyed(const char *text, const char *key) nonnull_all;

/* The group's directories and descriptors without any limit: the first half of cgroup_create(). */
must_use int cgroup_make(struct cgroup_host *host, const char *name, struct cgroup *ret,
                         struct err *err) nonnull_all;
