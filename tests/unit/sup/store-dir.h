/* store-dir.h - an empty state directory of its own for every case, open as `store`. */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sys/fd.h"
#include "test.h"

static char root[32];
static int store = -1;

static inline int make_store(void **state)
{
    (void)snprintf(root, sizeof(root), "/tmp/airlock-test-sup-XXXXXX");
    if (test_fds_before(state) != 0 || mkdtemp(root) == NULL) {
        return 1;
    }
    store = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return store < 0;
}

static inline int drop_store(void **state)
{
    struct err err = ERR_INIT;
    auto_fd int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = fd_remove_tree(tmp, root + sizeof("/tmp"), &err);

    fd_close_p(&store);
    fd_close_p(&tmp);
    return r < 0 || test_fds_after(state) != 0;
}
