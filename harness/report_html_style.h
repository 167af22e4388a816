/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_REPORT_HTML_STYLE_H
#define GPUPARITY_REPORT_HTML_STYLE_H

/* The text of "report.css" or "report.js", embedded while building so that a report needs no
 * other file. NULL for another name. */
const char *html_style_find(const char *name);

#endif
