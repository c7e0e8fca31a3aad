/*
 * quarantine.h - slots kept out of use because a cleanup could not be verified.
 *
 *   STATE/slots/N.quarantine   machine id and reason, a line each
 *
 * While it stands, slot N is not given back: neither by the supervisor, nor by its reaper, nor by a
 * later start, so its number and uid are used by nobody. An operator looks at what is left, removes
 * it and says `airlock records release N`.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "sup/ledger.h"

struct quarantine_entry {
    unsigned int number;
    char text[512]; /* machine id and reason; ours, but escape it before showing */
};

/* Marks a slot that is held. ERR_HOST. */
must_use int quarantine_put(const struct ledger_slot *slot, const char *machine_id, const char *why,
                            struct err *err) nonnull_all;

/* True if slot number of the open directory `slots` is marked, or if that can't be told. */
must_use bool quarantine_has(int slots_fd, unsigned int number);

/* Marked slots in the order of their numbers, at most max; *ret_n is how many were filled in. */
must_use int quarantine_list(int store_fd, struct quarantine_entry *ret, size_t max, size_t *ret_n,
                             struct err *err) nonnull_all;

/* Takes the mark away: the next start clears the slot. ERR_USAGE/-ENOENT if there is none. */
must_use int quarantine_release(int store_fd, unsigned int number, struct err *err) nonnull_all;
