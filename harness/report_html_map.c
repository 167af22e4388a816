/* SPDX-License-Identifier: Apache-2.0 */
#include "report_html_map.h"

#include <float.h>
#include <inttypes.h>
#include <stdlib.h>

#include "report_html_word.h"

enum { LEVELS = 6 }; /* 0: nothing drawn */

static int run_length(const unsigned char *level, int columns, int from)
{
    int n = 1;
    while (from + n < columns && level[from + n] == level[from])
        n++;
    return n;
}

/* The cells of one level as one path, a run of them a rectangle. */
static void put_level(FILE *out, int rows, int columns, const unsigned char *level, int l)
{
    bool any = false;
    for (int r = 0; r < rows; r++)
        for (int c = 0, n; c < columns; c += n) {
            n = run_length(level + r * columns, columns, c);
            if (level[r * columns + c] != l)
                continue;
            if (!any)
                fprintf(out, "<path class=\"m%d\" d=\"", l);
            fprintf(out, "M%d %dh%dv1h-%dz", c, r, n, n);
            any = true;
        }
    fputs(any ? "\"/>" : "", out);
}

static void put_levels(FILE *out, int rows, int columns, const unsigned char *level)
{
    for (int l = 1; l <= LEVELS; l++)
        put_level(out, rows, columns, level, l);
}

/* --- where -----------------------------------------------------------------------------------
 */

enum { MAP_WIDTH = 220, MAP_LOWEST = 44 };

static unsigned char level_used(float used)
{
    static const float limit[] = {0.125f, 0.5f, 1, 16, FLT_MAX};
    unsigned char l = 1;
    if (!(used >= 0))
        return 0;
    while (l < LEVELS && used > limit[l - 1])
        l++;
    return l;
}

/* Of |B - A| in ULP. */
static unsigned char level_ulp(float far)
{
    static const float limit[] = {1, 4, 64, 65536, FLT_MAX};
    unsigned char l = 1;
    if (!(far > 0))
        return 0;
    while (l < LEVELS && far > limit[l - 1])
        l++;
    return l;
}

static unsigned char level_share(float share)
{
    return share <= 0 ? 0 : share <= 0.25f ? 1 : share <= 0.75f ? 2 : 3;
}

static void put_map(FILE *out, const struct charts *c, const char *title,
                    const float cell[CHARTS_ROWS][CHARTS_COLUMNS],
                    unsigned char (*level_of)(float))
{
    unsigned char level[CHARTS_ROWS * CHARTS_COLUMNS];
    for (int r = 0; r < c->rows; r++)
        for (int k = 0; k < c->columns; k++)
            level[r * c->columns + k] = level_of(cell[r][k]);
    double height = MAP_WIDTH * (double)c->lines / (double)c->line;
    height = height < MAP_LOWEST ? MAP_LOWEST : height > MAP_WIDTH ? MAP_WIDTH : height;
    fprintf(out,
            "<div class=\"map\"><b>%s</b><svg viewBox=\"0 0 %d %.0f\" role=\"img\" "
            "aria-label=\"Map of the output, %s\"><g transform=\"scale(%.5g %.5g)\">",
            title, MAP_WIDTH, height, title, (double)MAP_WIDTH / c->columns, height / c->rows);
    put_levels(out, c->rows, c->columns, level);
    fprintf(out, "</g><path class=\"t\" d=\"M0 0h%dv%.0fh-%dz\"/></svg></div>", MAP_WIDTH,
            height, MAP_WIDTH);
}

static void put_legend(FILE *out, const char *const *words, int from, int to)
{
    for (int l = from; l <= to; l++)
        fprintf(out, "<span><span class=\"key m%d\"></span>%s</span> ", l, words[l - from]);
}

static void put_cells(FILE *out, const struct charts *c)
{
    html_count(out, c->row_step);
    fputs("\u202f\u00d7\u202f", out);
    html_count(out, c->column_step);
    fputs(". ", out);
}

static const char *const shares[] = {"some", "&gt; 1/4", "&gt; 3/4 of the bits differ"};

static void map_pair(FILE *out, const struct charts *c)
{
    static const char *const words[] = {"1 ULP",          "\u2264 4",     "\u2264 64",
                                        "\u2264 65,536", "&gt; 65,536", "NaN, Inf"};
    fputs("<figure><div class=\"maps\">", out);
    put_map(out, c, "A \u2260 B", c->differ, level_share);
    put_map(out, c, "|B \u2212 A|", c->used[0], level_ulp);
    fputs("</div><figcaption>Where, the last dimension across: cells of ", out);
    put_cells(out, c);
    fputs("A \u2260 B: ", out);
    put_legend(out, shares, 1, 3);
    fputs("<br>|B \u2212 A|, the largest: ", out);
    put_legend(out, words, 1, LEVELS);
    fputs("</figcaption></figure>\n", out);
}

void map_places(FILE *out, const struct charts *c, bool two)
{
    static const char *const words[] = {
        "\u2264 1/8 of the bound", "\u2264 1/2",          "\u2264 1", "wrong",
        "&gt; 16 bounds",          "NaN, Inf, other code"};
    if (!c->rows)
        return;
    if (c->pair) {
        map_pair(out, c);
        return;
    }
    fputs("<figure><div class=\"maps\">", out);
    put_map(out, c, "A", c->used[0], level_used);
    if (two) {
        put_map(out, c, "B", c->used[1], level_used);
        put_map(out, c, "A \u2260 B", c->differ, level_share);
    }
    fputs("</div><figcaption>Where, the last dimension across: worst element of each cell of ",
          out);
    put_cells(out, c);
    put_legend(out, words, 1, LEVELS);
    if (two) {
        fputs("<br>A \u2260 B: ", out);
        put_legend(out, shares, 1, 3);
    }
    fputs("</figcaption></figure>\n", out);
}

/* --- codes -----------------------------------------------------------------------------------
 */

enum {
    CODES_LEFT = 46,
    CODES_WIDTH = 390,
    CODES_ROW = 8,
    CODES_HEIGHT = 180,
    CODES_FULL = 460
};

static unsigned char level_moved(int64_t moved, int64_t count)
{
    if (!moved)
        return 0;
    return moved * 100 <= count ? 1 : moved * 10 <= count ? 2 : 3;
}

static void put_distances(FILE *out)
{
    for (int f = 1; f <= CHARTS_FAR; f += 2)
        for (int sign = -1; sign <= 1; sign += 2)
            fprintf(out, "<text class=\"y\" x=\"%d\" y=\"%d\">%s%d</text>", CODES_LEFT - 5,
                    4 + CODES_ROW * (CHARTS_FAR - sign * f) + CODES_ROW,
                    sign > 0 ? "+" : "\u2212", f == CHARTS_FAR ? 255 : 1 << (f - 1));
}

static void put_codes_map(FILE *out, const struct charts *c)
{
    unsigned char level[CHARTS_MOVES * CHARTS_CODES];
    for (int r = 0; r < CHARTS_MOVES; r++)
        for (int k = 0; k < c->code_columns; k++)
            level[r * c->code_columns + k] =
                level_moved(c->move[CHARTS_MOVES - 1 - r][k], c->code_count[k]);
    int middle = 4 + CODES_ROW * CHARTS_FAR + CODES_ROW / 2,
        foot = 4 + CODES_ROW * CHARTS_MOVES;
    fprintf(
        out,
        "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Which codes became others, by "
        "distance\"><path class=\"g\" d=\"M%d %dh%d\"/><g transform=\"translate(%d 4) "
        "scale(%.5g %d)\">",
        CODES_FULL, CODES_HEIGHT, CODES_LEFT, middle, CODES_WIDTH, CODES_LEFT,
        (double)CODES_WIDTH / c->code_columns, CODES_ROW);
    put_levels(out, CHARTS_MOVES, c->code_columns, level);
    fprintf(out, "</g><path class=\"t\" d=\"M%d 4V%dh%d\"/>", CODES_LEFT, foot, CODES_WIDTH);
    put_distances(out);
    fprintf(out,
            "<text x=\"%d\" y=\"%d\">0</text><text x=\"%d\" y=\"%d\">%d</text>"
            "<text x=\"%d\" y=\"%d\">code</text></svg>",
            CODES_LEFT, foot + 15, CODES_LEFT + CODES_WIDTH, foot + 15, c->codes - 1,
            CODES_LEFT + CODES_WIDTH / 2, foot + 15);
}

void map_codes(FILE *out, const struct charts *c, bool two)
{
    static const char *const words[] = {"\u2264 1\u202f%", "\u2264 10\u202f%",
                                        "more of a code's elements"};
    if (!c->moved)
        return;
    int64_t all = 0;
    for (int k = 0; k < c->code_columns; k++)
        all += c->code_count[k];
    fprintf(out, "<figure><figcaption><b>Codes</b>: %s, how far each moved; ",
            two ? "from A to B" : "from the reference to A");
    html_count(out, c->moved);
    fputs(" of ", out);
    html_count(out, all);
    fputs(" did", out);
    for (int k = 0; k < CHARTS_TOP && c->top[k].count; k++)
        fprintf(out, "%s %d\u2192%d (%" PRId64 ")", k ? "," : ", most often", c->top[k].from,
                c->top[k].to, c->top[k].count);
    fputs(". ", out);
    put_legend(out, words, 1, 3);
    fputs("</figcaption>", out);
    put_codes_map(out, c);
    fputs("</figure>\n", out);
}
