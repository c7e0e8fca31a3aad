/*
 * How it works: libcurl's multi interface with one transfer at a time, so that a caller's own
 * descriptor (a signal, a socket to its parent) is waited for beside it. Whatever the server sends is
 * counted before it is kept: headers, a collected body, and the time in which nothing comes.
 */
#include "cli/http.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/curl-api.h"
#include "job/text.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define TOKEN_MAX       512u
#define HEADERS_MAX     (64 * KIB)
#define PROBLEM_MAX     (1 * MIB) /* body of an answer that is no success */
#define CONNECT_MS      10000L
#define SILENCE_NS      (60 * NS_PER_S)
#define UNIX_URL_PREFIX "unix:"

/* All functions of libcurl are called through it; set by http_new(). */
static const struct curl_api *curl;

struct http {
    CURLM *multi;
    CURL *easy;
    char *url;    /* as given, for messages */
    char *base;   /* scheme and authority, no '/' at its end */
    char *socket; /* path of a Unix socket, or NULL */
    char *cacert;
    char *auth; /* the header, or NULL */
};

static int no_memory(struct err *err)
{
    return err_set(err, ERR_HOST, ENOMEM, "out of memory");
}

const char *http_url(const struct http *h)
{
    return h->url;
}

void http_free(struct http *h)
{
    if (h == NULL) {
        return;
    }
    if (curl != NULL) {
        curl->easy_cleanup(h->easy);
        (void)curl->multi_cleanup(h->multi);
    }
    if (h->auth != NULL) {
        explicit_bzero(h->auth, strlen(h->auth));
    }
    free(h->auth);
    free(h->url);
    free(h->base);
    free(h->socket);
    free(h->cacert);
    free(h);
}

void http_answer_fini(struct http_answer *a)
{
    buf_fini(&a->body);
}

/* What may stand in a header: a token with anything else could add headers of its own. */
static int set_token(struct http *h, const char *token, const char *from, struct err *err)
{
    size_t len = strlen(token);

    for (size_t i = 0; i < len; i++) {
        if (!isgraph((unsigned char)token[i])) {
            return err_usage(err,
                             "%s: a token is printable ASCII without blanks; copy it whole, as "
                             "'airlock token new' showed it",
                             from);
        }
    }
    if (len == 0 || len > TOKEN_MAX) {
        return err_usage(err, "%s: %s; a token is 'alk_ID_SECRET'", from,
                         len == 0 ? "there is no token" : "too long for a token");
    }
    if (asprintf(&h->auth, "Authorization: Bearer %s", token) < 0) {
        h->auth = NULL;
        return no_memory(err);
    }
    return 0;
}

static int read_token(struct http *h, const char *path, struct err *err)
{
    auto_buf struct buf text = BUF_INIT(TOKEN_MAX + 2);
    auto_fd int fd = -1;
    struct stat st;
    int r = fd_open(AT_FDCWD, path, O_RDONLY | O_NOCTTY, 0, &fd, err);

    if (r == 0 && fstat(fd, &st) < 0) {
        r = err_sys(err, "examine it");
    }
    if (r == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_IRWXO) != 0) {
        r = err_usage(err, "'%s' is open to every user; chmod 600 it", text_of_str(path).s);
    }
    if (r == 0) {
        r = fd_read_all(fd, path, &text, err);
    }
    while (r == 0 && text.len > 0 && isspace(text.data[text.len - 1])) {
        text.data[--text.len] = '\0';
    }
    if (r == 0) {
        r = set_token(h, text.len > 0 ? (const char *)text.data : "", "the file", err);
    }
    if (text.data != NULL) {
        explicit_bzero(text.data, text.cap);
    }
    return r < 0 ? err_wrap(err, "--token-file") : 0;
}

static bool is_loopback(const char *host)
{
    struct in_addr v4;

    if (strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0) {
        return true;
    }
    return inet_pton(AF_INET, host, &v4) == 1 && (ntohl(v4.s_addr) >> 24) == 127;
}

static int bad_url(const char *url, const char *why, struct err *err)
{
    return err_usage(err,
                     "AIRLOCK_URL '%s': %s; give http://HOST:PORT, https://HOST:PORT or unix:PATH",
                     text_of_str(url).s, why);
}

static bool has_part(CURLU *u, CURLUPart what)
{
    char *text = NULL;
    bool has = curl->url_get(u, what, &text, 0) == CURLUE_OK;

    curl->free(text);
    return has;
}

/* Nothing but scheme, host and port: what else an address can hold has no meaning here. */
static int check_parts(struct http *h, CURLU *u, struct err *err)
{
    char *scheme = NULL;
    char *host = NULL;
    char *path = NULL;
    int r = 0;

    if (curl->url_get(u, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
        curl->url_get(u, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
        curl->url_get(u, CURLUPART_PATH, &path, 0) != CURLUE_OK) {
        r = bad_url(h->url, "not an address", err);
    } else if (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0) {
        r = bad_url(h->url, "only http, https and unix are spoken", err);
    } else if (has_part(u, CURLUPART_USER) || has_part(u, CURLUPART_PASSWORD)) {
        r = bad_url(h->url, "it holds a user or password; tokens go into AIRLOCK_TOKEN", err);
    } else if (strcmp(path, "/") != 0 || has_part(u, CURLUPART_QUERY) ||
               has_part(u, CURLUPART_FRAGMENT)) {
        r = bad_url(h->url, "nothing may follow the port", err);
    } else if (h->auth != NULL && strcmp(scheme, "http") == 0 && !is_loopback(host)) {
        r = bad_url(h->url,
                    "a token would be readable on its way; use https, or a tunnel to the host",
                    err);
    }
    curl->free(scheme);
    curl->free(host);
    curl->free(path);
    return r;
}

static int set_url(struct http *h, const char *url, struct err *err)
{
    size_t prefix = strlen(UNIX_URL_PREFIX);
    bool local = strncmp(url, UNIX_URL_PREFIX, prefix) == 0;
    const char *base = local ? "http://localhost" : url;
    size_t len = strlen(base);
    CURLU *u = NULL;
    int r = 0;

    while (!local && len > 0 && base[len - 1] == '/') {
        len--;
    }
    h->url = strdup(url);
    h->base = strndup(base, len);
    h->socket = local ? strdup(url + prefix) : NULL;
    u = curl->url();
    if (h->url == NULL || h->base == NULL || (local && h->socket == NULL) || u == NULL) {
        r = no_memory(err);
    } else if (local && *h->socket == '\0') {
        r = bad_url(url, "the path is missing", err);
    } else if (curl->url_set(u, CURLUPART_URL, h->base, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK) {
        r = bad_url(url, "not an address", err);
    } else {
        r = check_parts(h, u, err);
    }
    curl->url_cleanup(u);
    return r;
}

static const char *from_environment(const char *name)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe): one thread */

    return value != NULL && *value != '\0' ? value : NULL;
}

int http_new(const struct http_config *config, struct http **ret, struct err *err)
{
    auto_http struct http *h = calloc(1, sizeof(*h));
    const char *url = config->url != NULL ? config->url : from_environment("AIRLOCK_URL");
    const char *token = from_environment("AIRLOCK_TOKEN");
    int r = 0;

    if (curl == NULL) {
        r = curl_api_load(&curl, err);
        if (r < 0) {
            return r;
        }
    }
    if (h == NULL || curl->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return no_memory(err);
    }
    if (config->token_file != NULL) {
        r = read_token(h, config->token_file, err);
    } else if (token != NULL) {
        r = set_token(h, token, "AIRLOCK_TOKEN", err);
    }
    if (r == 0) {
        r = set_url(h, url != NULL ? url : HTTP_URL_DEFAULT, err);
    }
    if (r < 0) {
        return r;
    }
    h->cacert = config->cacert != NULL ? strdup(config->cacert) : NULL;
    h->multi = curl->multi_init();
    h->easy = curl->easy_init();
    if (h->multi == NULL || h->easy == NULL || (config->cacert != NULL && h->cacert == NULL)) {
        return no_memory(err);
    }
    *ret = STEAL_PTR(&h);
    return 0;
}

/* One request on its way. */
struct call {
    struct http *h;
    const struct http_request *rq;
    struct http_answer *answer;
    struct err *err;
    int failed; /* -errno of a callback; err is set */
    size_t header_bytes;
    bool paused;
    curl_off_t moved;  /* bytes of both ways so far, and when the last came */
    uint64_t heard_ns; /* 0: not yet */
    char detail[CURL_ERROR_SIZE];
};

static int fail(struct call *c, int r)
{
    c->failed = r;
    return r;
}

static size_t on_header(char *data, size_t size, size_t n, void *ctx)
{
    struct call *c = ctx;

    (void)data;
    c->header_bytes += size * n;
    if (c->header_bytes > HEADERS_MAX) {
        (void)fail(c, err_set(c->err, ERR_HOST, EPROTO, "the answer of '%s' has too many headers",
                              text_of_str(c->h->url).s));
        return 0;
    }
    return size * n;
}

static int collect(struct call *c, unsigned int status, const void *data, size_t len)
{
    size_t max = c->rq->answer_max != 0 ? c->rq->answer_max : HTTP_ANSWER_MAX;
    int r = 0;

    c->answer->body.max = status < 300 ? max : PROBLEM_MAX;
    r = buf_put(&c->answer->body, data, len);
    if (r == -ENOBUFS) {
        return err_set(c->err, ERR_HOST, EPROTO,
                       "the answer of '%s' is longer than the %zu bytes that may come",
                       text_of_str(c->h->url).s, c->answer->body.max);
    }
    return r < 0 ? no_memory(c->err) : 0;
}

static size_t on_body(char *data, size_t size, size_t n, void *ctx)
{
    struct call *c = ctx;
    long status = 0;
    int r = 0;

    (void)curl->easy_getinfo(c->h->easy, CURLINFO_RESPONSE_CODE, &status);
    if (c->failed < 0) {
        return 0;
    }
    if (c->rq->stream == NULL || status != 200) {
        r = collect(c, (unsigned int)status, data, size * n);
    } else {
        r = c->rq->stream(c->rq->ctx, data, size * n, c->err);
    }
    if (r < 0) {
        (void)fail(c, r);
        return 0;
    }
    c->paused = r == 1;
    return c->paused ? CURL_WRITEFUNC_PAUSE : size * n;
}

/* libcurl keeps what it is given as options; the first that is refused is remembered. */
#define SET(option, value) (ok = ok && curl->easy_setopt(e, (option), (value)) == CURLE_OK)

static bool set_connection(const struct http *h)
{
    CURL *e = h->easy;
    bool ok = true;

    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_PROXY, ""); /* one that the environment names would see jobs and token */
    SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_SSL_VERIFYPEER, 1L);
    SET(CURLOPT_SSL_VERIFYHOST, 2L);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_PATH_AS_IS, 1L); /* names of outputs are not ours to simplify */
    SET(CURLOPT_USERAGENT, "airlock/" AIRLOCK_VERSION);
    if (h->socket != NULL) {
        SET(CURLOPT_UNIX_SOCKET_PATH, h->socket);
    }
    if (h->cacert != NULL) {
        SET(CURLOPT_CAINFO, h->cacert);
    }
    return ok;
}

static bool set_callbacks(struct call *c, const char *url)
{
    CURL *e = c->h->easy;
    bool ok = true;

    SET(CURLOPT_URL, url);
    SET(CURLOPT_ERRORBUFFER, c->detail);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, c);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, c);
    return ok;
}

static bool add_part(curl_mime *mime, const struct http_part *part)
{
    curl_mimepart *p = curl->mime_addpart(mime);

    return p != NULL && curl->mime_name(p, part->name) == CURLE_OK &&
           (part->type == NULL || curl->mime_type(p, part->type) == CURLE_OK) &&
           (part->filename == NULL || curl->mime_filename(p, part->filename) == CURLE_OK) &&
           curl->mime_data(p, part->len > 0 ? part->data : "", part->len) == CURLE_OK;
}

static bool set_body(struct call *c, curl_mime **ret_mime)
{
    CURL *e = c->h->easy;
    const struct http_request *rq = c->rq;
    bool ok = true;

    if (rq->n_parts > 0) {
        *ret_mime = curl->mime_init(e);
        ok = *ret_mime != NULL;
        for (size_t i = 0; i < rq->n_parts && ok; i++) {
            ok = add_part(*ret_mime, &rq->parts[i]);
        }
        SET(CURLOPT_MIME_OPTIONS, (long)CURLMIMEOPT_FORMESCAPE); /* \" in names, as RFC 7578 */
        SET(CURLOPT_MIMEPOST, *ret_mime);
    } else if (rq->body != NULL) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)rq->body_len);
        SET(CURLOPT_POSTFIELDS, rq->body);
    } else {
        SET(CURLOPT_CUSTOMREQUEST, rq->method);
    }
    return ok;
}

static bool add_header(struct curl_slist **list, const char *header)
{
    struct curl_slist *longer = curl->slist_append(*list, header);

    if (longer == NULL) {
        return false;
    }
    *list = longer;
    return true;
}

static bool set_headers(struct call *c, struct curl_slist **list)
{
    CURL *e = c->h->easy;
    bool ok = c->h->auth == NULL || add_header(list, c->h->auth);

    if (c->rq->body != NULL) {
        ok = ok && add_header(list, "Content-Type: application/json");
    }
    for (size_t i = 0; i < ARRAY_LEN(c->rq->headers) && c->rq->headers[i] != NULL; i++) {
        ok = ok && add_header(list, c->rq->headers[i]);
    }
    SET(CURLOPT_HTTPHEADER, *list);
    return ok;
}

static int tls_fault(const struct call *c, struct err *err)
{
    return err_set(err, ERR_HOST, EPERM,
                   "'%s' could not prove who it is (%.300s); name its authority with --cacert FILE",
                   text_of_str(c->h->url).s, c->detail);
}

/* A Unix socket that is there, but not for us. */
static bool is_forbidden(const struct http *h)
{
    return h->socket != NULL && access(h->socket, R_OK | W_OK) < 0 && errno == EACCES;
}

static int forbidden(const struct http *h, struct err *err)
{
    struct stat st = {.st_mode = 0};
    struct group group = {.gr_gid = 0};
    struct group *known = NULL;
    struct text url = text_of_str(h->url);
    char room[2048];

    if (stat(h->socket, &st) == 0 && (st.st_mode & 0060) == 0060 && st.st_gid != 0) {
        (void)getgrgid_r(st.st_gid, &group, room, sizeof(room), &known);
    }
    if (known == NULL) {
        return err_set(err, ERR_HOST, EACCES, "you may not connect to '%s'; its owner may", url.s);
    }
    return err_set(err, ERR_HOST, EACCES,
                   "you may not connect to '%s'; members of group %.40s may: as root usermod -a -G "
                   "%.40s YOUR-NAME, then log in anew",
                   url.s, known->gr_name, known->gr_name);
}

/* What the network did, with what to do about it. */
static int transfer_fault(const struct call *c, CURLcode code, struct err *err)
{
    const char *why = c->detail[0] != '\0' ? c->detail : curl->easy_strerror(code);
    struct text url = text_of_str(c->h->url);

    switch ((int)code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
        if (is_forbidden(c->h)) {
            return forbidden(c->h, err);
        }
        return err_set(err, ERR_HOST, ECONNREFUSED,
                       "no daemon can be reached at '%s' (%.300s); start airlockd there, or set "
                       "AIRLOCK_URL",
                       url.s, why);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
        return tls_fault(c, err);
    case CURLE_OPERATION_TIMEDOUT:
        return err_set(err, ERR_HOST, ETIMEDOUT, "'%s' does not answer (%.300s)", url.s, why);
    case CURLE_OUT_OF_MEMORY:
        return no_memory(err);
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
        return err_set(err, ERR_HOST, ECONNRESET, "the connection to '%s' broke (%.300s)", url.s,
                       why);
    default:
        return err_set(err, ERR_HOST, EPROTO, "'%s' does not speak as a daemon does (%.300s)",
                       url.s, why);
    }
}

static int wait_some(struct call *c, struct pollfd *also, struct err *err)
{
    struct curl_waitfd extra = {.fd = also->fd};
    unsigned int n = also->fd >= 0 ? 1 : 0;

    extra.events = (short)(((also->events & POLLIN) != 0 ? CURL_WAIT_POLLIN : 0) |
                           ((also->events & POLLOUT) != 0 ? CURL_WAIT_POLLOUT : 0));
    if (curl->multi_poll(c->h->multi, n > 0 ? &extra : NULL, n, 1000, NULL) != CURLM_OK) {
        return err_set(err, ERR_HOST, EIO, "waiting for '%s' failed", text_of_str(c->h->url).s);
    }
    return 0;
}

static int take_turn(struct call *c, struct err *err)
{
    struct pollfd also = {.fd = -1, .events = POLLIN};
    int r = c->rq->turn != NULL ? c->rq->turn(c->rq->ctx, &also, err) : 0;

    if (r < 0) {
        return r;
    }
    if (r == 1 && c->paused) {
        c->paused = false;
        (void)curl->easy_pause(c->h->easy, CURLPAUSE_CONT); /* may give the body at once */
        return 0;
    }
    return wait_some(c, &also, err);
}

/*
 * Whether the other end has been silent for too long. libcurl's own limit is one of average speed,
 * which a heartbeat of a few bytes does not reach.
 */
static int check_silence(struct call *c, struct err *err)
{
    uint64_t limit = c->rq->silence_ns != 0 ? c->rq->silence_ns : SILENCE_NS;
    uint64_t now = clock_mono_ns();
    curl_off_t in = 0;
    curl_off_t out = 0;

    (void)curl->easy_getinfo(c->h->easy, CURLINFO_SIZE_DOWNLOAD_T, &in);
    (void)curl->easy_getinfo(c->h->easy, CURLINFO_SIZE_UPLOAD_T, &out);
    if (in + out != c->moved || c->paused || c->heard_ns == 0) {
        c->moved = in + out;
        c->heard_ns = now;
    }
    if (now - c->heard_ns < limit) {
        return 0;
    }
    return err_set(err, ERR_HOST, ETIMEDOUT, "'%s' does not answer (no byte for %llu s)",
                   text_of_str(c->h->url).s, (unsigned long long)(limit / NS_PER_S));
}

static int drive(struct call *c, struct err *err)
{
    int running = 1;

    for (;;) {
        CURLMsg *msg = NULL;
        int left = 0;
        int r = 0;

        if (curl->multi_perform(c->h->multi, &running) != CURLM_OK) {
            return err_set(err, ERR_HOST, EIO, "libcurl failed");
        }
        if (c->failed < 0) {
            return c->failed;
        }
        if (running == 0) {
            msg = curl->multi_info_read(c->h->multi, &left);
            return msg != NULL && msg->data.result == CURLE_OK
                       ? 0
                       : transfer_fault(c, msg != NULL ? msg->data.result : CURLE_RECV_ERROR, err);
        }
        r = take_turn(c, err);
        if (r == 0) {
            r = check_silence(c, err);
        }
        if (r < 0) {
            return r;
        }
    }
}

static void read_facts(const struct call *c)
{
    const char *type = NULL;
    curl_off_t after = 0;
    long status = 0;
    size_t n = 0;

    (void)curl->easy_getinfo(c->h->easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl->easy_getinfo(c->h->easy, CURLINFO_RETRY_AFTER, &after);
    (void)curl->easy_getinfo(c->h->easy, CURLINFO_CONTENT_TYPE, &type);
    c->answer->status = status > 0 ? (unsigned int)status : 0;
    c->answer->retry_after_s = after > 0 ? (uint64_t)after : 0;
    while (type != NULL && n + 1 < sizeof(c->answer->type) && type[n] != '\0' && type[n] != ';' &&
           type[n] != ' ') {
        c->answer->type[n] = (char)tolower((unsigned char)type[n]);
        n++;
    }
    c->answer->type[n] = '\0';
}

int http_do(struct http *h, const struct http_request *request, struct http_answer *ret,
            struct err *err)
{
    struct call call = {.h = h, .rq = request, .answer = ret, .err = err};
    auto_free char *url = NULL;
    curl_mime *mime = NULL;
    struct curl_slist *headers = NULL;
    int r = 0;

    http_answer_fini(ret);
    *ret = (struct http_answer){.body = BUF_INIT(HTTP_ANSWER_MAX)};
    if (asprintf(&url, "%s%s", h->base, request->path) < 0) {
        url = NULL;
        return no_memory(err);
    }
    curl->easy_reset(h->easy); /* the connection stays */
    if (!set_connection(h) || !set_callbacks(&call, url) || !set_body(&call, &mime) ||
        !set_headers(&call, &headers) || curl->multi_add_handle(h->multi, h->easy) != CURLM_OK) {
        r = no_memory(err);
    } else {
        r = drive(&call, err);
        read_facts(&call);
        (void)curl->multi_remove_handle(h->multi, h->easy);
    }
    curl->easy_reset(h->easy);
    curl->mime_free(mime);
    curl->slist_free_all(headers);
    if (r < 0) {
        ret->status = 0;
    }
    return r;
}
