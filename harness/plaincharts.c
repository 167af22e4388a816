/* SPDX-License-Identifier: Apache-2.0 */
#include "plaincharts.h"

#include <stdlib.h>
#include <string.h>

enum err plaincharts_make(const struct plainseen *s, struct errinfo *e)
{
    const struct gap_sample *m = s->sample;
    struct tensor shape = {.dtype = s->d, .rank = s->rank, .count = s->count};
    struct charting *k;
    memcpy(shape.dim, s->dim, sizeof shape.dim);
    TRY(charts_begin(&shape, false, &k, e));
    for (int64_t i = 0; i < m->window * m->windows; i++) {
        int64_t in_pass = gap_sample_start(m, i / m->window) + i % m->window;
        charts_add_pair(k, plainseen_index(s, in_pass), gap_sample_bits(m, 0, i),
                        gap_sample_bits(m, 1, i));
    }
    s->o->charts = malloc(sizeof *s->o->charts);
    if (s->o->charts)
        charts_end(k, s->o->charts);
    charts_close(k);
    return s->o->charts ? ERR_OK : err_set(e, ERR_NOMEM, "no memory for the plots");
}
