/* SPDX-License-Identifier: Apache-2.0 */
#include "report_html_plot.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "quote.h"
#include "report_html_word.h"
#include "ulp.h"

/* User units. */
enum {
    WIDTH = 460,
    LEFT = 40,
    RIGHT = 436,
    TOP = 10,
    MIDDLE = 120, /* foot of the upper panel */
    LOWER = 136,  /* top of the lower one */
    FOOT = 206,
    HEIGHT = 240,
    SMALLEST = 3, /* height of a bar, so that a single wrong element is seen */
    TICKS = 4     /* labelled a side, at most */
};

enum { EXPONENT_OF_BIN = -34, SLOTS_MAX = 2 * STATS_HIST + 1 };

/* Slots from left to right: negative magnitudes 2^high .. 2^low, the middle one for zero and
 * everything below 2^low, positive 2^low .. 2^high. */
struct axis {
    int low, high; /* exponents of the smallest and largest slot */
    int slots;
};

static uint64_t bin_total(const struct distribution *a, const struct distribution *b, int bin)
{
    return a->hist[bin] + (b ? b->hist[bin] : 0);
}

/* Leaves out the smallest magnitudes as long as they are fewer than 1 in 200 together. */
static struct axis axis_make(const struct distribution *a, const struct distribution *b)
{
    int high = 1, low = 1;
    uint64_t total = 0, below = 0;
    for (int i = 1; i < STATS_HIST; i++) {
        total += bin_total(a, b, i);
        if (bin_total(a, b, i))
            high = i;
    }
    while (low < high && (below + bin_total(a, b, low)) * 200 <= total)
        below += bin_total(a, b, low++);
    if (high - low < 3)
        low = high > 3 ? high - 3 : 1;
    return (struct axis){low + EXPONENT_OF_BIN, high + EXPONENT_OF_BIN,
                         2 * (high - low + 1) + 1};
}

/* A damaged distribution may claim more negative values than values. */
static void slots_fill(const struct axis *x, const struct distribution *d,
                       double ret_share[SLOTS_MAX])
{
    int middle = x->slots / 2;
    double total = 0;
    for (int i = 0; i < x->slots; i++)
        ret_share[i] = 0;
    for (int bin = 0; bin < STATS_HIST; bin++) {
        if (!d->hist[bin]) /* above the axis all are empty */
            continue;
        uint64_t negative =
            d->hist_negative[bin] < d->hist[bin] ? d->hist_negative[bin] : d->hist[bin];
        int away = bin ? bin + EXPONENT_OF_BIN - x->low + 1 : 0;
        if (away < 0)
            away = 0;
        ret_share[middle - away] += (double)negative;
        ret_share[middle + away] += (double)(d->hist[bin] - negative);
        total += (double)d->hist[bin];
    }
    for (int i = 0; i < x->slots && total > 0; i++)
        ret_share[i] /= total;
}

static double slot_x(const struct axis *x, int slot)
{
    return LEFT + (double)(RIGHT - LEFT) * slot / x->slots;
}

static void put_steps(FILE *out, const struct axis *x, const double *share, double largest,
                      const char *class)
{
    double before = 0;
    fprintf(out, "<path class=\"%s\" d=\"M%d %d", class, LEFT, MIDDLE);
    for (int i = 0; i < x->slots; i++) {
        if (share[i] == before)
            continue;
        fprintf(out, "H%.1fV%.1f", slot_x(x, i), MIDDLE - (MIDDLE - TOP) * share[i] / largest);
        before = share[i];
    }
    fprintf(out, "H%dV%d\"/>", RIGHT, MIDDLE);
}

static void put_cumulated(FILE *out, const struct axis *x, const double *share,
                          const char *class)
{
    double sum = 0;
    fprintf(out, "<path class=\"%s c\" d=\"M%d %d", class, LEFT, FOOT);
    for (int i = 0; i < x->slots; i++) {
        bool flat = share[i] == 0 && i + 1 < x->slots && share[i + 1] == 0;
        sum += share[i];
        if (!flat)
            fprintf(out, "L%.1f %.1f", slot_x(x, i + 1), FOOT - (FOOT - LOWER) * sum);
    }
    fputs("\"/>", out);
}

static void put_tick(FILE *out, const struct axis *x, int exponent, bool negative)
{
    int middle = x->slots / 2, away = exponent - x->low;
    double at = slot_x(x, negative ? middle - away : middle + 1 + away);
    fprintf(out, "<path class=\"t\" d=\"M%.1f %dV%d\"/><text x=\"%.1f\" y=\"%d\">%s", at, FOOT,
            FOOT + 4, at, FOOT + 15, negative ? "\u2212" : "");
    html_power(out, exponent);
    fputs("</text>", out);
}

/* Edges of slots: one every `step` exponents, the smallest left out where it would meet the 0.
 */
static void put_ticks(FILE *out, const struct axis *x)
{
    int span = x->high + 1 - x->low, step = (span + TICKS - 1) / TICKS;
    for (int e = x->high + 1; e >= x->low + (step > 1 || span > 8 ? 1 : 0); e -= step) {
        put_tick(out, x, e, true);
        put_tick(out, x, e, false);
    }
    fprintf(out, "<text x=\"%d\" y=\"%d\">0</text>", (LEFT + RIGHT) / 2, FOOT + 15);
    fprintf(out, "<text x=\"%d\" y=\"%d\">signed error in ULP</text>", (LEFT + RIGHT) / 2,
            HEIGHT - 4);
}

static void put_frame(FILE *out, double largest)
{
    fprintf(out,
            "<path class=\"t\" d=\"M%d %dV%dH%dM%d %dV%dH%d\"/>"
            "<path class=\"g\" d=\"M%d %dV%dM%d %dH%d\"/>"
            "<text class=\"y\" x=\"%d\" y=\"%d\">%.*f%%</text>"
            "<text class=\"y\" x=\"%d\" y=\"%d\">0</text>"
            "<text class=\"y\" x=\"%d\" y=\"%d\">100%%</text>"
            "<text class=\"y\" x=\"%d\" y=\"%d\">0</text>",
            LEFT, TOP, MIDDLE, RIGHT, LEFT, LOWER, FOOT, RIGHT, (LEFT + RIGHT) / 2, TOP, FOOT,
            LEFT, (LOWER + FOOT) / 2, RIGHT, LEFT - 4, TOP + 4, largest < 0.1 ? 1 : 0,
            100 * largest, LEFT - 4, MIDDLE, LEFT - 4, LOWER + 6, LEFT - 4, FOOT);
}

void plot_errors(FILE *out, const struct distribution *a, const struct distribution *b)
{
    double share_a[SLOTS_MAX], share_b[SLOTS_MAX], largest = 0;
    struct axis x = axis_make(a, b);
    slots_fill(&x, a, share_a);
    if (b)
        slots_fill(&x, b, share_b);
    for (int i = 0; i < x.slots; i++)
        largest = fmax(largest, b ? fmax(share_a[i], share_b[i]) : share_a[i]);
    if (largest == 0)
        return;
    fprintf(out,
            "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Share of elements by signed "
            "error in ULP, and cumulated; the numbers are in the table beside\">",
            WIDTH, HEIGHT);
    put_frame(out, largest);
    put_steps(out, &x, share_a, largest, "a");
    put_cumulated(out, &x, share_a, "a");
    if (b) {
        put_steps(out, &x, share_b, largest, "b");
        put_cumulated(out, &x, share_b, "b");
    }
    put_ticks(out, &x);
    fputs("</svg>", out);
}

enum { BAR_FULL = 350, BAR_STEP = 26, BAR_TOP = 6 }; /* BAR_FULL: x of "all of the bound" */

static double bound_x(double used)
{
    double x = LEFT + (BAR_FULL - LEFT) * used;
    return x < RIGHT ? x : RIGHT;
}

static void put_bar(FILE *out, const struct distribution *d, char side, int y)
{
    double worst = fmax(fabs(d->minimum), fabs(d->maximum));
    char text[QUOTE_NUMBER_MAX];
    quote_human(text, worst < ULP_ERROR_MAX ? worst : INFINITY);
    double end = worst >= 0 ? bound_x(worst) : LEFT;
    fprintf(out,
            "<text class=\"y\" x=\"%d\" y=\"%d\">%c</text>"
            "<path class=\"%c\" d=\"M%d %dH%.1fv12H%dz\"/>",
            LEFT - 6, y + 11, side, side + 'a' - 'A', LEFT, y, end, LEFT);
    for (int i = 0; i < STATS_QUANTILES - 1; i++)
        if (d->quantile[i] > 0 && bound_x(d->quantile[i]) < RIGHT)
            fprintf(out, "<path class=\"q\" d=\"M%.1f %dv12\"/>", bound_x(d->quantile[i]), y);
    /* Beside the bar and its marks; right of the limit where that is near; inside if it is full. */
    bool full = end > 380;
    double at = full ? end - 4 : end > 290 && end < BAR_FULL + 6 ? BAR_FULL + 6 : end + 4;
    fprintf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%d\">%s%s</text>", full ? "y" : "l", at,
            y + 10, text, worst > 1 && end >= RIGHT ? " \u25b6" : "");
}

void plot_bounds(FILE *out, const struct distribution *a, const struct distribution *b)
{
    int foot = BAR_TOP + BAR_STEP * (b ? 2 : 1);
    fprintf(
        out,
        "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Largest error in units of the "
        "bound\">",
        WIDTH, foot + 30);
    put_bar(out, a, 'A', BAR_TOP);
    if (b)
        put_bar(out, b, 'B', BAR_TOP + BAR_STEP);
    fprintf(out,
            "<path class=\"t\" d=\"M%d %dV%dH%d\"/><path class=\"lim\" d=\"M%d 0V%d\"/>"
            "<text x=\"%d\" y=\"%d\">0</text><text x=\"%d\" y=\"%d\">1 = the bound</text>"
            "<text x=\"%d\" y=\"%d\">error / bound</text></svg>",
            LEFT, BAR_TOP - 4, foot, RIGHT, BAR_FULL, foot + 4, LEFT, foot + 15, BAR_FULL,
            foot + 15, (LEFT + BAR_FULL) / 2, foot + 15);
}
