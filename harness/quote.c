/* SPDX-License-Identifier: Apache-2.0 */
#include "quote.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REPLACEMENT = 0xfffd };

/* Length of a sequence by its first byte, 0 if none starts so. */
static int sequence_length(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first <= 0xdf)
        return 2;
    if (first >= 0xe0 && first <= 0xef)
        return 3;
    return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

/* The second byte's range excludes overlong forms, surrogates and what lies beyond Unicode. */
static bool second_fits(unsigned char first, unsigned char second)
{
    unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    return second >= low && second <= high;
}

uint32_t quote_next(const char **s)
{
    const unsigned char *p = (const unsigned char *)*s;
    if (!*p)
        return 0;
    *s += 1;
    int n = sequence_length(*p);
    if (n == 0)
        return REPLACEMENT;
    uint32_t c = n == 1 ? *p : *p & (0x7fu >> n);
    for (int i = 1; i < n; i++) {
        if (i == 1 ? !second_fits(p[0], p[1]) : (p[i] & 0xc0) != 0x80)
            return REPLACEMENT;
        c = c << 6 | (p[i] & 0x3fu);
        *s += 1;
    }
    return c;
}

static void put(FILE *out, uint32_t c)
{
    if (c < 0x80) {
        fputc((int)c, out);
        return;
    }
    int n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    fputc((int)((0xf00u >> n & 0xff) | c >> 6 * (n - 1)), out);
    for (int i = n - 2; i >= 0; i--)
        fputc((int)(0x80 | (c >> 6 * i & 0x3f)), out);
}

static bool is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
}

static bool is_noncharacter(uint32_t c)
{
    return (c & 0xfffe) == 0xfffe || (c >= 0xfdd0 && c <= 0xfdef) || c == 0xfeff;
}

static bool is_bidi(uint32_t c)
{
    return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

void quote_json(FILE *out, const char *s)
{
    fputc('"', out);
    for (uint32_t c; (c = quote_next(&s));) {
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", (int)c);
        else if (c == '\n')
            fputs("\\n", out);
        else if (c == '\t')
            fputs("\\t", out);
        else if (c < 0x10000 && (is_control(c) || is_noncharacter(c)))
            fprintf(out, "\\u%04x", (unsigned)c);
        else
            put(out, is_noncharacter(c) ? REPLACEMENT : c);
    }
    fputc('"', out);
}

/* Line ends are written as references: readers fold raw ones inside attributes into spaces. */
static void put_markup(FILE *out, uint32_t c)
{
    switch (c) {
    case '&':
        fputs("&amp;", out);
        break;
    case '<':
        fputs("&lt;", out);
        break;
    case '>':
        fputs("&gt;", out);
        break;
    case '"':
        fputs("&quot;", out);
        break;
    case '\'':
        fputs("&#39;", out);
        break;
    case '\n':
    case '\t':
        fprintf(out, "&#%d;", (int)c);
        break;
    default:
        put(out, is_control(c) || is_noncharacter(c) || is_bidi(c) ? REPLACEMENT : c);
    }
}

void quote_markup(FILE *out, const char *s)
{
    for (uint32_t c; (c = quote_next(&s));)
        put_markup(out, c);
}

void quote_csv(FILE *out, const char *s)
{
    bool quoted = strpbrk(s, ",\"\r\n") || *s == ' ';
    if (quoted)
        fputc('"', out);
    for (uint32_t c; (c = quote_next(&s));) {
        if (c == '"')
            fputc('"', out);
        put(out, c);
    }
    if (quoted)
        fputc('"', out);
}

void quote_line(FILE *out, const char *s, const char *escape)
{
    for (uint32_t c; (c = quote_next(&s));) {
        if (c < 0x80 && strchr(escape, (int)c))
            fputc('\\', out);
        put(out, is_control(c) ? ' ' : c);
    }
}

void quote_number(char ret_text[QUOTE_NUMBER_MAX], double x)
{
    if (isnan(x) || isinf(x)) {
        strcpy(ret_text, isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(ret_text, QUOTE_NUMBER_MAX, "%.*g", digits, x);
        if (strtod(ret_text, NULL) == x)
            return;
    }
}

void quote_human(char ret_text[QUOTE_NUMBER_MAX], double x)
{
    double m = fabs(x);
    if (isnan(x))
        strcpy(ret_text, "NaN");
    else if (isinf(x) || x == 0)
        strcpy(ret_text, x == 0 ? "0" : x > 0 ? "inf" : "-inf");
    else if (m >= 9999.5 && m < 1e7)
        snprintf(ret_text, QUOTE_NUMBER_MAX, "%.0f", x);
    else
        snprintf(ret_text, QUOTE_NUMBER_MAX, m < 1e-3 || m >= 1e7 ? "%.3g" : "%.4g", x);
}

void quote_bits(char ret_text[QUOTE_BITS_MAX], enum dtype d, uint64_t bits)
{
    snprintf(ret_text, QUOTE_BITS_MAX, "0x%0*" PRIx64, 2 * dtype_info(d)->bytes, bits);
}
