#include "image/sources.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define FIELD_MAX 1024

struct stanza {
    char types[FIELD_MAX], uris[FIELD_MAX], suites[FIELD_MAX], components[FIELD_MAX];
    char signed_by[FIELD_MAX], enabled[FIELD_MAX], architectures[FIELD_MAX];
};

/* The next blank-separated word of *p into word; false at the end. Over-long words become "". */
static bool next_word(const char **p, char word[FIELD_MAX])
{
    size_t skip = strspn(*p, " \t");
    size_t len = strcspn(*p + skip, " \t");

    if (len == 0) {
        return false;
    }
    (void)snprintf(word, FIELD_MAX, "%.*s", len < FIELD_MAX ? (int)len : 0, *p + skip);
    *p += skip + len;
    return true;
}

static bool has_word(const char *list, const char *wanted)
{
    char word[FIELD_MAX];

    while (next_word(&list, word)) {
        if (strcmp(word, wanted) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_our_suite(const char *suite, const char *codename)
{
    static const char *const endings[] = {"", "-updates", "-security", "/updates"};
    size_t len = strlen(codename);

    if (strncmp(suite, codename, len) != 0) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        if (strcmp(suite + len, endings[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Mirrors keep the word in their path; who signs decides in the end. */
static bool is_debian_uri(const char *uri)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/._+~%@=,-";

    return strstr(uri, "debian") != NULL && strchr(uri, ':') != NULL &&
           strncmp(uri, "cdrom:", 6) != 0 && strspn(uri, allowed) == strlen(uri);
}

static int emit(const struct stanza *s, const char *codename, struct buf *out)
{
    const char *uris = s->uris;
    char uri[FIELD_MAX];

    if (!has_word(s->types, "deb") || !has_word(s->components, "main") ||
        strcasecmp(s->enabled, "no") == 0 || strcasecmp(s->enabled, "false") == 0 ||
        (s->signed_by[0] != '\0' && strstr(s->signed_by, "debian-archive-") == NULL) ||
        (s->architectures[0] != '\0' && !has_word(s->architectures, "amd64"))) {
        return 0;
    }
    while (next_word(&uris, uri)) {
        const char *suites = s->suites;
        char suite[FIELD_MAX];

        while (is_debian_uri(uri) && next_word(&suites, suite)) {
            char line[3 * FIELD_MAX];
            int r = 0;

            if (!is_our_suite(suite, codename)) {
                continue;
            }
            (void)snprintf(line, sizeof(line),
                           "deb [arch=amd64 signed-by=" SOURCES_KEYRING "] %s %s main\n", uri,
                           suite);
            if (out->data != NULL && strstr((const char *)out->data, line) != NULL) {
                continue;
            }
            r = buf_put(out, line, strlen(line));
            if (r < 0) {
                return r;
            }
        }
    }
    return 0;
}

/* "deb [signed-by=... arch=amd64] URI SUITE COMPONENT..." */
static int filter_line(const char *line, const char *codename, struct buf *out)
{
    struct stanza s = {0};
    char word[FIELD_MAX];

    if (!next_word(&line, s.types)) {
        return 0;
    }
    line += strspn(line, " \t");
    if (line[0] == '[') {
        size_t len = strcspn(line, "]");
        char options[FIELD_MAX];
        const char *p = options;

        if (line[len] != ']' || len >= sizeof(options)) {
            return 0;
        }
        (void)snprintf(options, sizeof(options), "%.*s", (int)len - 1, line + 1);
        while (next_word(&p, word)) {
            if (strncmp(word, "signed-by=", 10) == 0) {
                (void)snprintf(s.signed_by, sizeof(s.signed_by), "%s", word + 10);
            } else if (strncmp(word, "arch=", 5) == 0) {
                (void)snprintf(s.architectures, sizeof(s.architectures), "%s", word + 5);
                for (char *c = strchr(s.architectures, ','); c != NULL; c = strchr(c, ',')) {
                    *c = ' ';
                }
            }
        }
        line += len + 1;
    }
    if (!next_word(&line, s.uris) || !next_word(&line, s.suites)) {
        return 0;
    }
    (void)snprintf(s.components, sizeof(s.components), "%.*s", FIELD_MAX - 1, line);
    return emit(&s, codename, out);
}

static void set_field(struct stanza *s, const char *line)
{
    const struct {
        const char *name;
        char *value;
    } fields[] = {
        {"Types:", s->types},
        {"URIs:", s->uris},
        {"Suites:", s->suites},
        {"Components:", s->components},
        {"Enabled:", s->enabled},
        {"Signed-By:", s->signed_by},
        {"Architectures:", s->architectures},
    };

    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        size_t len = strlen(fields[i].name);

        if (strncasecmp(line, fields[i].name, len) == 0) {
            const char *value = line + len + strspn(line + len, " \t");

            /* A key given inline starts on the next line: not one of Debian's keyring files. */
            (void)snprintf(fields[i].value, FIELD_MAX, "%.*s", FIELD_MAX - 1,
                           *value != '\0' ? value : "(inline)");
            for (size_t end = strlen(fields[i].value);
                 end > 0 && strchr(" \t\r", fields[i].value[end - 1]) != NULL; end--) {
                fields[i].value[end - 1] = '\0';
            }
        }
    }
}

int sources_filter(const char *text, bool deb822, const char *codename, struct buf *out)
{
    struct stanza stanza = {0};
    int r = 0;

    while (r == 0 && *text != '\0') {
        size_t len = strcspn(text, "\n");
        char line[FIELD_MAX];

        (void)snprintf(line, sizeof(line), "%.*s", len < sizeof(line) ? (int)len : 0, text);
        text += len + (text[len] == '\n');
        if (line[0] == '#') {
            continue;
        }
        if (!deb822) {
            line[strcspn(line, "#")] = '\0';
            r = filter_line(line, codename, out);
        } else if (line[strspn(line, " \t\r")] == '\0') {
            r = emit(&stanza, codename, out);
            stanza = (struct stanza){0};
        } else {
            set_field(&stanza, line);
        }
    }
    return r < 0 || !deb822 ? r : emit(&stanza, codename, out);
}
