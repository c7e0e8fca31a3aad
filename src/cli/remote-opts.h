/* remote-opts.h - the options of every command that talks to a daemon. */
#pragma once

#include "cli/http.h"
#include "cli/opt.h"

/* at: where the command's options have their struct http_config (offsetof()). */
#define REMOTE_OPTS(at)                                                                         \
    {.name = "url",                                                                             \
     .arg = "URL",                                                                              \
     .offset = (at) + offsetof(struct http_config, url),                                        \
     .help = "the daemon: http://HOST:PORT, https://HOST:PORT or unix:PATH\n"                   \
             "(default: $AIRLOCK_URL, or http://127.0.0.1:7380)"},                              \
        {.name = "token-file",                                                                  \
         .arg = "FILE",                                                                         \
         .offset = (at) + offsetof(struct http_config, token_file),                             \
         .help = "read the token from FILE (default: $AIRLOCK_TOKEN)"},                         \
    {                                                                                           \
        .name = "cacert", .arg = "FILE", .offset = (at) + offsetof(struct http_config, cacert), \
        .help = "trust what the certificates in FILE signed"                                    \
    }
