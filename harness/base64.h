/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_BASE64_H
#define GPUPARITY_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* Decodes `size` characters, a multiple of four, into size / 4 * 3 bytes, less what padding at
 * the end takes away (RFC 4648, no line ends). False for any other character, or for padding
 * where more follows. */
bool base64_decode(const char *from, size_t size, unsigned char *to, size_t *ret_size);

#endif
