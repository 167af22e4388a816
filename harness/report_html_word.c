/* SPDX-License-Identifier: Apache-2.0 */
#include "report_html_word.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quote.h"

const char *html_tone(enum verdict v, bool strict)
{
    if (verdict_fails(v, strict))
        return "bad";
    if (v == VERDICT_UNTESTED)
        return "mute";
    return v == VERDICT_SAME || v == VERDICT_EQUIVALENT || v == VERDICT_WITHIN_LIMITS ? "good"
                                                                                    : "warn";
}

void html_verdict(FILE *out, enum verdict v, bool strict)
{
    const char *tone = html_tone(v, strict);
    const char *sign = *tone == 'b'   ? "\u2717"
                       : *tone == 'w' ? "!"
                       : *tone == 'm' ? "\u2013"
                                      : "\u2713";
    fprintf(out, "<span class=\"v %s\"><i>%s</i> %s</span>", tone, sign, verdict_name(v));
}

void html_count(FILE *out, int64_t n)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, n);
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        if (i && length > 4 && (length - i) % 3 == 0 && text[i - 1] != '-')
            fputs("\u202f", out);
        fputc(text[i], out);
    }
}

void html_number_cell(FILE *out, double x)
{
    char text[QUOTE_NUMBER_MAX];
    quote_human(text, x);
    if (isnan(x))
        fputs("<td class=\"n\">\u2013</td>", out);
    else
        fprintf(out, "<td class=\"n\" data-n=\"%.6g\">%s</td>",
                isinf(x) ? copysign(DBL_MAX, x) : x, text);
}

static void put_superscript(FILE *out, int n)
{
    static const char *const digit[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                                        "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
    if (n < 0)
        fputs("\u207b", out);
    n = abs(n);
    if (n >= 10)
        fputs(digit[n / 10 % 10], out);
    fputs(digit[n % 10], out);
}

void html_power(FILE *out, int exponent)
{
    if (exponent >= -2 && exponent <= 13) {
        fprintf(out, "%g", ldexp(1, exponent));
        return;
    }
    fputs("2", out);
    put_superscript(out, exponent);
}

void html_share(FILE *out, int64_t part, int64_t whole)
{
    double percent = whole > 0 ? 100.0 * (double)part / (double)whole : 0;
    if (part == whole || part == 0)
        fprintf(out, "%d\u202f%%", part ? 100 : 0);
    else if (percent < 0.01 || percent > 99.99)
        fprintf(out, "%s\u202f%%", percent < 1 ? "&lt;0.01" : "&gt;99.99");
    else
        fprintf(out, "%.4g\u202f%%", percent);
}

void html_command(FILE *out, const char *command)
{
    fputs("<div class=\"cmd\"><code>", out);
    quote_markup(out, command);
    fputs("</code><button type=\"button\" class=\"copy\">Copy</button></div>", out);
}

void html_side(FILE *out, char side, const struct record_run *r)
{
    fprintf(out, "%c (", side);
    quote_markup(out, r->device);
    fputc(')', out);
}

bool html_compare_row(FILE *out, const char *name, const char *a, const char *b, bool one_sided,
                      bool measured, int *ret_rows)
{
    if (!a[0] && !b[0])
        return false;
    bool differs = !one_sided && !measured && strcmp(a, b);
    *ret_rows += 1;
    fprintf(out, "<tr%s><th scope=\"row\">", differs ? " class=\"ne\"" : "");
    quote_markup(out, name);
    fputs("</th><td>", out);
    quote_markup(out, a);
    if (!one_sided) {
        fprintf(out, "</td><td class=\"s\">%s</td><td>",
                differs    ? "\u2260"
                : measured ? ""
                           : "=");
        quote_markup(out, b);
    }
    fputs("</td></tr>\n", out);
    return differs;
}
