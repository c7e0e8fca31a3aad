#include "cli/cmd-records.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/str.h"

#include "cli/opt.h"
#include "image/store.h"
#include "sup/quarantine.h"
#include "sup/records.h"
#include "sys/fd.h"

#define OUT_MAX        (64 * MIB)
#define QUARANTINE_MAX 64
#define ID_SHOWN       12

struct records_options {
    bool json;
    const char *state;
};

static const struct opt read_opts[] = {
    OPT_FLAG("json", struct records_options, json, "print JSON instead of text, on one line"),
    OPT_VALUE("state", "DIR", struct records_options, state,
              "where images and the guest kernel are kept"),
};

static const struct opt release_opts[] = {
    OPT_VALUE("state", "DIR", struct records_options, state,
              "where images and the guest kernel are kept"),
};

static const struct opt_cmd list_cmd = {
    .name = "airlock records list",
    .usage = "[options]",
    .about =
        "Lists the records of finished jobs, newest first, and the slots that are kept out of\n"
        "use because a cleanup could not be verified.",
    .opts = read_opts,
    .n_opts = ARRAY_LEN(read_opts),
};

static const struct opt_cmd show_cmd = {
    .name = "airlock records show",
    .usage = "[options] ID",
    .about = "Prints one record as JSON. ID is the id of the job, or its beginning.",
    .opts = read_opts,
    .n_opts = ARRAY_LEN(read_opts),
};

static const struct opt_cmd release_cmd = {
    .name = "airlock records release",
    .usage = "[options] SLOT",
    .about = "Puts a slot back into use, after you removed what the list says is left of its job.",
    .opts = release_opts,
    .n_opts = ARRAY_LEN(release_opts),
};

static int no_memory(const struct opt_cmd *cmd)
{
    struct err err = ERR_INIT;

    (void)err_set(&err, ERR_HOST, ENOMEM, "out of memory");
    return opt_fail(cmd, &err);
}

static int print(const struct opt_cmd *cmd, const struct buf *out)
{
    struct err err = ERR_INIT;

    return fd_write_full(STDOUT_FILENO, out->data, out->len, &err) < 0 ? opt_fail(cmd, &err)
                                                                       : EXIT_SUCCESS;
}

/* The object, or NULL if the file is no record: it was cut by a power failure, or is not ours. */
static json_t *parse(const struct buf *text)
{
    json_error_t at;
    json_t *root = text->data != NULL ? json_loadb((const char *)text->data, text->len,
                                                   JSON_REJECT_DUPLICATES, &at)
                                      : NULL;

    if (root != NULL && json_integer_value(json_object_get(root, "record")) < 1) {
        json_decref(root);
        root = NULL;
    }
    return root;
}

static json_t *load(int store_fd, const char *id)
{
    auto_buf struct buf text = BUF_INIT(RECORD_JSON_MAX);
    struct err ignored = ERR_INIT;

    return records_load(store_fd, id, &text, &ignored) < 0 ? NULL : parse(&text);
}

/* One field for a person's eyes, whatever is in the file. */
static int put_field(struct buf *out, const json_t *object, const char *key, int width)
{
    const char *s = json_string_value(json_object_get(object, key));
    auto_buf struct buf shown = BUF_INIT(1024);
    size_t len = s != NULL ? strnlen(s, 64) : 0;

    if (str_escape(&shown, s != NULL ? s : "", len, false) < 0) {
        return -ENOMEM;
    }
    return buf_printf(out, "%-*s  ", width, shown.len > 0 ? (const char *)shown.data : "-");
}

static int put_row(struct buf *out, const struct records_item *item, const json_t *record)
{
    static const struct {
        const char *key;
        int width;
    } fields[] = {{"submitted", 27}, {"verdict", 17}, {"reason", 14}, {"state", 8}};

    int r = buf_printf(out, "%.*s  ", ID_SHOWN, item->id);

    if (record == NULL) {
        return r < 0 ? r : buf_printf(out, "damaged: not readable as a record\n");
    }
    for (size_t i = 0; i < ARRAY_LEN(fields) && r == 0; i++) {
        r = put_field(out, record, fields[i].key, fields[i].width);
    }
    if (r == 0) {
        const json_t *cleanup = json_object_get(record, "cleanup");

        r = buf_printf(out, "%s\n",
                       json_is_true(json_object_get(cleanup, "verified"))    ? "clean"
                       : json_is_false(json_object_get(cleanup, "verified")) ? "NOT VERIFIED"
                                                                             : "not looked at");
    }
    return r;
}

static int put_quarantine(struct buf *out, const struct quarantine_entry *q)
{
    auto_buf struct buf shown = BUF_INIT(4 * sizeof(q->text) + 1);
    const char *why = strchr(q->text, '\n');

    why = why != NULL ? why + 1 : q->text;
    if (str_escape(&shown, why, strcspn(why, "\n"), false) < 0) {
        return -ENOMEM;
    }
    return buf_printf(out,
                      "slot %u is kept out of use (%s); when nothing is left of it: "
                      "airlock records release %u\n",
                      q->number, shown.data != NULL ? (const char *)shown.data : "", q->number);
}

static int text_list(int store_fd, const struct records_item *items, size_t n,
                     const struct quarantine_entry *slots, size_t n_slots, struct buf *out)
{
    int r = n == 0 ? buf_printf(out, "no records\n") : 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        json_t *record = load(store_fd, items[i].id);

        r = put_row(out, &items[i], record);
        json_decref(record);
    }
    for (size_t i = 0; i < n_slots && r == 0; i++) {
        r = put_quarantine(out, &slots[i]);
    }
    return r;
}

static int to_buf(const char *data, size_t len, void *ctx)
{
    return buf_put(ctx, data, len);
}

static json_t *short_form(const struct records_item *item, const json_t *record)
{
    static const char *const keys[] = {"state",   "submitted", "written",
                                       "verdict", "reason",    "cleanup"};
    json_t *o = json_pack("{s:s,s:b}", "id", item->id, "readable", record != NULL);

    for (size_t i = 0; i < ARRAY_LEN(keys) && o != NULL; i++) {
        json_t *value = json_object_get(record, keys[i]);

        if (strcmp(keys[i], "cleanup") == 0) {
            value = json_object_get(value, "verified");
        }
        if (value != NULL) {
            (void)json_object_set(o, keys[i], value);
        }
    }
    return o;
}

static int json_list(int store_fd, const struct records_item *items, size_t n,
                     const struct quarantine_entry *slots, size_t n_slots, struct buf *out)
{
    json_t *records = json_array();
    json_t *kept = json_array();
    json_t *root = NULL;
    int r = records == NULL || kept == NULL ? -1 : 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        json_t *record = load(store_fd, items[i].id);

        r = json_array_append_new(records, short_form(&items[i], record));
        json_decref(record);
    }
    for (size_t i = 0; i < n_slots && r == 0; i++) {
        size_t len = strcspn(slots[i].text, "\n");
        auto_buf struct buf shown = BUF_INIT(4 * sizeof(slots[i].text) + 1);

        r = str_escape(&shown, slots[i].text, strlen(slots[i].text), true);
        if (r == 0 && shown.data != NULL) {
            len = strcspn((const char *)shown.data, "\n");
            r = json_array_append_new(
                kept, json_pack("{s:i,s:s%,s:s}", "slot", (int)slots[i].number, "id",
                                (const char *)shown.data, len, "why",
                                (const char *)shown.data + len + (shown.data[len] != '\0')));
        }
    }
    root = r == 0 ? json_pack("{s:O,s:O}", "records", records, "quarantine", kept) : NULL;
    r = root != NULL ? json_dump_callback(root, to_buf, out, JSON_COMPACT | JSON_ENSURE_ASCII) : -1;
    json_decref(root);
    json_decref(records);
    json_decref(kept);
    return r < 0 ? r : buf_put(out, "\n", 1);
}

static int run_list(int argc, char **argv)
{
    struct records_options options = {0};
    struct quarantine_entry slots[QUARANTINE_MAX];
    struct opt_rest rest = {0};
    auto_store struct store store = STORE_INIT;
    auto_free struct records_item *items = NULL;
    auto_buf struct buf out = BUF_INIT(OUT_MAX);
    struct err err = ERR_INIT;
    size_t n = 0;
    size_t n_slots = 0;
    int code = 0;

    if (!opt_start(&list_cmd, argc, argv, &options, &rest, &code)) {
        return code;
    }
    if (rest.n > 0) {
        return opt_mistake(&list_cmd, "unexpected argument '%.64s'", rest.operands[0]);
    }
    if (store_open(options.state, &store, &err) < 0 ||
        records_list(store.dirfd, &items, &n, &err) < 0 ||
        quarantine_list(store.dirfd, slots, QUARANTINE_MAX, &n_slots, &err) < 0) {
        return opt_fail(&list_cmd, &err);
    }
    if ((options.json ? json_list : text_list)(store.dirfd, items, n, slots, n_slots, &out) < 0) {
        return no_memory(&list_cmd);
    }
    return print(&list_cmd, &out);
}

static int run_show(int argc, char **argv)
{
    struct records_options options = {0};
    struct opt_rest rest = {0};
    auto_store struct store store = STORE_INIT;
    auto_buf struct buf text = BUF_INIT(RECORD_JSON_MAX);
    auto_buf struct buf out = BUF_INIT(OUT_MAX);
    struct err err = ERR_INIT;
    char id[RECORDS_ID_SIZE];
    json_t *record = NULL;
    int code = 0;

    if (!opt_start(&show_cmd, argc, argv, &options, &rest, &code)) {
        return code;
    }
    if (rest.n != 1) {
        return opt_mistake(&show_cmd, "give one id, or the beginning of one");
    }
    if (store_open(options.state, &store, &err) < 0 ||
        records_read(store.dirfd, rest.operands[0], id, &text, &err) < 0) {
        return opt_fail(&show_cmd, &err);
    }
    record = parse(&text);
    if (record == NULL) {
        (void)err_set(&err, ERR_HOST, EBADMSG, "record %s is damaged", id);
        return opt_fail(&show_cmd, &err);
    }
    /* Everything outside ASCII as \uXXXX: nothing in the file can steer a terminal. */
    code = json_dump_callback(record, to_buf, &out,
                              JSON_ENSURE_ASCII | (options.json ? JSON_COMPACT : JSON_INDENT(2)));
    json_decref(record);
    return code < 0 || buf_put(&out, "\n", 1) < 0 ? no_memory(&show_cmd) : print(&show_cmd, &out);
}

static int run_release(int argc, char **argv)
{
    struct records_options options = {0};
    struct opt_rest rest = {0};
    auto_store struct store store = STORE_INIT;
    struct err err = ERR_INIT;
    uint64_t number = 0;
    int code = 0;

    if (!opt_start(&release_cmd, argc, argv, &options, &rest, &code)) {
        return code;
    }
    if (rest.n != 1 || num_parse_u64(rest.operands[0], &number) < 0 || number >= LEDGER_NUMBERS) {
        return opt_mistake(&release_cmd, "give the number of one slot, 0 to %d",
                           LEDGER_NUMBERS - 1);
    }
    if (store_open(options.state, &store, &err) < 0 ||
        quarantine_release(store.dirfd, (unsigned int)number, &err) < 0) {
        return opt_fail(&release_cmd, &err);
    }
    return EXIT_SUCCESS;
}

static const struct opt_sub subs[] = {
    {"list", "list the records, and slots kept out of use", run_list},
    {"show", "print one record", run_show},
    {"release", "put a slot back into use", run_release},
};

int cmd_records(int argc, char **argv)
{
    return opt_dispatch("airlock records",
                        "Shows what is on record of finished jobs: verdicts, times, peaks, digests "
                        "and the proof\nof the cleanup, without any data of the programs.",
                        subs, ARRAY_LEN(subs), argc, argv);
}
