/* SPDX-License-Identifier: Apache-2.0 */
#include "base64.h"

#include <stdint.h>

/* 0 to 63, or 64 for what is no digit. */
static unsigned digit(unsigned char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26u;
    if (c >= '0' && c <= '9')
        return c - '0' + 52u;
    return c == '+' ? 62 : c == '/' ? 63 : 64;
}

bool base64_decode(const char *from, size_t size, unsigned char *to, size_t *ret_size)
{
    unsigned bad = size % 4 != 0;
    size_t padding = 0, n = 0;
    while (size >= 4 && padding < 2 && from[size - 1 - padding] == '=')
        padding++;
    for (size_t i = 0; i + 4 <= size; i += 4, n += 3) {
        unsigned d[4], whole = i + 4 < size || !padding ? 4 : 4 - (unsigned)padding;
        uint32_t word = 0;
        for (unsigned k = 0; k < 4; k++) {
            d[k] = k < whole ? digit((unsigned char)from[i + k]) : 0;
            bad |= d[k] & 64;
            word = word << 6 | (d[k] & 63);
        }
        to[n] = (unsigned char)(word >> 16);
        if (whole > 2)
            to[n + 1] = (unsigned char)(word >> 8);
        if (whole > 3)
            to[n + 2] = (unsigned char)word;
    }
    *ret_size = n - padding;
    return !bad;
}
