/* engine-vmm.h - our own monitor (src/vmm), a static program beside this one: that of engine kvm. */
#pragma once

#include "base/base.h"
#include "base/err.h"

#define VMM_PATH_MAX 512

/*
 * Where it is: in the directory of the program that runs, else where it is installed. What runs
 * and what it starts come from one build, and whoever can write there could as well replace us.
 * ERR_USAGE/-ENOENT with both places.
 */
must_use int vmm_find(char ret[VMM_PATH_MAX], struct err *err) nonnull_all;
