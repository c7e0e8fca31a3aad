#include "sup/need.h"

#include "sup/engine.h"
#include "sup/spool.h"

bool need_archive(const struct spec *spec)
{
    return spec->archive_path != NULL || spec->archive_data != NULL;
}

struct ledger_need need_of_spec(const struct spec *spec, bool has_job)
{
    const struct spec_limits *l = &spec->limits;

    /* Scratch, inputs, stdin and the output stream are all files below the state directory. */
    return (struct ledger_need){
        .memory_bytes = engine_machine_bytes(l->memory_bytes) + ENGINE_OVERHEAD_BYTES,
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
