/* workdir.h - a directory of its own for every case, the current directory while it runs. */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test.h"
#include "sys/fd.h"

static char dir[64];

static inline int enter_dir(void **state)
{
    (void)snprintf(dir, sizeof(dir), "/tmp/airlock-job-XXXXXX");
    return mkdtemp(dir) == NULL || chdir(dir) < 0 || test_fds_before(state) != 0;
}

static inline int leave_dir(void **state)
{
    struct err err = ERR_INIT;
    int r = test_fds_after(state);

    if (chdir("/tmp") < 0 || fd_remove_tree(AT_FDCWD, dir + strlen("/tmp/"), &err) < 0) {
        print_error("%s\n", err.msg);
        return 1;
    }
    return r;
}

#define D(f) cmocka_unit_test_setup_teardown(f, enter_dir, leave_dir)
