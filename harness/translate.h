/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TRANSLATE_H
#define GPUPARITY_TRANSLATE_H

#include "bytes.h"

/* Runs a vendor's translator of the other vendor's sources (backend.h's `translator`), which takes
 * a file's name and writes the translation to its standard output; `ret_text` gets a zero byte
 * behind it. ERR_MISSING when PATH has no such program, ERR_FORMAT when it fails. */
enum err translate_file(const char *program, const char *path, struct bytes *ret_text,
                        struct errinfo *e);

#endif
