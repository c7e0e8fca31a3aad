/* run.h - the life of one job, or of a machine that waits for one, inside the supervisor process. */
#pragma once

#include "base/base.h"

#include "image/store.h"
#include "job/spec.h"
#include "sup/client.h"
#include "sup/hold.h"

/* Deadlines of airlock's own phases; none is charged to the program. */
#define RUN_STAGE_DEADLINE_NS   (600 * NS_PER_S) /* stdin; then the inputs */
#define RUN_BOOT_DEADLINE_NS    (60 * NS_PER_S)  /* start of the monitor to READY */
#define RUN_START_DEADLINE_NS   (30 * NS_PER_S)  /* JOB to STARTED */
#define RUN_COLLECT_DEADLINE_NS (60 * NS_PER_S)  /* EXIT to OUTPUT_END */

#define RUN_END_DEADLINE_NS (600 * NS_PER_S) /* inspection, export, cleanup */
/* Between two looks at the memory of a monitor that no control group bounds. */
#define RUN_MEMORY_CHECK_NS (100 * NS_PER_MS)

/* The end of the machine, after whatever decided; see run-kill.c. */
#define RUN_ASK_NS           (150 * NS_PER_MS) /* for the last report, of a grace of 250 ms */
#define RUN_PIDFD_NS         (NS_PER_S / 2) /* SIGKILL to the monitor's end, before cgroup.kill */
#define RUN_KILL_DEADLINE_NS (5 * NS_PER_S) /* ... and after it */

/*
 * Runs the job to its result and queues SUP_RESULT for the caller. submitted_ns: host monotonic
 * time of the submission. streaming: the program's output goes to the caller as it comes and is
 * left out of the result. Returns 0, or -ENOMEM if not even a result could be made.
 */
must_use int run_job(const struct spec *spec, const struct store *store, struct hold *hold,
                     struct client *client, uint64_t submitted_ns, bool streaming) nonnull_all;

/*
 * A member of a pool: makes the machine of the model (a spec without a program), queues SUP_WAITS,
 * waits for one job, queues SUP_TAKEN and goes on as run_job(). Without a job SUP_UNFIT is the end.
 */
must_use int run_member(const struct spec *model, const struct store *store, struct hold *hold,
                        struct client *client) nonnull_all;
