/*
 * spec.h - a checked job specification: what to run, with which inputs, under which limits.
 *
 * Built once by the command line or from JSON, checked by spec_check(), const afterwards.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "job/contract.h"

#define SPEC_INPUTS_MAX 1024u
#define SPEC_NAME_MAX   255u
#define SPEC_JSON_MAX   (256 * MIB)

enum spec_language {
    SPEC_COMMAND, /* argv is executed as it is */
    SPEC_PYTHON,
    SPEC_JAVASCRIPT,
};

enum spec_engine {
    SPEC_ENGINE_AUTO,
    SPEC_ENGINE_KVM,
    SPEC_ENGINE_TCG
};

enum spec_isolation {
    SPEC_ISOLATION_EMULATED,
    SPEC_ISOLATION_HARDWARE
}; /* weakest accepted */

struct spec_limits {
    uint64_t wall_ns;
    uint64_t cpu_ns;
    uint64_t memory_bytes;
    uint64_t vcpus;
    uint64_t pids;
    uint64_t disk_bytes;
    uint64_t inodes;
    uint64_t stdin_bytes;
    uint64_t stdout_bytes;
    uint64_t stderr_bytes;
    uint64_t input_bytes;
    uint64_t input_files;
    uint64_t output_bytes;
    uint64_t output_files;
    uint64_t output_depth;
};

/* One limit: its names, unit, default and the range airlock can enforce. */
enum spec_unit {
    SPEC_UNIT_COUNT,
    SPEC_UNIT_BYTES,
    SPEC_UNIT_NS
};

struct spec_limit_info {
    const char *option;  /* "--wall" without the dashes: "wall" */
    const char *json;    /* "wall_ms", "memory_bytes", ... as in the JSON contract */
    enum spec_unit unit; /* SPEC_UNIT_NS limits are milliseconds in JSON */
    size_t offset;       /* into struct spec_limits */
    uint64_t def, min, max;
    const char *help;
};
extern const struct spec_limit_info spec_limit_infos[];
extern const size_t spec_limit_infos_len;

/* An input: either a path to open or bytes. Names are plain, unique file names in /in. */
struct spec_input {
    char *name;
    char *path; /* opened without following links; NULL if data is given */
    uint8_t *data;
    size_t data_len;
};

struct spec {
    enum spec_language language;
    enum spec_engine engine;
    enum spec_isolation isolation;
    char *image;           /* NAME or NAME@sha256:HEX; NULL = the language's own */
    char *program_path;    /* script file; NULL for a command or inline code */
    uint8_t *program_data; /* inline code */
    size_t program_len;
    char *program_name; /* its name in the guest: main.py, main.js, main.mjs, main.cjs */
    char **args;        /* script arguments, or the whole command; NULL-terminated, NULL if none */
    size_t n_args;
    char **env; /* "K=V", as args; values never logged or recorded */
    size_t n_env;
    struct spec_input *inputs;
    size_t n_inputs;
    char *archive_path;    /* an archive to unpack into /in; NULL if data is given, or none */
    uint8_t *archive_data; /* the same inline */
    size_t archive_len;
    struct contract contract; /* on the outputs; CONTRACT_NONE: none */
    char *stdin_path;         /* NULL: none. "-" was resolved by the caller into stdin_fd */
    uint8_t *stdin_data;
    size_t stdin_len;
    int stdin_fd;  /* -1, or a descriptor to read (owned) */
    char *out_dir; /* host directory for outputs, NULL = drop and list */
    /* They are written as, and no further than, the owner of the working directory may. */
    bool out_as_owner;
    struct spec_limits limits;
    bool root;             /* the program is the guest's root */
    bool cold_interpreter; /* none that was started before the job */
    bool cpu_given;        /* limits.cpu_ns is the caller's word, not the default */
    bool outputs_given;    /* a cap of outputs is */
};

/*
 * The default of --cpu on an emulated engine: 5 s of a bare CPU's work are worth more host time
 * there, and Node.js alone needs about 4 s to start. A value that the caller gave is kept exactly.
 */
#define SPEC_CPU_EMULATED_NS (10 * NS_PER_S)

/*
 * Does the caller want outputs: a place for them, a contract on them, or a cap of their own choice?
 * Then what goes over a cap decides the verdict; else the caps only bound the work.
 */
must_use bool spec_wants_outputs(const struct spec *spec) nonnull_all;

void spec_init(struct spec *spec) nonnull_all; /* defaults of every limit; stdin_fd -1 */
void spec_fini(struct spec *spec) nonnull_all;
#define auto_spec on_scope_exit(spec_fini)

/* Setters copy. Each checks its value and says what is wrong (ERR_USAGE). */
must_use int spec_set_program(struct spec *spec, const char *path, struct err *err) nonnull_all;
must_use int spec_add_arg(struct spec *spec, const char *arg, struct err *err) nonnull_all;
must_use int spec_add_env(struct spec *spec, const char *assignment, struct err *err) nonnull_all;
/* "FILE" or "FILE:NAME"; the last ':' separates. */
must_use int spec_add_input(struct spec *spec, const char *arg, struct err *err) nonnull_all;
must_use int spec_set_archive(struct spec *spec, const char *path, struct err *err) nonnull_all;
/* As contract_parse(). */
must_use int spec_set_contract(struct spec *spec, const char *text, struct err *err) nonnull_all;
/* True if the len bytes are a name of an image, without a digest. */
must_use bool spec_image_name_ok(const char *s, size_t len) nonnull_all;
must_use int spec_set_image(struct spec *spec, const char *image, struct err *err) nonnull_all;
/* text as on the command line ("10s", "64M", "8"); names the option, the value and the range. */
must_use int spec_set_limit(struct spec *spec, const struct spec_limit_info *info, const char *text,
                            struct err *err) nonnull_all;
/* What needs the whole: names unique, sizes of args and env, something to run. */
must_use int spec_check(const struct spec *spec, struct err *err) nonnull_all;

/*
 * The JSON form of a job (`airlock run --spec FILE`) into an initialised spec: strict, unknown keys
 * refused, at most SPEC_JSON_MAX bytes. spec_check() comes afterwards, as always. No message
 * repeats text of the document but names.
 */
must_use int spec_from_json(struct spec *spec, const char *text, size_t len,
                            struct err *err) nonnull_all;

/* A member that the caller's documents have besides: an integer from min to max. */
struct spec_extra {
    const char *name;
    uint64_t min, max; /* max at most INT64_MAX */
    uint64_t *ret;     /* stays as it is if the member is not there */
};

#define SPEC_FIELD_SIZE 256u

struct spec_extras {
    const struct spec_extra *list;
    size_t n;
    /*
     * Filled: on ERR_USAGE the path of the member that was wrong ("limits.wall_ms", "files[2].name"),
     * "" if it was none, or the document itself.
     */
    char field[SPEC_FIELD_SIZE];
};

/* The same with such members. */
must_use int spec_from_json_extra(struct spec *spec, const char *text, size_t len,
                                  struct spec_extras *extras, struct err *err) nonnull_all;

/* An input of bytes, copied, under the rules of every input's name. label names it in messages. */
must_use int spec_add_input_data(struct spec *spec, const char *name, const void *data, size_t len,
                                 const char *label, struct err *err) nonnull_all;

/* True if --disk and --inodes are the defaults: machines can be saved with that disk mounted. */
must_use bool spec_disk_is_default(const struct spec_limits *limits) nonnull_all;

/* As a person would type it ("64M", "10s"); returns out. */
const char *spec_value_text(enum spec_unit unit, uint64_t v, char out[32]) nonnull_all;

static inline uint64_t spec_limit_get(const struct spec_limits *l,
                                      const struct spec_limit_info *info)
{
    return *(const uint64_t *)(const void *)((const char *)l + info->offset);
}
