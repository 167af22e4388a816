/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <stdint.h>
#include <string.h>

/* Bytes of the valid character at `s`, or 0. */
static size_t character(const unsigned char *s, size_t left)
{
    if (s[0] < 0x80)
        return (s[0] >= 0x20 && s[0] != 0x7f) || s[0] == '\n' || s[0] == '\r' || s[0] == '\t';
    size_t size = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || size > left)
        return 0;
    uint32_t code = s[0] & (0xffu >> (size + 1));
    for (size_t i = 1; i < size; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    bool control = code < 0xa0;
    return code < least[size] || code > 0x10ffff || surrogate || control ? 0 : size;
}

bool text_valid(const char *text, size_t size)
{
    for (size_t i = 0, n; i < size; i += n) {
        n = character((const unsigned char *)text + i, size - i);
        if (n == 0)
            return false;
    }
    return true;
}

void text_mend(char *text, size_t size)
{
    for (size_t i = 0, n; i < size; i += n) {
        n = character((const unsigned char *)text + i, size - i);
        if (n == 0) {
            text[i] = '?';
            n = 1;
        }
    }
}

bool text_ends(const char *text, const char *ending)
{
    size_t n = strlen(text), k = strlen(ending);
    return n >= k && !strcmp(text + n - k, ending);
}
