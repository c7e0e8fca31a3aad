/* openapi.h - the API's own description (openapi.json), as it is in the tree. */
#pragma once

#include <stddef.h>

extern const char openapi_json[];
extern const size_t openapi_json_len;
