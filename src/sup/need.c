#include "sup/need.h"

#include "sup/spool.h"

bool need_archive(const struct spec *spec)
{
    return spec->archive_path != NULL || spec->archive_data != NULL;
}

static const struct engine *wanted(const struct spec *spec)
{
    static const struct engine *const of[] = {
        [SPEC_ENGINE_AUTO] = NULL,
        [SPEC_ENGINE_KVM] = &engine_kvm,
        [SPEC_ENGINE_TCG] = &engine_tcg,
    };

    return of[spec->engine];
}

struct ledger_need need_of_spec(const struct spec *spec, const struct engine *engine, bool has_job)
{
    const struct spec_limits *l = &spec->limits;

    /* Scratch, inputs, stdin and the output stream are all files below the state directory. */
    return (struct ledger_need){
        .memory_bytes = engine_group_bytes(engine != NULL ? engine : wanted(spec),
                                           engine_machine_bytes(l->memory_bytes)),
        .vcpus = l->vcpus,
        .disk_bytes = l->disk_bytes + l->output_bytes + l->input_bytes +
                      (spool_needed(spec) || !has_job ? l->stdin_bytes : 0) +
                      (need_archive(spec) ? l->input_bytes + spec->archive_len : 0),
    };
}

struct ledger_need need_of_waiting(void)
{
    return (struct ledger_need){.memory_bytes = ENGINE_WAITING_BYTES};
}
