/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_FILEWRITE_H
#define GPUPARITY_FILEWRITE_H

#include <stddef.h>

#include "err.h"

/* ERR_USAGE when something other than a file is at `path` (a device, a folder): to be asked before
 * long work whose result goes there. */
enum err filewrite_check(const char *path, struct errinfo *e);

/* Makes `path` a file with this content, or leaves it as it was: written beside it, settled on the
 * disk and renamed. Links are followed and permissions kept. ERR_USAGE as
 * filewrite_check; ERR_IO names the path. */
enum err filewrite_replace(const char *path, const void *data, size_t size, struct errinfo *e);

#endif
