/* SPDX-License-Identifier: Apache-2.0 */
#include "wrap.h"

static int is_blank(char c)
{
    return (unsigned char)c <= ' ' || c == 0x7f;
}

void wrap_print(FILE *out, const char *text, int column, int indent, int width)
{
    int start = 1;
    for (;;) {
        while (*text && is_blank(*text))
            text++;
        if (!*text)
            break;
        int length = 0;
        while (text[length] && !is_blank(text[length]))
            length++;
        if (!start && column + 1 + length > width) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
            start = 1;
        }
        column += fprintf(out, "%s%.*s", start ? "" : " ", length, text);
        text += length;
        start = 0;
    }
    fputc('\n', out);
}
