/* SPDX-License-Identifier: Apache-2.0 */
#include "charts_band.h"

#include <math.h>
#include <stdlib.h>

#include "ulp.h"

/* Half binades of |error| in ULP from 2^BIN_LOW; the first bin takes what is below, 0 too. */
enum { BINS = 160, BIN_LOW = -30 };

enum { BINADE_LOW = -1074, BINADES = 1024 - BINADE_LOW };

/* Elements of one binade of the reference: as struct charts_band for each side, and where their
 * medians lie. */
struct binade {
    bool met;
    int64_t count[2];
    double worst[2], bound;
    int64_t bin[2][BINS];
};

struct binades {
    struct binade at[BINADES];
};

struct binades *binades_open(void)
{
    return calloc(1, sizeof(struct binades));
}

void binades_close(struct binades *n)
{
    free(n);
}

static int bin_of(double error)
{
    if (!(error > 0))
        return 0;
    double bin = 2 * (log2(error) - BIN_LOW);
    return bin < 1 ? 0 : bin > BINS - 1 ? BINS - 1 : (int)bin;
}

static double bin_middle(int bin)
{
    return bin ? exp2(0.5 * bin + 0.25 + BIN_LOW) : 0;
}

static void note(struct binade *x, int s, double error)
{
    x->count[s]++;
    x->worst[s] = fmax(x->worst[s], error);
    x->bin[s][bin_of(error)]++;
}

void binades_note(struct binades *n, double magnitude, double error)
{
    struct binade *x = &n->at[ilogb(magnitude) - BINADE_LOW];
    x->met = true;
    note(x, 0, error);
}

void binades_add(struct binades *n, const struct tensor *const side[2], const struct oracle *o,
                 int64_t i)
{
    enum dtype d = side[0]->dtype;
    if (!isfinite(o->value[i]) || o->value[i] == 0)
        return;
    struct binade *x = &n->at[ilogb(o->value[i]) - BINADE_LOW];
    double bound = o->bound[i] / ulp_size(d, o->value[i]);
    x->met = true;
    if (bound < INFINITY)
        x->bound = fmax(x->bound, bound);
    for (int s = 0; s < 2 && side[s]; s++) {
        uint64_t bits = tensor_bits(side[s], i);
        if (!dtype_is_finite(d, bits))
            continue;
        note(x, s, fabs(ulp_error(d, bits, o->value[i], o->tail[i])));
    }
}

static double band_median(const int64_t *bin, const struct charts_band *b)
{
    int64_t below = 0;
    for (int i = 0; i < BINS; i++) {
        below += bin[i];
        if (2 * below >= b->count)
            return fmin(bin_middle(i), b->worst);
    }
    return b->worst;
}

/* The band of side s that binades first <= i < last make. */
static struct charts_band band_make(const struct binades *n, int s, int first, int last)
{
    int64_t bin[BINS] = {0};
    struct charts_band b = {0};
    for (int i = first; i < last && i < BINADES; i++) {
        b.count += n->at[i].count[s];
        b.worst = fmax(b.worst, n->at[i].worst[s]);
        for (int k = 0; k < BINS; k++)
            bin[k] += n->at[i].bin[s][k];
    }
    b.median = b.count ? band_median(bin, &b) : 0;
    return b;
}

int binades_end(const struct binades *n, int *ret_exponent, int *ret_width,
                struct charts_band ret_band[2][CHARTS_BANDS], double ret_bound[CHARTS_BANDS])
{
    int low = 0, high = BINADES - 1;
    while (low < BINADES && !n->at[low].met)
        low++;
    if (low == BINADES)
        return 0;
    while (!n->at[high].met)
        high--;
    int width = (high - low) / CHARTS_BANDS + 1, bands = (high - low) / width + 1;
    for (int k = 0; k < bands; k++) {
        int first = low + k * width, last = first + width;
        for (int i = first; i < last && i < BINADES; i++)
            ret_bound[k] = fmax(ret_bound[k], n->at[i].bound);
        for (int s = 0; s < 2; s++)
            ret_band[s][k] = band_make(n, s, first, last);
    }
    *ret_exponent = low + BINADE_LOW;
    *ret_width = width;
    return bands;
}
