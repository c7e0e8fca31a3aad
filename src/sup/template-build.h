/* template-build.h - boots a machine to READY and has its state saved; see template.h. */
#pragma once

#include "sup/template.h"

/*
 * file: config.memory_bytes long, read-write; it becomes the memory, and the state is appended.
 * Of *ret it fills what the guest said of its waiting interpreter.
 * The machine is dead when this returns. Errors as template_take().
 */
must_use int template_boot_and_save(const struct template_request *request, int file,
                                    struct template_footer *ret, struct err *err) nonnull_all;

/* --- what a machine that boots to be saved and one that rehearses do alike --- */

/* An input disk of the size that every machine has, with nothing in it; read-only. */
must_use int template_empty_input(int tmpfd, int *ret, struct err *err) nonnull_all;
/* Takes what the console has to say, and closes it at its end. */
void template_hear_console(const struct template_request *q, struct machine *m) nonnull_all;
/*
 * ERR_LIMIT/-ECANCELED if the request is stopped; ERR_HOST/-ETIMEDOUT with what was not done ("the
 * machine was not ready") if that takes longer than it may, from begin_ns (host monotonic) on.
 */
must_use int template_check_time(const struct template_request *q, uint64_t begin_ns,
                                 const char *what, struct err *err) nonnull_all;
