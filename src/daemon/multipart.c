#include "daemon/multipart.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

#define HEADER_MAX 1024u

static int refuse(struct refusal *ret, const char *why)
{
    return problem_set(ret, PROBLEM_BAD_REQUEST, "", "multipart: %s", why);
}

/* RFC 2046, 5.1.1 */
static bool boundary_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("'()+_,-./:=? ", c) != NULL);
}

/* The only parameter of the type: boundary=WORD or boundary="WORD". */
static int parse_boundary(const char *type, char ret[MULTIPART_BOUNDARY_MAX + 1])
{
    static const char media[] = "multipart/form-data";
    const char *s = type + sizeof(media) - 1;
    size_t n = 0;
    bool quoted = false;

    if (strncasecmp(type, media, sizeof(media) - 1) != 0) {
        return -EINVAL;
    }
    s += strspn(s, " \t");
    if (*s++ != ';') {
        return -EINVAL;
    }
    s += strspn(s, " \t");
    if (strncasecmp(s, "boundary=", 9) != 0) {
        return -EINVAL;
    }
    s += 9;
    quoted = *s == '"';
    s += quoted ? 1 : 0;
    while (boundary_char(*s) && (quoted || *s != ' ') && n < MULTIPART_BOUNDARY_MAX) {
        ret[n++] = *s++;
    }
    ret[n] = '\0';
    if (quoted && *s++ != '"') {
        return -EINVAL;
    }
    s += strspn(s, " \t");
    return n > 0 && ret[n - 1] != ' ' && *s == '\0' ? 0 : -EINVAL;
}

int multipart_begin(struct multipart *m, const char *type, const uint8_t *body, size_t len,
                    struct refusal *ret_refusal)
{
    char boundary[MULTIPART_BOUNDARY_MAX + 1];
    int n = 0;

    if (parse_boundary(type, boundary) < 0) {
        return problem_set(ret_refusal, PROBLEM_BAD_REQUEST, "Content-Type",
                           "multipart/form-data needs a boundary and no other parameter");
    }
    *m = (struct multipart){.body = body, .len = len};
    n = snprintf(m->delimiter, sizeof(m->delimiter), "\r\n--%s", boundary);
    /* The first one has no line before it. */
    if (len < (size_t)n - 2 || memcmp(body, m->delimiter + 2, (size_t)n - 2) != 0) {
        return refuse(ret_refusal, "the body does not begin with the boundary");
    }
    m->at = (size_t)n - 2;
    return 0;
}

/* A quoted string behind *s into out; *s goes behind it. Backslashes take the next character. */
static int quoted_string(const char **s, char out[MULTIPART_NAME_MAX + 1])
{
    const char *p = *s;
    size_t n = 0;

    if (*p++ != '"') {
        return -EINVAL;
    }
    while (*p != '"') {
        if (*p == '\\' && (p[1] == '"' || p[1] == '\\')) {
            p++;
        }
        if (*p == '\0' || n == MULTIPART_NAME_MAX) {
            return -EINVAL;
        }
        out[n++] = *p++;
    }
    out[n] = '\0';
    *s = p + 1;
    return str_is_utf8(out, n) ? 0 : -EINVAL;
}

/* form-data; name="..."[; filename="..."], each once. */
static int parse_disposition(const char *value, struct multipart_part *part)
{
    bool has_name = false;

    if (strncasecmp(value, "form-data", 9) != 0) {
        return -EINVAL;
    }
    value += 9;
    while (*value != '\0') {
        int r = -EINVAL;

        value += strspn(value, " \t");
        if (*value++ != ';') {
            return -EINVAL;
        }
        value += strspn(value, " \t");
        if (strncasecmp(value, "name=", 5) == 0 && !has_name) {
            value += 5;
            has_name = true;
            r = quoted_string(&value, part->name);
        } else if (strncasecmp(value, "filename=", 9) == 0 && !part->has_filename) {
            value += 9;
            part->has_filename = true;
            r = quoted_string(&value, part->filename);
        }
        if (r < 0) {
            return r;
        }
    }
    return has_name ? 0 : -EINVAL;
}

/* line: NUL-terminated, without its end. */
static int parse_header(const char *line, struct multipart_part *part, bool *has_disposition)
{
    static const char disposition[] = "Content-Disposition:";
    static const char type[] = "Content-Type:";
    const char *value = NULL;

    if (strncasecmp(line, type, sizeof(type) - 1) == 0) {
        return 0; /* bytes are bytes, whatever it says */
    }
    if (strncasecmp(line, disposition, sizeof(disposition) - 1) != 0 || *has_disposition) {
        return -EINVAL;
    }
    *has_disposition = true;
    value = line + sizeof(disposition) - 1;
    value += strspn(value, " \t");
    return parse_disposition(value, part);
}

/* The headers of a part, up to and with their empty line. */
static int parse_headers(struct multipart *m, struct multipart_part *part, struct refusal *ret)
{
    bool has_disposition = false;

    while (true) {
        const uint8_t *line = m->body + m->at;
        const uint8_t *end = memmem(line, m->len - m->at, "\r\n", 2);
        size_t n = end != NULL ? (size_t)(end - line) : 0;
        char text[HEADER_MAX + 1];

        if (end == NULL || n > HEADER_MAX || memchr(line, '\0', n) != NULL ||
            memchr(line, '\n', n) != NULL || memchr(line, '\r', n) != NULL) {
            return refuse(ret, "a part's header is not a line of at most 1024 characters");
        }
        m->at += n + 2;
        if (n == 0) {
            return has_disposition ? 0
                                   : refuse(ret, "a part has no Content-Disposition with its name");
        }
        memcpy(text, line, n);
        text[n] = '\0';
        if (parse_header(text, part, &has_disposition) < 0) {
            return refuse(ret, "a part's header is neither Content-Type nor a Content-Disposition "
                               "of form-data with quoted name and filename");
        }
    }
}

int multipart_next(struct multipart *m, struct multipart_part *ret, struct refusal *ret_refusal)
{
    const uint8_t *end = NULL;
    int r = 0;

    if (m->over) {
        return 0;
    }
    /* Behind a boundary: "--" and the end, or a line's end and a part. */
    if (m->len - m->at >= 2 && memcmp(m->body + m->at, "--", 2) == 0) {
        size_t rest = m->len - m->at - 2;

        if (rest != 0 && !(rest == 2 && memcmp(m->body + m->at + 2, "\r\n", 2) == 0)) {
            return refuse(ret_refusal, "something follows the last boundary");
        }
        m->over = true;
        return 0;
    }
    if (m->len - m->at < 2 || memcmp(m->body + m->at, "\r\n", 2) != 0) {
        return refuse(ret_refusal, "a boundary's line has something else on it");
    }
    m->at += 2;
    if (m->n++ == MULTIPART_PARTS_MAX) {
        return refuse(ret_refusal, "there are too many parts");
    }
    *ret = (struct multipart_part){0};
    r = parse_headers(m, ret, ret_refusal);
    if (r < 0) {
        return r;
    }
    end = memmem(m->body + m->at, m->len - m->at, m->delimiter, strlen(m->delimiter));
    if (end == NULL) {
        return refuse(ret_refusal, "the last boundary is missing");
    }
    ret->data = m->body + m->at;
    ret->len = (size_t)(end - ret->data);
    m->at += ret->len + strlen(m->delimiter);
    return 1;
}
