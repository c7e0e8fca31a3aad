/* need.h - what one machine takes of the host: for the ledger, and for who asks beforehand. */
#pragma once

#include "job/spec.h"
#include "sup/engine.h"
#include "sup/ledger.h"

/*
 * Of a machine for this spec, machine_id NULL. Without has_job it waits for a job of these limits,
 * which may come with stdin. engine NULL: it is not chosen yet, so the one that the spec wants, or
 * whichever needs most.
 */
must_use struct ledger_need need_of_spec(const struct spec *spec, const struct engine *engine,
                                         bool has_job) nonnull_args(1);

/* Of one that waits, whatever it waits for. */
must_use struct ledger_need need_of_waiting(void);

/* True if the inputs come as an archive. */
must_use bool need_archive(const struct spec *spec) nonnull_all;
