/* SPDX-License-Identifier: Apache-2.0 */
#include "report_html_chart.h"

#include <inttypes.h>
#include <math.h>

#include "report_html_word.h"

/* User units, those of report_html_plot.c. */
enum { WIDTH = 460, LEFT = 46, RIGHT = 436, TOP = 10, FOOT = 130, HEIGHT = 166, TICKS = 4 };

/* Powers of two upwards; at most DECADES of them, so that one exact element does not flatten
 * the rest. */
enum { BINADES_MAX = 40 };
struct scale {
    int low, high; /* of log2 */
};

static void scale_take(struct scale *s, double x)
{
    if (!(x > 0) || isinf(x))
        return;
    int e = ilogb(x);
    s->low = e < s->low ? e : s->low;
    s->high = e + 1 > s->high ? e + 1 : s->high;
}

static bool scale_settle(struct scale *s)
{
    if (s->low > s->high)
        return false;
    if (s->high - s->low > BINADES_MAX)
        s->low = s->high - BINADES_MAX;
    if (s->high - s->low < 2)
        s->low = s->high - 2;
    return true;
}

static double scale_y(const struct scale *s, double x)
{
    if (!(x > 0))
        return FOOT;
    double part = (log2(x) - s->low) / (s->high - s->low);
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    return FOOT - (FOOT - TOP) * part;
}

static double point_x(int i, int n)
{
    return LEFT + (double)(RIGHT - LEFT) * i / n;
}

static void put_axes(FILE *out, const struct scale *s, const char *below)
{
    int step = (s->high - s->low + TICKS - 1) / TICKS;
    fprintf(out, "<path class=\"t\" d=\"M%d %dV%dH%d\"/>", LEFT, TOP, FOOT, RIGHT);
    for (int e = s->high; e >= s->low; e -= step) {
        double y = scale_y(s, ldexp(1, e));
        if (e > s->low)
            fprintf(out, "<path class=\"g\" d=\"M%d %.1fH%d\"/>", LEFT, y, RIGHT);
        fprintf(out, "<text class=\"y\" x=\"%d\" y=\"%.1f\">", LEFT - 5, y + 4);
        html_power(out, e);
        fputs("</text>", out);
    }
    fprintf(out, "<text x=\"%d\" y=\"%d\">%s</text>", (LEFT + RIGHT) / 2, HEIGHT - 4, below);
}

static void put_open(FILE *out, const char *label)
{
    fprintf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">", WIDTH, HEIGHT,
            label);
}

/* --- error against magnitude -----------------------------------------------------------------
 */

/* Flat over each band; a band without elements interrupts the line. */
static void put_band_line(FILE *out, const struct charts *c, const struct scale *s, int side,
                          bool worst)
{
    bool on = false;
    for (int k = 0; k < c->n_band; k++) {
        const struct charts_band *b = &c->band[side][k];
        if (!b->count) {
            on = false;
            continue;
        }
        double y = scale_y(s, worst ? b->worst : b->median);
        fprintf(out, on ? "V%.1f" : "M%.1f %.1f", on ? y : point_x(k, c->n_band), y);
        fprintf(out, "H%.1f", point_x(k + 1, c->n_band));
        on = true;
    }
}

static void put_band_areas(FILE *out, const struct charts *c, const struct scale *s)
{
    fputs("<path class=\"a\" d=\"", out);
    for (int k = 0; k < c->n_band; k++) {
        const struct charts_band *b = &c->band[0][k];
        if (!b->count)
            continue;
        double top = scale_y(s, b->worst), foot = scale_y(s, b->median);
        if (foot - top < 1)
            foot = top + 1;
        fprintf(out, "M%.1f %.1fH%.1fV%.1fH%.1fz", point_x(k, c->n_band), top,
                point_x(k + 1, c->n_band), foot, point_x(k, c->n_band));
    }
    fputs("\"/>", out);
}

static void put_band_bound(FILE *out, const struct charts *c, const struct scale *s)
{
    fputs("<path class=\"lim c\" d=\"", out);
    for (int k = 0; k < c->n_band; k++)
        if (c->bound[k] > 0)
            fprintf(out, "M%.1f %.1fH%.1f", point_x(k, c->n_band), scale_y(s, c->bound[k]),
                    point_x(k + 1, c->n_band));
    fputs("\"/>", out);
}

static void put_binades(FILE *out, const struct charts *c)
{
    int step = (c->n_band + TICKS - 1) / TICKS;
    for (int k = 0; k <= c->n_band; k += step) {
        double x = point_x(k, c->n_band);
        fprintf(out, "<path class=\"t\" d=\"M%.1f %dV%d\"/><text x=\"%.1f\" y=\"%d\">", x, FOOT,
                FOOT + 4, x, FOOT + 17);
        html_power(out, c->exponent + k * c->width);
        fputs("</text>", out);
    }
}

bool chart_magnitude(FILE *out, const struct charts *c, bool two)
{
    struct scale s = {1 << 20, -(1 << 20)};
    for (int side = 0; side < (two ? 2 : 1); side++)
        for (int k = 0; k < c->n_band; k++) {
            scale_take(&s, c->band[side][k].worst);
            scale_take(&s, c->band[side][k].median);
        }
    if (!scale_settle(&s))
        return false;
    for (int k = 0; k < c->n_band; k++)
        if (c->bound[k] > ldexp(1, s.low))
            scale_take(&s, c->bound[k]);
    scale_settle(&s);
    put_open(out, c->pair ? "Distance in ULP against magnitude, median to worst"
                          : "Error in ULP against the magnitude of the right answer, median to worst");
    put_axes(out, &s, c->pair ? "magnitude of the larger" : "magnitude of the right answer");
    put_band_areas(out, c, &s);
    for (int worst = 0; worst < 2 && two; worst++) {
        fputs("<path class=\"b\" d=\"", out);
        put_band_line(out, c, &s, 1, worst);
        fputs("\"/>", out);
    }
    put_band_bound(out, c, &s);
    put_binades(out, c);
    fputs("</svg>", out);
    return true;
}

/* --- from step to step -----------------------------------------------------------------------
 */

static void put_drift_line(FILE *out, const struct charts *c, const struct scale *s, int which)
{
    static const char *const class[] = {"a c", "b", "d"};
    fprintf(out, "<path class=\"%s\" d=\"", class[which]);
    for (int i = 0; i < c->points; i++)
        fprintf(out, "%c%.1f %.1f", i ? 'L' : 'M', point_x(2 * i + 1, 2 * c->points),
                scale_y(s, c->drift[which][i]));
    fputs("\"/>", out);
}

bool chart_drift(FILE *out, const struct charts *c, bool two)
{
    struct scale s = {1 << 20, -(1 << 20)};
    for (int which = 0; which < (two ? 3 : 1); which++)
        for (int i = 0; i < c->points; i++)
            scale_take(&s, c->drift[which][i]);
    if (!scale_settle(&s))
        return false;
    put_open(out, "How far each step is off the reference, and the sides from each other");
    put_axes(out, &s, "step");
    put_drift_line(out, c, &s, 0);
    for (int which = 1; which < 3 && two; which++)
        put_drift_line(out, c, &s, which);
    fprintf(out,
            "<text x=\"%d\" y=\"%d\">1</text><text x=\"%d\" y=\"%d\">%" PRId64 "</text></svg>",
            (int)point_x(1, 2 * c->points), FOOT + 17,
            (int)point_x(2 * c->points - 1, 2 * c->points), FOOT + 17, c->steps);
    return true;
}
