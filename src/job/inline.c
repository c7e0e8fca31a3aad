#include "job/inline.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"

#include "job/input-file.h"
#include "job/text.h"
#include "sys/fd.h"

/* What is left of a limit, and the option that raises it. */
struct budget {
    uint64_t left;
    const char *option;
};

static int over(const struct budget *budget, const char *what, struct err *err)
{
    return err_usage(err, "%s: more than the %" PRIu64 " bytes that --%s leaves; raise it", what,
                     budget->left, budget->option);
}

/* At most what the budget leaves. *ret is never NULL afterwards: empty content is content. */
static int read_bytes(int fd, const char *what, struct budget *budget, uint8_t **ret,
                      size_t *ret_len, struct err *err)
{
    auto_buf struct buf data = BUF_INIT(budget->left);
    int r = fd_read_all(fd, what, &data, err);

    if (r == -EFBIG) {
        *err = (struct err)ERR_INIT;
        return over(budget, what, err);
    }
    if (r == 0 && data.data == NULL) {
        data.data = calloc(1, 1);
    }
    if (r == 0 && data.data == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    if (r == 0) {
        budget->left -= data.len;
        *ret_len = data.len;
        *ret = STEAL_PTR(&data.data);
    }
    return r;
}

static int read_path(char **path, struct budget *budget, uint8_t **ret, size_t *ret_len,
                     struct err *err)
{
    auto_fd int fd = -1;
    struct text name = text_of_str(*path);
    struct stat before;
    int r = input_open(*path, &before, &fd, err);

    if (r == 0 && (uint64_t)before.st_size > budget->left) {
        r = over(budget, name.s, err);
    }
    if (r == 0) {
        r = read_bytes(fd, name.s, budget, ret, ret_len, err);
    }
    if (r == 0) {
        r = input_unchanged(fd, &before, *path, err);
    }
    if (r == 0) {
        free(STEAL_PTR(path));
    }
    return r;
}

static int inline_inputs(struct spec *spec, struct err *err)
{
    struct budget budget = {spec->limits.input_bytes, "in-bytes"};
    int r = 0;

    if (spec->program_path != NULL) {
        r = read_path(&spec->program_path, &budget, &spec->program_data, &spec->program_len, err);
        r = r < 0 ? err_wrap(err, "program") : 0;
    }
    for (size_t i = 0; i < spec->n_inputs && r == 0; i++) {
        struct spec_input *in = &spec->inputs[i];

        if (in->path != NULL) {
            r = read_path(&in->path, &budget, &in->data, &in->data_len, err);
            r = r < 0 ? err_wrap(err, "--in") : 0;
        }
    }
    return r;
}

/* Packed, it is rarely larger than what it holds: the same limit bounds it. */
static int inline_archive(struct spec *spec, struct err *err)
{
    struct budget budget = {spec->limits.input_bytes, "in-bytes"};
    int r = 0;

    if (spec->archive_path != NULL) {
        r = read_path(&spec->archive_path, &budget, &spec->archive_data, &spec->archive_len, err);
    }
    return r < 0 ? err_wrap(err, "--in-archive") : 0;
}

static int inline_stdin(struct spec *spec, struct err *err)
{
    struct budget budget = {spec->limits.stdin_bytes, "stdin-bytes"};
    int r = 0;

    if (spec->stdin_fd >= 0) {
        r = read_bytes(spec->stdin_fd, "standard input", &budget, &spec->stdin_data,
                       &spec->stdin_len, err);
        fd_close_p(&spec->stdin_fd);
    } else if (spec->stdin_path != NULL) {
        r = read_path(&spec->stdin_path, &budget, &spec->stdin_data, &spec->stdin_len, err);
    }
    return r < 0 ? err_wrap(err, "--stdin") : 0;
}

int spec_inline(struct spec *spec, struct err *err)
{
    int r = inline_inputs(spec, err);

    if (r == 0) {
        r = inline_archive(spec, err);
    }
    return r == 0 ? inline_stdin(spec, err) : r;
}
