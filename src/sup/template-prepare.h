/* template-prepare.h - makes a job's template before there is a job; see template.h. */
#pragma once

#include "sup/template.h"

/* As in a template_request. All may be NULL or 0. */
struct template_watch {
    bool (*stop)(void *ctx);
    void (*progress)(void *ctx, enum template_step step);
    void *ctx;
    uint64_t boot_ns; /* 0: as for a job */
};

struct template_prepared {
    struct digest key;
    bool built; /* by this call; else it was there */
    bool warm;  /* an interpreter waits in it */
    uint64_t machine_bytes;
    const char *engine; /* static */
    char image[IMAGE_NAME_MAX + 1];
};

/*
 * The template of a job like this one: its image, language, engine, memory and vCPUs count, and it
 * needs no program. A slot of the ledger is held meanwhile. Errors as of the job: ERR_USAGE for an
 * image or engine that there is not, ERR_LIMIT for want of room or when stopped (-ECANCELED).
 */
must_use int template_prepare(const struct store *store, const struct spec *spec,
                              const struct template_watch *watch, struct template_prepared *ret,
                              struct err *err) nonnull_all;
