#include "cli/suite-pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sup/pool.h"

int suite_pool_plan(const struct suite_run *run, const struct suite_case *const *cases, size_t n,
                    struct err *err)
{
    auto_free struct spec *models = calloc(n + 1, sizeof(*models));
    const struct spec *list[POOL_MEMBERS_MAX];
    size_t made = 0;
    int r = models != NULL ? 0 : err_set(err, ERR_HOST, ENOMEM, "out of memory");

    while (r == 0 && made < n && made < POOL_MEMBERS_MAX) {
        r = suite_job_model(run->setup, cases[made], &models[made], err);
        list[made] = &models[made];
        made += r == 0;
    }
    if (r == 0) {
        r = pool_plan(run->setup->pool, list, made, err);
    }
    for (size_t i = 0; i < made; i++) {
        spec_fini(&models[i]);
    }
    return r;
}

int suite_pool_ask(const struct suite_run *run, const struct suite_case *c, struct err *err)
{
    auto_spec struct spec model;
    int r = 0;

    spec_init(&model);
    r = suite_job_model(run->setup, c, &model, err);
    return r < 0 ? r : pool_outlook(run->setup->pool, &model) == POOL_COMING;
}
