/* SPDX-License-Identifier: Apache-2.0 */
#include "casefile.h"

#include <string.h>

#include "npyhead.h"
#include "text.h"

static const size_t data_limit = (size_t)1 << 34;

static enum err npy_read(struct casefile_data *d, struct errinfo *e)
{
    struct npyhead h;
    enum err err = npyhead_parse(d->bytes, d->size, &h, e);
    if (err)
        return err_context(e, err, "%.200s", d->path);
    if (h.other[0])
        return err_set(e, ERR_FORMAT, "%.200s: its elements (%s) are no numbers of a format here",
                       d->path, h.other);
    if (h.swap || h.fortran)
        return err_set(e, ERR_FORMAT, "%.200s is %s: store it with numpy.ascontiguousarray and in "
                       "little-endian order", d->path, h.swap ? "big-endian" : "in Fortran's order");
    if (d->size - h.size != (size_t)h.count * (size_t)dtype_info(h.dtype)->bytes)
        return err_set(e, ERR_FORMAT, "%.200s: its head promises %lld elements, %zu bytes are there",
                       d->path, (long long)h.count, d->size - h.size);
    d->described = true;
    d->start = h.size;
    d->dtype = h.dtype;
    d->rank = h.rank;
    memcpy(d->dim, h.dim, sizeof d->dim);
    return ERR_OK;
}

enum err casefile_data(const struct casefile *f, const struct yamlnode *n,
                       struct casefile_data *ret_data, struct errinfo *e)
{
    TRY(casefile_want(f, n, YAML_TEXT, "the path of a file", e));
    struct casefile_data d = {.path = strdup(n->text)};
    if (!d.path)
        return err_set(e, ERR_NOMEM, "out of memory");
    *ret_data = d; /* released with the file from here on */
    enum err err = casefile_load(f, n->text, data_limit, &ret_data->bytes, &ret_data->size, e);
    if (!err && text_ends(n->text, ".npy"))
        err = npy_read(ret_data, e);
    return err ? yamltree_context(&f->tree, n, e, err) : ERR_OK;
}
