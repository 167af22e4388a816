/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_REPORT_TEXT_WORD_H
#define GPUPARITY_REPORT_TEXT_WORD_H

#include <stddef.h>
#include <stdint.h>

/* Numbers for narrow columns. Each returns `text`. */

/* At most five columns: "0", "0.068", "31.4", "9999", "2e7", "-1e5", "inf", "-" for NaN. */
const char *short_number(double x, char *text, size_t size);

/* part of whole: "100%" only if it is all, "<100%" if nearly, else "99.2%". */
const char *short_percent(int64_t part, int64_t whole, char *text, size_t size);

#endif
