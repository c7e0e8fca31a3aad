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
