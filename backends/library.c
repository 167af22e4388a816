/* SPDX-License-Identifier: Apache-2.0 */
#include "library.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum backend_status backend_fail(struct backend_error *e, enum backend_status status,
                                 const char *format, ...)
{
    if (!e)
        return status;
    va_list ap;
    va_start(ap, format);
    vsnprintf(e->text, sizeof e->text, format, ap);
    va_end(ap);
    return status;
}

static void library_path(void *handle, const char *asked, char *ret_path, size_t size)
{
    struct link_map *map = NULL;
    char real[PATH_MAX];
    const char *name = asked;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name[0])
        name = map->l_name;
    if (realpath(name, real))
        name = real;
    size_t n = strnlen(name, size - 1);
    memcpy(ret_path, name, n);
    ret_path[n] = 0;
}

/* Tries one name; `problem` keeps the loader's words if the file is there but unusable. */
static bool library_try(const char *name, struct library *l, char *problem, size_t size)
{
    l->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (l->handle) {
        library_path(l->handle, name, l->path, sizeof l->path);
        return true;
    }
    const char *words = dlerror();
    size_t n = strlen(name);
    bool absent = words && !strncmp(words, name, n) && strstr(words, "No such file");
    if (words && !absent && problem && !problem[0])
        snprintf(problem, size, "%s", words);
    return false;
}

enum backend_status library_open_file(const char *path, struct library *ret_library,
                                      struct backend_error *e)
{
    char problem[512] = "";
    if (library_try(path, ret_library, problem, sizeof problem))
        return BACKEND_OK;
    if (problem[0])
        return backend_fail(e, BACKEND_MISSING, "cannot load %s", problem);
    return backend_fail(e, BACKEND_MISSING, "there is no file %s", path);
}

/* $NAME/rest and ~/rest; false if the variable is not set. */
static bool pattern_expand(const char *pattern, char *ret_path, size_t size)
{
    if (pattern[0] != '$' && pattern[0] != '~') {
        snprintf(ret_path, size, "%s", pattern);
        return true;
    }
    char name[64] = "HOME";
    const char *rest = strchr(pattern, '/');
    if (!rest)
        return false;
    if (pattern[0] == '$')
        snprintf(name, sizeof name, "%.*s", (int)(rest - pattern - 1), pattern + 1);
    const char *value = getenv(name);
    if (!value || !value[0])
        return false;
    return snprintf(ret_path, size, "%s%s", value, rest) < (int)size;
}

static bool library_try_pattern(const char *pattern, struct library *l, char *problem,
                                size_t size)
{
    char path[PATH_MAX];
    if (!pattern_expand(pattern, path, sizeof path))
        return false;
    glob_t found;
    if (glob(path, GLOB_BRACE, NULL, &found))
        return false;
    bool ok = false;
    for (size_t i = found.gl_pathc; i > 0 && !ok; i--)
        ok = library_try(found.gl_pathv[i - 1], l, problem, size);
    globfree(&found);
    return ok;
}

static enum backend_status library_missing(const struct library_search *s, const char *problem,
                                           struct backend_error *e)
{
    if (problem[0])
        return backend_fail(e, BACKEND_MISSING, "%s is there but cannot be loaded: %s; %s",
                            s->what, problem, s->package);
    return backend_fail(e, BACKEND_MISSING, "no %s here (looked for %s and others); %s",
                        s->what, s->name[0], s->package);
}

/* Once loaded, a library is found again by its name. */
static void beside_load(const struct library_search *s, const struct library *l)
{
    char pattern[PATH_MAX];
    const char *slash = strrchr(l->path, '/');
    glob_t found;
    if (!s->beside || !slash)
        return;
    snprintf(pattern, sizeof pattern, "%.*s/%s", (int)(slash - l->path), l->path, s->beside);
    if (glob(pattern, 0, NULL, &found))
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        (void)dlopen(found.gl_pathv[i], RTLD_LAZY | RTLD_LOCAL);
    globfree(&found);
}

static enum backend_status library_find(const struct library_search *s,
                                        struct library *ret_library, struct backend_error *e)
{
    char problem[512] = "";
    const char *chosen = s->override ? getenv(s->override) : NULL;
    if (chosen && chosen[0]) {
        if (!strcmp(chosen, "none"))
            return backend_fail(e, BACKEND_MISSING, "%s is switched off by %s=none", s->what,
                                s->override);
        if (library_try(chosen, ret_library, problem, sizeof problem))
            return BACKEND_OK;
        return backend_fail(e, BACKEND_MISSING, "%s=%s cannot be loaded: %s", s->override,
                            chosen, problem[0] ? problem : "no such file");
    }
    for (int i = 0; s->name[i]; i++) {
        bool pattern = strpbrk(s->name[i], "/$~*") != NULL;
        if (pattern ? library_try_pattern(s->name[i], ret_library, problem, sizeof problem)
                    : library_try(s->name[i], ret_library, problem, sizeof problem))
            return BACKEND_OK;
    }
    return library_missing(s, problem, e);
}

enum backend_status library_open(const struct library_search *s, struct library *ret_library,
                                 struct backend_error *e)
{
    enum backend_status status = library_find(s, ret_library, e);
    if (!status)
        beside_load(s, ret_library);
    return status;
}

enum backend_status library_resolve(const struct library *l,
                                    const struct library_symbol *symbol, int count,
                                    void *ret_table, struct backend_error *e)
{
    for (int i = 0; i < count; i++) {
        void *address = dlsym(l->handle, symbol[i].name);
        if (!address && !symbol[i].optional)
            return backend_fail(
                e, BACKEND_MISSING,
                "%s has no function %s: too old, or another library of that name", l->path,
                symbol[i].name);
        memcpy((char *)ret_table + symbol[i].offset, &address, sizeof address);
    }
    return BACKEND_OK;
}
