/* SPDX-License-Identifier: Apache-2.0 */
#include "casefile.h"

#include <string.h>

static const size_t data_limit = (size_t)1 << 34;

enum err casefile_data(const struct casefile *f, const struct yamlnode *n,
                       struct casefile_data *ret_data, struct errinfo *e)
{
    TRY(casefile_want(f, n, YAML_TEXT, "the path of a file", e));
    struct casefile_data d = {.path = strdup(n->text)};
    if (!d.path)
        return err_set(e, ERR_NOMEM, "out of memory");
    *ret_data = d;
    enum err err = casefile_load(f, n->text, data_limit, &ret_data->bytes, &ret_data->size, e);
    return err ? yamltree_context(&f->tree, n, e, err) : ERR_OK;
}
