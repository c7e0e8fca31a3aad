/*
 * memo.h - what was found out about files, kept while these files stay what they are.
 *
 *   STATE/memo/NAME   0600: the identities of the files, and a text that was found out about them
 *
 * A file is the same while its device, inode, size, modification and change time are, to the
 * nanosecond, and while the host was not started again.  Nobody can set the change time, so what
 * is written to a file, or put in its place, is another one.  What this cannot see is a disk that
 * gives other bytes than were written, below the file system: a new boot asks everything anew.
 *
 * A device is the same while its node, mode and number are: udev sets the times of /dev/kvm anew with
 * each virtual machine that begins or ends. A driver that is loaded anew makes another node.
 *
 * A change so soon after the last one that a coarse clock gives both the same time would go unseen
 * (git's "racy" index).  So nothing is kept of a file that had changed less than MEMO_SETTLED_NS
 * before it was looked at.
 *
 * Nothing depends on a memo being there: one that is missing, damaged, somebody else's or about
 * other files is no answer, and whoever asked finds out again.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

/* More than the clock of any file system's times (FAT: 2 s) is coarse. */
#define MEMO_SETTLED_NS (3 * NS_PER_S)
#define MEMO_MAX        (256 * KIB)

/* What a text is about. Name the files first, then look at them; the order of names counts. */
struct memo {
    struct buf of;       /* a line each */
    uint64_t begun_ns;   /* real time: no file was looked at before */
    uint64_t changed_ns; /* real time of the latest change of a file */
};

#define MEMO_INIT                \
    {                            \
        .of = BUF_INIT(MEMO_MAX) \
    }
void memo_fini(struct memo *m) nonnull_all;
#define auto_memo on_scope_exit(memo_fini)

must_use int memo_begin(struct memo *m, struct err *err) nonnull_all;
/* An open file; name says which one it is among others. No line breaks. */
must_use int memo_add_fd(struct memo *m, const char *name, int fd, struct err *err) nonnull_all;
/* The file that path leads to; that there is none is an identity, too. */
must_use int memo_add_path(struct memo *m, const char *path, struct err *err) nonnull_all;

/*
 * True with the text in *ret if STATE/memo/name is about these files. dirfd is STATE's; -1: nothing
 * is kept.
 */
must_use bool memo_get(int dirfd, const char *name, const struct memo *m,
                       struct buf *ret) nonnull_all;

/* Keeps a text, in place of what was kept by that name. Losing it costs only time. */
void memo_put(int dirfd, const char *name, const struct memo *m, const void *text,
              size_t len) nonnull_all;

/* Forgets one: it was found to be wrong. */
void memo_forget(int dirfd, const char *name) nonnull_all;

/* Forgets everything, so that nothing stays of files that are gone. */
void memo_clear(int dirfd);
