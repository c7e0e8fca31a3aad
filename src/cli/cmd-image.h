/* cmd-image.h - "airlock image": builds, lists, verifies, removes and updates images. */
#pragma once

#include "base/base.h"

/* argv[0] is "image". Returns the exit code. */
must_use int cmd_image(int argc, char **argv) nonnull_all;
