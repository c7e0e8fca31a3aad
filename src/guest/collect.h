/*
 * collect.h - sends what the program left in /out as the output stream (proto/outar.h).
 *
 * Called when everything of the program is dead, so nothing changes meanwhile. Waits for the
 * channel as it goes. Names in a directory are sorted by bytes: the same tree gives the same
 * stream. Memory is bounded by files_max names, descriptors by two whatever the depth.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "guest/channel.h"
#include "proto/msg.h"

struct collect_caps {
    uint64_t bytes; /* of all regular files together */
    uint64_t files; /* entries of any kind */
    uint32_t depth; /* components of a path */
};

/*
 * Sends the tree at directory dirfd as OUTPUT frames and says in *ret how it ended; reading trouble
 * is a status too (MSG_OUTPUT_ERROR). Fails only when the channel does (-EPIPE).
 */
must_use int collect_send(int dirfd, const struct collect_caps *caps, struct channel *ch,
                          struct msg_output_end *ret, struct err *err) nonnull_all;
