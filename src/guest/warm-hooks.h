/* warm-hooks.h - the hooks of warm/ as read-only data (warm-hooks.c.in). */
#pragma once

extern const unsigned char warm_python_start[];
extern const unsigned char warm_python_end[];
extern const unsigned char warm_node_start[];
extern const unsigned char warm_node_end[];
