/* options.h - the arguments of the monitor (start.h), checked. */
#pragma once

#include "vmm/machine.h"

/* ERR_USAGE names the argument. ret borrows from argv. */
must_use int options_parse(int argc, char *const *argv, struct machine_options *ret,
                           struct err *err) nonnull_all;
