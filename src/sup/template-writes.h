/*
 * template-writes.h - the pages that a job's machine writes whatever its program does: the kernel's, the
 * agent's and the waiting interpreter's own.
 *
 * A guest that writes a page it has read costs three exits: one to read, one in which the host makes
 * the copy, and, as the copy takes the page away from KVM, one more to find it. So they are learnt
 * once, from a rehearsal: a machine that goes on from the template and runs a program of one line of
 * ours. Its list is kept in the template, and a monitor copies those pages before the guest runs
 * (record and prefetch, as REAP does: https://doi.org/10.1145/3445814.3446714). It says nothing of any
 * job: no job's machine is ever looked at. A page of it that a program would not have written costs
 * its memory and no more.
 *
 * The list is what vmm/start.h says of START_FD_WRITES.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "sup/template.h"

/*
 * Rehearses with the machine that file holds, of footer and engine->takes_writes, and appends the list;
 * ret->writes_bytes is its length, 0 if there is none: no interpreter waits, or this process may not
 * look at the monitor's pages (not root). ERR_HOST if the machine does not go on or does not run
 * the program: no job could. Errors else as template_take().
 */
must_use int template_writes_learn(const struct template_request *request, int file,
                                   struct template_footer *ret, struct err *err) nonnull_all;

/* For the tests. The list of what the process pid wrote of a private mapping of file; -EACCES: not told. */
must_use int template_writes_of(pid_t pid, int file, uint64_t bytes, struct buf *ret,
                                struct err *err) nonnull_all;
