/* remote-opts.h - the options of every command that talks to a daemon. */
#pragma once

#include "cli/http.h"
#include "cli/opt.h"

/* field: a struct http_config of type. */
#define REMOTE_OPTS(type, field)                                               \
    OPT_VALUE("url", "URL", type, field.url,                                   \
              "the daemon: http://HOST:PORT, https://HOST:PORT or unix:PATH\n" \
              "(default: $AIRLOCK_URL, or http://127.0.0.1:7380)"),            \
        OPT_VALUE("token-file", "FILE", type, field.token_file,                \
                  "read the token from FILE (default: $AIRLOCK_TOKEN)"),       \
        OPT_VALUE("cacert", "FILE", type, field.cacert,                        \
                  "trust what the certificates in FILE signed")
