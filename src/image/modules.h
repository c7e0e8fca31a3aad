/* modules.h - the few modules of Debian's kernel a guest needs, packed in load order. */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "image/cpio.h"

/*
 * root_fd is an unpacked kernel package. Writes /modules/NAME.ko for each module the machine needs
 * and those they depend on, and /modules/order (one file name a line, in load order), then the end
 * mark. What is built into this kernel is left out. ERR_HOST/-ENOENT names a module that is neither.
 */
must_use int modules_pack(int root_fd, const char *kernel_release, struct cpio *cpio,
                          struct err *err) nonnull_all;
/*
 * The dependencies a .ko names ("depends=a,b" of its modinfo) as a comma-separated list; "" if
 * none. ret has size bytes; -EBADMSG if there is no such entry or it does not fit.
 */
must_use int modules_depends(const void *ko, size_t len, char *ret, size_t size) nonnull_all;
