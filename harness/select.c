/* SPDX-License-Identifier: Apache-2.0 */
#include "select.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { PATTERN_MAX = 1024 };

static bool matches(const char *pattern, size_t length, const char *name, bool beginning)
{
    char text[PATTERN_MAX];
    if (length >= sizeof text)
        return false;
    memcpy(text, pattern, length);
    text[length] = 0;
    if (!strcmp(text, name) || !fnmatch(text, name, 0))
        return true;
    return beginning && length && !strncmp(text, name, length) &&
           (name[length] == '/' || name[length] == ':');
}

bool select_takes(const char *selection, const char *name)
{
    if (!selection)
        return true;
    const char *without = strstr(selection, ":-");
    size_t length = without ? (size_t)(without - selection) : strlen(selection);
    if (length && !matches(selection, length, name, true))
        return false;
    while (without) {
        const char *from = without + 2;
        without = strstr(from, ":-");
        length = without ? (size_t)(without - from) : strlen(from);
        if (matches(from, length, name, false))
            return false;
    }
    return true;
}

/* An HDF5 path may be given with its first slash. */
static const char *skip_slash(const char *s)
{
    return s + (*s == '/');
}

bool select_rename(const char *map, const char *name, char *ret_name, size_t size)
{
    const char *equals = strchr(map, '=');
    if (!equals)
        return false;
    const char *from = skip_slash(map), *to = skip_slash(equals + 1);
    int from_length = (int)(equals - from);
    const char *star = memchr(from, '*', (size_t)(equals - from)), *place = strchr(to, '*');
    int n;
    if (!star) {
        if (strlen(name) != (size_t)from_length || strncmp(from, name, (size_t)from_length))
            return false;
        n = snprintf(ret_name, size, "%s", to);
        return n >= 0 && (size_t)n < size;
    }
    int before = (int)(star - from), after = from_length - before - 1;
    int kept = (int)strlen(name) - before - after;
    if (kept < 0 || strncmp(name, from, (size_t)before) ||
        strncmp(name + before + kept, star + 1, (size_t)after))
        return false;
    if (!place)
        return false;
    n = snprintf(ret_name, size, "%.*s%.*s%s", (int)(place - to), to, kept, name + before,
                 place + 1);
    return n >= 0 && (size_t)n < size;
}
