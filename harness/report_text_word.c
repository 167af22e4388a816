/* SPDX-License-Identifier: Apache-2.0 */
#include "report_text_word.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* "2e+07" becomes "2e7". */
static void cut_exponent(char *text)
{
    char *e = strchr(text, 'e');
    if (!e)
        return;
    char *digits = e + 2 + strspn(e + 2, "0");
    char *to = e[1] == '-' ? e + 2 : e + 1;
    memmove(to, digits, strlen(digits) + 1);
}

const char *short_number(double x, char *text, size_t size)
{
    double m = fabs(x);
    int sign = x < 0;
    if (isnan(x))
        snprintf(text, size, "-");
    else if (isinf(x))
        snprintf(text, size, sign ? "-inf" : "inf");
    else if (m == 0)
        snprintf(text, size, "0");
    else if (m >= 0.005 && m < 9.95)
        snprintf(text, size, "%.*f", 3 - sign, x);
    else if (m >= 9.95 && m < 99.95)
        snprintf(text, size, "%.*f", 2 - sign, x);
    else if (m >= 99.95 && m < 9999.5)
        snprintf(text, size, "%.0f", x);
    else {
        snprintf(text, size, "%.0e", x);
        cut_exponent(text);
    }
    return text;
}

const char *short_percent(int64_t part, int64_t whole, char *text, size_t size)
{
    double share = whole ? (double)part / (double)whole : 0;
    if (part == whole)
        snprintf(text, size, "100%%");
    else if (share > 0.9995)
        snprintf(text, size, "<100%%");
    else
        snprintf(text, size, "%.1f%%", 100 * share);
    return text;
}
