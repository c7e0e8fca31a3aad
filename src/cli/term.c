#include "cli/term.h"

#include <string.h>

#include "base/str.h"

/* How many bytes at the end of data begin a sequence that more bytes could complete: 0 to 3. */
static size_t cut_tail(const uint8_t *data, size_t len)
{
    for (size_t n = 1; n <= 3 && n <= len; n++) {
        uint8_t lead = data[len - n];
        size_t need = 0;

        if ((lead & 0xc0) == 0x80) {
            continue;
        }
        if ((lead & 0xe0) == 0xc0) {
            need = 2;
        } else if ((lead & 0xf0) == 0xe0) {
            need = 3;
        } else if ((lead & 0xf8) == 0xf0) {
            need = 4;
        }
        return n < need ? n : 0;
    }
    return 0;
}

static int put_text(struct term *term, const uint8_t *data, size_t len, struct buf *out)
{
    int r = 0;

    if (len == 0) {
        return 0;
    }
    r = term->escape ? str_escape(out, data, len, true) : buf_put(out, data, len);
    if (r == 0) {
        term->mid_line = data[len - 1] != '\n';
    }
    return r;
}

int term_put(struct term *term, const void *data, size_t len, struct buf *out)
{
    const uint8_t *p = data;
    size_t tail = 0;
    int r = 0;

    if (!term->escape) {
        return put_text(term, p, len, out);
    }
    /* Byte by byte until what was held is a sequence, or can't become one any more. */
    while (term->held_len > 0 && len > 0) {
        term->held[term->held_len++] = *p++;
        len--;
        if (cut_tail(term->held, term->held_len) == term->held_len) {
            continue;
        }
        /* The byte may have ended the held sequence or begun another. */
        tail = cut_tail(term->held, term->held_len);
        r = put_text(term, term->held, term->held_len - tail, out);
        if (r < 0) {
            return r;
        }
        memmove(term->held, term->held + term->held_len - tail, tail);
        term->held_len = tail;
    }
    if (len == 0) {
        return 0;
    }
    tail = cut_tail(p, len);
    r = put_text(term, p, len - tail, out);
    if (r == 0 && tail > 0) {
        memcpy(term->held, p + len - tail, tail);
        term->held_len = tail;
    }
    return r;
}

int term_end(struct term *term, struct buf *out)
{
    int r = put_text(term, term->held, term->held_len, out);

    term->held_len = 0;
    return r;
}
