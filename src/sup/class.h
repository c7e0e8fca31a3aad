/*
 * class.h - what a machine is made of before it has a job: whether one fits a job.
 *
 * Two specs of one class can have their jobs in the same restored machine; all that a class does not
 * name comes with the job.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "image/store.h"
#include "job/spec.h"
#include "sys/digest.h"

struct machine_class {
    char image[160]; /* NAME@sha256:HEX of the root image */
    struct digest kernel, initramfs;
    const char *engine; /* its name */
    uint64_t vcpus;
    uint64_t memory_bytes; /* of the machine */
    bool root;             /* the job is root: its scratch disk is never mounted ahead */
    const char *warm;      /* a constant, as of warm_for(); NULL: no interpreter waits in it */
    /* Compared only for whether they are the defaults: the job's scratch filesystem, probably. */
    uint64_t disk_bytes, inodes;
};

/* The image of a spec by name, its language's own if it names none; NULL if that has none. */
const char *class_image(const struct spec *spec) nonnull_all;

/*
 * The class of a spec's machine as things are now: which image the name means is read anew. Hashes
 * nothing, and takes well under a millisecond, but for the first time that KVM is tried
 * (engine_select()). ERR_USAGE if there is no such image or engine.
 */
must_use int class_of(const struct store *store, const struct spec *spec, struct machine_class *ret,
                      struct err *err) nonnull_all;

/* An initialised spec gets this class, and no program: for a machine that gets its job later. */
must_use int class_model(const struct machine_class *class, struct spec *ret,
                         struct err *err) nonnull_all;

/* Whether this machine, made from the class's model, is what the spec asks for; image by name. */
must_use bool class_fits(const struct store *store, const struct spec *model,
                         const struct spec *spec) nonnull_all;

must_use bool class_equal(const struct machine_class *a, const struct machine_class *b) nonnull_all;
