/*
 * outar.h - the output stream: what was in /out, as records, depth first, parents before children.
 *
 *   0  u32 magic    0x72746f61 ("aotr")
 *   4  u8  kind     enum outar_kind
 *   5  u8  zero[3]
 *   8  u32 mode     permission bits (st_mode & 07777)
 *  12  u32 name_len bytes of the path that follows, 1..OUTAR_PATH_MAX ('/'-separated, relative)
 *  16  u64 size     regular: bytes of data after the name; otherwise 0
 *
 * The stream ends with one OUTAR_END record without name. Everything in it is hostile: the decoder
 * runs only after the guest is dead. Names are bytes; no component is empty, ".", ".." or has a
 * '/' or NUL; the decoder checks. Hard links are sent as further copies and count as such.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#define OUTAR_MAGIC       0x72746f61u
#define OUTAR_HEADER_SIZE 24u
#define OUTAR_PATH_MAX    4096u

enum outar_kind {
    OUTAR_FILE = 1,
    OUTAR_DIR = 2,
    OUTAR_OTHER = 3, /* link, fifo, socket, device: named so that it can be reported, no data */
    OUTAR_END = 4,
};

struct outar_header {
    enum outar_kind kind;
    uint32_t mode;
    uint32_t name_len;
    uint64_t size;
};

void outar_header_encode(uint8_t out[OUTAR_HEADER_SIZE], const struct outar_header *h) nonnull_all;

/* 0 or ERR_GUEST/-EPROTO: magic, kind, zeroes, name_len, size for the kind. */
must_use int outar_header_decode(const uint8_t in[OUTAR_HEADER_SIZE], struct outar_header *ret,
                                 struct err *err) nonnull_all;

/* True if the path keeps the rules above. depth = number of components in *ret_depth. */
must_use bool outar_name_ok(const uint8_t *name, size_t len, uint32_t *ret_depth) nonnull_all;
