#include "cli/bench-work.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "sys/fd.h"

#define GROUPS    17u
#define SCORE_MAX 1000u
#define KEPT_FROM 500u /* records of this score and more are kept */

static const char hello_py[] = "print('hello')\n";
static const char hello_js[] = "console.log('hello');\n";

static const char json_py[] = "import json\n"
                              "import sys\n"
                              "\n"
                              "with open(sys.argv[1], encoding='utf-8') as f:\n"
                              "    records = json.load(f)\n"
                              "kept = [r for r in records if r['score'] >= 500]\n"
                              "groups = {}\n"
                              "for r in kept:\n"
                              "    groups[r['group']] = groups.get(r['group'], 0) + r['score']\n"
                              "kept.sort(key=lambda r: (-r['score'], r['id']))\n"
                              "with open(sys.argv[2], 'w', encoding='utf-8') as f:\n"
                              "    json.dump({'groups': groups, 'records': kept}, f)\n"
                              "print('kept', len(kept), 'total', sum(groups.values()))\n";

static const char json_js[] =
    "'use strict';\n"
    "const fs = require('fs');\n"
    "\n"
    "const records = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));\n"
    "const kept = records.filter((r) => r.score >= 500);\n"
    "const groups = {};\n"
    "for (const r of kept) {\n"
    "  groups[r.group] = (groups[r.group] || 0) + r.score;\n"
    "}\n"
    "kept.sort((a, b) => b.score - a.score || a.id - b.id);\n"
    "fs.writeFileSync(process.argv[3], JSON.stringify({groups, records: kept}));\n"
    "console.log('kept', kept.length, 'total',\n"
    "  Object.values(groups).reduce((sum, n) => sum + n, 0));\n";

static const char csv_py[] =
    "import csv\n"
    "import sys\n"
    "\n"
    "with open(sys.argv[1], newline='', encoding='utf-8') as f:\n"
    "    records = list(csv.DictReader(f))\n"
    "kept = [r for r in records if int(r['score']) >= 500]\n"
    "groups = {}\n"
    "for r in kept:\n"
    "    groups[r['group']] = groups.get(r['group'], 0) + int(r['score'])\n"
    "kept.sort(key=lambda r: (-int(r['score']), int(r['id'])))\n"
    "with open(sys.argv[2], 'w', newline='', encoding='utf-8') as f:\n"
    "    out = csv.writer(f)\n"
    "    out.writerow(['id', 'name', 'group', 'score', 'share'])\n"
    "    for r in kept:\n"
    "        share = int(r['score']) / groups[r['group']]\n"
    "        out.writerow([r['id'], r['name'], r['group'], r['score'], f'{share:.4f}'])\n"
    "print('kept', len(kept), 'total', sum(groups.values()))\n";

static const char csv_js[] =
    "'use strict';\n"
    "const fs = require('fs');\n"
    "\n"
    "function fields(line) {\n"
    "  const found = [];\n"
    "  let at = 0;\n"
    "  while (at <= line.length) {\n"
    "    if (line[at] === '\"') {\n"
    "      const end = line.indexOf('\"', at + 1);\n"
    "      found.push(line.slice(at + 1, end));\n"
    "      at = end + 2;\n"
    "    } else {\n"
    "      const comma = line.indexOf(',', at);\n"
    "      const end = comma < 0 ? line.length : comma;\n"
    "      found.push(line.slice(at, end));\n"
    "      at = end + 1;\n"
    "    }\n"
    "  }\n"
    "  return found;\n"
    "}\n"
    "\n"
    "const lines = fs.readFileSync(process.argv[2], 'utf8').split('\\n').slice(1, -1);\n"
    "const records = lines.map((line) => {\n"
    "  const [id, name, group, score] = fields(line);\n"
    "  return {id: Number(id), name, group, score: Number(score)};\n"
    "});\n"
    "const kept = records.filter((r) => r.score >= 500);\n"
    "const groups = {};\n"
    "for (const r of kept) {\n"
    "  groups[r.group] = (groups[r.group] || 0) + r.score;\n"
    "}\n"
    "kept.sort((a, b) => b.score - a.score || a.id - b.id);\n"
    "const out = ['id,name,group,score,share'];\n"
    "for (const r of kept) {\n"
    "  const share = (r.score / groups[r.group]).toFixed(4);\n"
    "  out.push(`${r.id},\"${r.name}\",${r.group},${r.score},${share}`);\n"
    "}\n"
    "fs.writeFileSync(process.argv[3], out.join('\\n') + '\\n');\n"
    "console.log('kept', kept.length, 'total',\n"
    "  Object.values(groups).reduce((sum, n) => sum + n, 0));\n";

static const struct {
    const char *name, *input;
    const char *program[2], *file[2]; /* Python, JavaScript */
} works[BENCH_WORKS] = {
    [BENCH_HELLO] = {"hello", NULL, {hello_py, hello_js}, {"hello.py", "hello.js"}},
    [BENCH_JSON] = {"json",
                    "data.json",
                    {json_py, json_js},
                    {"json-transform.py", "json-transform.js"}},
    [BENCH_CSV] = {"csv", "data.csv", {csv_py, csv_js}, {"csv-transform.py", "csv-transform.js"}},
};

const char *bench_work_name(enum bench_work work)
{
    return works[work].name;
}

const char *bench_program(enum bench_work work, enum spec_language language)
{
    return works[work].program[language == SPEC_JAVASCRIPT];
}

const char *bench_program_name(enum bench_work work, enum spec_language language)
{
    return works[work].file[language == SPEC_JAVASCRIPT];
}

const char *bench_input_name(enum bench_work work)
{
    return works[work].input;
}

struct record {
    unsigned int id, group, score;
};

static struct record record_at(unsigned int n)
{
    return (struct record){.id = n, .group = n % GROUPS, .score = n * 7919 % SCORE_MAX};
}

static int put_record(enum bench_work work, const struct record *r, struct buf *out)
{
    if (work == BENCH_CSV) {
        return buf_printf(out, "%u,\"Doe, Kim %06u\",g%u,%u\n", r->id, r->id, r->group, r->score);
    }
    return buf_printf(out,
                      "%s{\"id\": %u, \"name\": \"Doe, Kim %06u\", \"group\": \"g%u\", "
                      "\"score\": %u, \"tags\": [\"a\", \"b%u\"], \"active\": %s}",
                      r->id > 0 ? ",\n" : "", r->id, r->id, r->group, r->score, r->score % 7,
                      r->score % 2 == 0 ? "true" : "false");
}

int bench_input(enum bench_work work, struct buf *input, struct buf *line)
{
    uint64_t total = 0;
    unsigned int kept = 0;
    int r = 0;

    if (work == BENCH_HELLO) {
        return buf_printf(line, "hello\n");
    }
    r = buf_printf(input, "%s", work == BENCH_CSV ? "id,name,group,score\n" : "[");
    for (unsigned int n = 0; r == 0 && input->len < BENCH_INPUT_BYTES; n++) {
        const struct record record = record_at(n);

        r = put_record(work, &record, input);
        if (record.score >= KEPT_FROM) {
            total += record.score;
            kept++;
        }
    }
    if (r == 0 && work == BENCH_JSON) {
        r = buf_printf(input, "]\n");
    }
    return r < 0 ? r : buf_printf(line, "kept %u total %" PRIu64 "\n", kept, total);
}

static int write_file(int dirfd, const char *name, const void *data, size_t len, struct err *err)
{
    auto_fd int fd = -1;
    int r = fd_open(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0644, &fd, err);

    return r < 0 ? r : fd_write_full(fd, data, len, err);
}

int bench_write_all(int dirfd, struct err *err)
{
    static const enum spec_language languages[] = {SPEC_PYTHON, SPEC_JAVASCRIPT};

    int r = 0;

    for (enum bench_work work = 0; work < BENCH_WORKS && r == 0; work++) {
        auto_buf struct buf input = BUF_INIT(2 * MIB);
        auto_buf struct buf line = BUF_INIT(256);

        if (bench_input(work, &input, &line) < 0) {
            return err_set(err, ERR_HOST, ENOMEM, "out of memory for the input");
        }
        if (works[work].input != NULL) {
            r = write_file(dirfd, works[work].input, input.data, input.len, err);
        }
        for (size_t i = 0; i < ARRAY_LEN(languages) && r == 0; i++) {
            const char *text = bench_program(work, languages[i]);

            r = write_file(dirfd, bench_program_name(work, languages[i]), text, strlen(text), err);
        }
    }
    return r;
}
