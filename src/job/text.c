#include "job/text.h"

#include <string.h>

#include "base/buf.h"
#include "base/str.h"

struct text text_of(const void *data, size_t len)
{
    struct text ret = {0};
    auto_buf struct buf buf = BUF_INIT(TEXT_MAX);
    bool whole = str_escape(&buf, data, len, false) == 0;

    if (buf.len > 0) {
        memcpy(ret.s, buf.data, buf.len);
    }
    memcpy(ret.s + buf.len, whole ? "" : "...", whole ? 1 : 4);
    return ret;
}

struct text text_of_str(const char *s)
{
    return text_of(s, strlen(s));
}
