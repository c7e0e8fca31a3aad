/*
 * sources.h - the Debian sources among what /etc/apt lists.
 *
 * Only the release's own suites (NAME, NAME-updates, NAME-security), component main, not signed by
 * somebody else's key. Whatever is taken is written with Debian's archive keyring as the only
 * accepted signer, so apt refuses a repository that merely looks like Debian's.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"

#define SOURCES_KEYRING "/usr/share/keyrings/debian-archive-keyring.gpg"

/*
 * Appends "deb [...] URI SUITE main" lines, each once, for what text (NUL-terminated; one-line
 * format, or deb822 when deb822 is true) holds. Lines it does not understand are passed over.
 * Returns 0, -ENOBUFS or -ENOMEM.
 */
must_use int sources_filter(const char *text, bool deb822, const char *codename,
                            struct buf *out) nonnull_all;
