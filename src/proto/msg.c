#include "proto/msg.h"

#include <errno.h>
#include <string.h>

#include "proto/frame.h"
#include "proto/wire.h"

/* ---- encoding: lengths over a maximum are refused as a buffer without room is ---- */

static void put_string(struct wire_out *w, const char *s, size_t max)
{
    size_t len = strlen(s);

    if (len > max) {
        w->error = w->error == 0 ? -ENOBUFS : w->error;
        return;
    }
    wire_write_u32(w, (uint32_t)len);
    wire_write(w, s, len);
}

static void put_strings(struct wire_out *w, char *const *strings, size_t max, size_t *bytes)
{
    size_t n = 0;

    while (strings != NULL && strings[n] != NULL) {
        *bytes += strlen(strings[n]);
        n++;
    }
    if (n > max || *bytes > MSG_STRINGS_BYTES) {
        w->error = w->error == 0 ? -ENOBUFS : w->error;
        return;
    }
    wire_write_u32(w, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        put_string(w, strings[i], MSG_STRINGS_BYTES);
    }
}

int msg_job_encode(const struct msg_job *m, struct buf *out)
{
    struct wire_out w = wire_out_start(out);
    size_t bytes = 0;

    wire_write_u32(&w, PROTO_VERSION);
    wire_write(&w, m->entropy, sizeof(m->entropy));
    wire_write_u64(&w, m->realtime_ns);
    wire_write(&w, m->machine_id, sizeof(m->machine_id));
    wire_write_u64(&w, m->memory_bytes);
    wire_write_u64(&w, m->pids);
    wire_write_u64(&w, m->stdout_bytes);
    wire_write_u64(&w, m->stderr_bytes);
    wire_write_u64(&w, m->output_bytes);
    wire_write_u64(&w, m->output_files);
    wire_write_u64(&w, m->inodes);
    wire_write_u32(&w, m->output_depth);
    wire_write_u8(&w, m->has_stdin);
    wire_write_u8(&w, m->root);
    wire_write_u8(&w, m->input);
    wire_write_u8(&w, m->warm);
    wire_write_u8(&w, m->rehearsal);
    put_string(&w, m->program, MSG_NAME_MAX);
    wire_write_u8(&w, m->program_data != NULL);
    wire_write_u32(&w, m->program_data != NULL ? m->program_len : 0);
    if (m->program_data != NULL) {
        wire_write(&w, m->program_data, m->program_len);
    }
    put_strings(&w, m->argv, MSG_ARGS_MAX, &bytes);
    put_strings(&w, m->envp, MSG_ENV_MAX, &bytes);
    return wire_out_end(&w);
}

int msg_ready_encode(const struct msg_ready *m, struct buf *out)
{
    struct wire_out w = wire_out_start(out);

    wire_write_u32(&w, m->version);
    wire_write_u64(&w, m->memory_total_bytes);
    wire_write_u64(&w, m->boot_ns);
    wire_write_u8(&w, m->interpreter.waits);
    wire_write_u64(&w, m->interpreter.bytes);
    put_string(&w, m->interpreter.why_not, sizeof(m->interpreter.why_not) - 1);
    return wire_out_end(&w);
}

int msg_exit_encode(const struct msg_exit *m, struct buf *out)
{
    struct wire_out w = wire_out_start(out);

    wire_write_u8(&w, m->signaled);
    wire_write_u32(&w, m->code);
    wire_write_u64(&w, m->memory_peak_bytes);
    wire_write_u64(&w, m->cpu_usec);
    wire_write_u32(&w, m->pids_peak);
    wire_write_u32(&w, m->pids_refused);
    wire_write_u32(&w, m->oom_kills);
    wire_write_u8(&w, m->oom_killed_main);
    wire_write_u64(&w, m->stdout_bytes);
    wire_write_u64(&w, m->stderr_bytes);
    wire_write_u64(&w, m->scratch_bytes);
    return wire_out_end(&w);
}

int msg_output_end_encode(const struct msg_output_end *m, struct buf *out)
{
    struct wire_out w = wire_out_start(out);

    wire_write_u32(&w, (uint32_t)m->status);
    put_string(&w, m->name, MSG_NAME_MAX);
    return wire_out_end(&w);
}

int msg_failed_encode(const struct msg_failed *m, struct buf *out)
{
    struct wire_out w = wire_out_start(out);

    put_string(&w, m->phase, sizeof(m->phase) - 1);
    wire_write_u32(&w, m->errnum);
    put_string(&w, m->text, sizeof(m->text) - 1);
    return wire_out_end(&w);
}

int msg_credit_encode(uint32_t bytes, struct buf *out)
{
    struct wire_out w = wire_out_start(out);

    wire_write_u32(&w, bytes);
    return wire_out_end(&w);
}

/* ---- decoding: the first failure sticks in `bad`, later values are zero ---- */

struct reader {
    struct wire_in in;
    const char *bad; /* what was wrong, NULL while all is well */
};

static const uint8_t *take(struct reader *rd, size_t len)
{
    const uint8_t *at = rd->bad == NULL ? wire_take(&rd->in, len) : NULL;

    if (at == NULL && rd->bad == NULL) {
        rd->bad = "it ends early";
    }
    return at;
}

static void get_bytes(struct reader *rd, uint8_t *ret, size_t len)
{
    const uint8_t *at = take(rd, len);

    if (at != NULL) {
        memcpy(ret, at, len);
    }
}

static uint32_t get_u32(struct reader *rd)
{
    const uint8_t *at = take(rd, 4);

    return at != NULL ? wire_get_u32(at) : 0;
}

static uint64_t get_u64(struct reader *rd)
{
    const uint8_t *at = take(rd, 8);

    return at != NULL ? wire_get_u64(at) : 0;
}

static bool get_bool(struct reader *rd)
{
    const uint8_t *at = take(rd, 1);

    if (at != NULL && at[0] > 1) {
        rd->bad = "a flag is neither 0 nor 1";
        return false;
    }
    return at != NULL && at[0] == 1;
}

/* Borrowed bytes of a string without NUL, at most max long. */
static const uint8_t *get_string_raw(struct reader *rd, size_t max, size_t *ret_len)
{
    size_t len = get_u32(rd);
    const uint8_t *at = NULL;

    *ret_len = 0;
    if (rd->bad == NULL && len > max) {
        rd->bad = "a string is too long";
    }
    at = take(rd, len);
    if (at == NULL) {
        return NULL;
    }
    if (memchr(at, '\0', len) != NULL) {
        rd->bad = "a string has a NUL inside";
        return NULL;
    }
    *ret_len = len;
    return at;
}

/* size is that of the array ret, which keeps room for the terminating NUL. */
static void get_string(struct reader *rd, char *ret, size_t size)
{
    size_t len = 0;
    const uint8_t *at = get_string_raw(rd, size - 1, &len);

    if (at != NULL) {
        memcpy(ret, at, len);
        ret[len] = '\0';
    }
}

static void free_strings(char **strings)
{
    for (size_t i = 0; strings != NULL && strings[i] != NULL; i++) {
        free(strings[i]);
    }
    free(strings);
}

/* A list of at most max strings; *budget counts down over both lists of a job. Owned by *ret. */
static void get_strings(struct reader *rd, size_t max, size_t *budget, char ***ret)
{
    size_t n = get_u32(rd);

    if (rd->bad == NULL && n > max) {
        rd->bad = "a list is too long";
    }
    /* Each string takes 4 bytes at least, so a count alone cannot make us allocate. */
    if (rd->bad == NULL && n > rd->in.left / 4) {
        rd->bad = "it ends early";
    }
    if (rd->bad != NULL) {
        return;
    }
    *ret = calloc(n + 1, sizeof(**ret));
    if (*ret == NULL) {
        rd->bad = "there is no memory for it";
        return;
    }
    for (size_t i = 0; i < n; i++) {
        size_t len = 0;
        const uint8_t *at = get_string_raw(rd, *budget, &len);

        if (at == NULL) {
            return;
        }
        *budget -= len;
        (*ret)[i] = calloc(1, len + 1);
        if ((*ret)[i] == NULL) {
            rd->bad = "there is no memory for it";
            return;
        }
        memcpy((*ret)[i], at, len);
    }
}

static int reader_end(const struct reader *rd, const char *what, struct err *err)
{
    if (rd->bad != NULL) {
        return err_guest(err, "%s message: %s", what, rd->bad);
    }
    if (rd->in.left != 0) {
        return err_guest(err, "%s message: %zu bytes too many", what, rd->in.left);
    }
    return 0;
}

static bool program_ok(const char *name)
{
    return strchr(name, '/') == NULL && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static const char *job_problem(const struct msg_job *m)
{
    if (m->argv[0] == NULL || m->argv[0][0] == '\0') {
        return "there is nothing to execute";
    }
    if (!program_ok(m->program)) {
        return "the program is not a plain file name";
    }
    if (m->program[0] == '\0' ? m->program_data != NULL : m->program_data == NULL && !m->input) {
        return "the program is nowhere, or has no name";
    }
    if (m->rehearsal && (!m->warm || m->input || !m->has_stdin)) {
        return "a rehearsal is for an interpreter that waits, and brings all it needs";
    }
    if (m->warm && (m->root || m->program[0] == '\0' || m->argv[1] == NULL)) {
        return "an interpreter that waits runs a program file, and not as root";
    }
    if (m->memory_bytes == 0 || m->pids == 0) {
        return "a limit is zero";
    }
    for (size_t i = 0; m->envp[i] != NULL; i++) {
        if (m->envp[i][0] == '=' || strchr(m->envp[i], '=') == NULL) {
            return "an environment entry is not NAME=VALUE";
        }
    }
    return NULL;
}

/* Both or neither: without bytes of its own the program is a file of the input device. */
static void get_program(struct reader *rd, struct msg_job *m)
{
    bool here = get_bool(rd);
    uint32_t len = get_u32(rd);
    const uint8_t *at = NULL;

    if (rd->bad == NULL && (len > MSG_PROGRAM_MAX || (!here && len > 0))) {
        rd->bad = "the program is too long";
    }
    at = take(rd, rd->bad == NULL ? len : 0);
    if (rd->bad != NULL || !here) {
        return;
    }
    m->program_data = malloc((size_t)len + 1);
    if (m->program_data == NULL) {
        rd->bad = "there is no memory for it";
        return;
    }
    memcpy(m->program_data, at, len);
    m->program_len = len;
}

int msg_job_decode(const uint8_t *data, size_t len, struct msg_job *ret, struct err *err)
{
    on_scope_exit(msg_job_fini) struct msg_job m = {0};
    struct reader rd = {.in = {data, len}};
    size_t budget = MSG_STRINGS_BYTES;
    uint32_t version = get_u32(&rd);
    int r = 0;

    if (rd.bad == NULL && version != PROTO_VERSION) {
        return err_guest(err, "job message: protocol version %u, this side speaks %u", version,
                         PROTO_VERSION);
    }
    get_bytes(&rd, m.entropy, sizeof(m.entropy));
    m.realtime_ns = get_u64(&rd);
    get_bytes(&rd, m.machine_id, sizeof(m.machine_id));
    m.memory_bytes = get_u64(&rd);
    m.pids = get_u64(&rd);
    m.stdout_bytes = get_u64(&rd);
    m.stderr_bytes = get_u64(&rd);
    m.output_bytes = get_u64(&rd);
    m.output_files = get_u64(&rd);
    m.inodes = get_u64(&rd);
    m.output_depth = get_u32(&rd);
    m.has_stdin = get_bool(&rd);
    m.root = get_bool(&rd);
    m.input = get_bool(&rd);
    m.warm = get_bool(&rd);
    m.rehearsal = get_bool(&rd);
    get_string(&rd, m.program, sizeof(m.program));
    get_program(&rd, &m);
    get_strings(&rd, MSG_ARGS_MAX, &budget, &m.argv);
    get_strings(&rd, MSG_ENV_MAX, &budget, &m.envp);
    if (rd.bad == NULL) {
        rd.bad = job_problem(&m);
    }
    r = reader_end(&rd, "job", err);
    if (r < 0) {
        return r;
    }
    *ret = STEAL(&m, (struct msg_job){0});
    return 0;
}

int msg_ready_decode(const uint8_t *data, size_t len, struct msg_ready *ret, struct err *err)
{
    struct reader rd = {.in = {data, len}};
    struct msg_ready m = {0};
    int r = 0;

    m.version = get_u32(&rd);
    if (rd.bad == NULL && m.version != PROTO_VERSION) {
        return err_guest(err, "ready message: protocol version %u, this side speaks %u", m.version,
                         PROTO_VERSION);
    }
    m.memory_total_bytes = get_u64(&rd);
    m.boot_ns = get_u64(&rd);
    m.interpreter.waits = get_bool(&rd);
    m.interpreter.bytes = get_u64(&rd);
    get_string(&rd, m.interpreter.why_not, sizeof(m.interpreter.why_not));
    r = reader_end(&rd, "ready", err);
    if (r < 0) {
        return r;
    }
    *ret = m;
    return 0;
}

int msg_exit_decode(const uint8_t *data, size_t len, struct msg_exit *ret, struct err *err)
{
    struct reader rd = {.in = {data, len}};
    struct msg_exit m = {0};
    int r = 0;

    m.signaled = get_bool(&rd);
    m.code = get_u32(&rd);
    if (rd.bad == NULL && (m.signaled ? m.code < 1 || m.code > 64 : m.code > 255)) {
        rd.bad = "no such exit code or signal";
    }
    m.memory_peak_bytes = get_u64(&rd);
    m.cpu_usec = get_u64(&rd);
    m.pids_peak = get_u32(&rd);
    m.pids_refused = get_u32(&rd);
    m.oom_kills = get_u32(&rd);
    m.oom_killed_main = get_bool(&rd);
    m.stdout_bytes = get_u64(&rd);
    m.stderr_bytes = get_u64(&rd);
    m.scratch_bytes = get_u64(&rd);
    r = reader_end(&rd, "exit", err);
    if (r < 0) {
        return r;
    }
    *ret = m;
    return 0;
}

int msg_output_end_decode(const uint8_t *data, size_t len, struct msg_output_end *ret,
                          struct err *err)
{
    struct reader rd = {.in = {data, len}};
    struct msg_output_end m = {0};
    uint32_t status = get_u32(&rd);
    int r = 0;

    if (rd.bad == NULL && status > MSG_OUTPUT_ERROR) {
        rd.bad = "unknown status";
    }
    m.status = (enum msg_output_status)status;
    get_string(&rd, m.name, sizeof(m.name));
    r = reader_end(&rd, "output end", err);
    if (r < 0) {
        return r;
    }
    *ret = m;
    return 0;
}

int msg_failed_decode(const uint8_t *data, size_t len, struct msg_failed *ret, struct err *err)
{
    struct reader rd = {.in = {data, len}};
    struct msg_failed m = {0};
    int r = 0;

    get_string(&rd, m.phase, sizeof(m.phase));
    m.errnum = get_u32(&rd);
    get_string(&rd, m.text, sizeof(m.text));
    r = reader_end(&rd, "failed", err);
    if (r < 0) {
        return r;
    }
    *ret = m;
    return 0;
}

int msg_credit_decode(const uint8_t *data, size_t len, uint32_t *ret, struct err *err)
{
    struct reader rd = {.in = {data, len}};
    uint32_t bytes = get_u32(&rd);
    int r = reader_end(&rd, "credit", err);

    if (r < 0) {
        return r;
    }
    *ret = bytes;
    return 0;
}

void msg_job_fini(struct msg_job *m)
{
    free_strings(m->argv);
    free_strings(m->envp);
    free(m->program_data);
    m->argv = NULL;
    m->envp = NULL;
    m->program_data = NULL;
}
