/* SPDX-License-Identifier: Apache-2.0 */
#include "sourceline.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_lines(Elf *elf)
{
    size_t names;
    Elf_Scn *s = NULL;
    if (!elf || elf_getshdrstrndx(elf, &names))
        return false;
    while ((s = elf_nextscn(elf, s)) != NULL) {
        GElf_Shdr h;
        const char *name = gelf_getshdr(s, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;
        if (name && strcmp(name, ".debug_line") == 0)
            return true;
    }
    return false;
}

bool sourceline_init(struct sourceline *s, const void *bytes, size_t size, uint64_t low)
{
    *s = (struct sourceline){.low = low};
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory((char *)(uintptr_t)bytes, size);
    const bool wanted = has_lines(elf);
    elf_end(elf);
    if (!wanted)
        return true;
    s->elf = malloc(size);
    if (!s->elf)
        return false;
    memcpy(s->elf, bytes, size);
    s->size = size;
    return true;
}

void sourceline_release(struct sourceline *s)
{
    free(s->elf);
    *s = (struct sourceline){0};
}

static bool place_print(const char *path, Dwarf_Word number, char *ret, size_t size)
{
    if (!path || !number)
        return false;
    const char *name = strrchr(path, '/');
    snprintf(ret, size, "%.60s:%llu", name ? name + 1 : path, (unsigned long long)number);
    return true;
}

static bool line_print(Dwarf_Line *l, char *ret, size_t size)
{
    int number = 0;
    return l && dwarf_lineno(l, &number) == 0 && number > 0 &&
           place_print(dwarf_linesrc(l, NULL, NULL), (Dwarf_Word)number, ret, size);
}

/* The function of the unit that holds the address, and then the outermost one inlined there. A
 * damaged file may chain its entries in a ring. (dwarf_getscopes leaks on damaged files.) */
static bool inlined_find(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die *ret)
{
    Dwarf_Die at;
    bool more = dwarf_child(unit, &at) == 0;
    for (int steps = 0; more && steps < 100000; steps++) {
        const bool inside = dwarf_haspc(&at, address) == 1;
        *ret = at;
        if (inside && dwarf_tag(&at) == DW_TAG_inlined_subroutine)
            return true;
        more = (inside ? dwarf_child(ret, &at) : dwarf_siblingof(ret, &at)) == 0;
    }
    return false;
}

/* Where the kernel calls what was inlined at this address; false: the code is its own. */
static bool caller_print(Dwarf_Die *unit, Dwarf_Addr address, char *ret, size_t size)
{
    Dwarf_Die inlined;
    Dwarf_Files *files;
    Dwarf_Attribute a;
    Dwarf_Word file = 0, line = 0;
    size_t count;
    return inlined_find(unit, address, &inlined) &&
           dwarf_getsrcfiles(unit, &files, &count) == 0 &&
           dwarf_formudata(dwarf_attr(&inlined, DW_AT_call_file, &a), &file) == 0 &&
           dwarf_formudata(dwarf_attr(&inlined, DW_AT_call_line, &a), &line) == 0 &&
           place_print(dwarf_filesrc(files, file, NULL, NULL), line, ret, size);
}

static bool unit_print(Dwarf_Die *unit, Dwarf_Addr address, char *ret, size_t size)
{
    char caller[80];
    if (!line_print(dwarf_getsrc_die(unit, address), ret, size))
        return false;
    const size_t used = strlen(ret);
    if (caller_print(unit, address, caller, sizeof caller))
        snprintf(ret + used, size - used, " from %s", caller);
    return true;
}

bool sourceline_find(const struct sourceline *s, uint64_t offset, char *ret, size_t size)
{
    if (!s || !s->elf)
        return false;
    Elf *elf = elf_memory(s->elf, s->size);
    Dwarf *d = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
    bool found = false;
    Dwarf_Off at = 0, next;
    size_t header;
    while (d && !found && dwarf_nextcu(d, at, &next, &header, NULL, NULL, NULL) == 0) {
        Dwarf_Die unit;
        if (dwarf_offdie(d, at + header, &unit))
            found = unit_print(&unit, s->low + offset, ret, size);
        at = next;
    }
    dwarf_end(d);
    elf_end(elf);
    return found;
}
