/* initramfs.h - the guest's first file system: airlock-init, then the kernel's modules. */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "image/manifest.h"
#include "image/store.h"

/* Digest of the guest agent this binary carries. */
void initramfs_agent_digest(struct digest *ret) nonnull_all;

/*
 * Makes m->initramfs and m->agent from this binary's agent and the stored m->modules. No network.
 * Lock held; the manifest is not written.
 */
must_use int initramfs_make(const struct store *store, struct kernel_manifest *m,
                            struct err *err) nonnull_all;
