/* SPDX-License-Identifier: Apache-2.0 */
#include "../driver.h"

#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/image.h"
#include "sim/metadata.h"

const char *const vendor_endings_hip[] = {".hsaco", ".co", ".hipfb", NULL};
const char *const vendor_implied_hip[] = {"hip/hip_runtime.h", "hip/hip_runtime_api.h", NULL};

enum { MACHINE_AMDGPU = 224, NOTE_METADATA = 32 };

/* The processors of the code object's flags (LLVM's AMDGPU usage guide) that are met most. */
static const char *arch_name(uint32_t flags, char *text, size_t size)
{
    static const struct {
        uint32_t mach;
        const char *name;
    } rows[] = {{0x02f, "gfx906"},  {0x030, "gfx908"},  {0x03f, "gfx90a"},  {0x04c, "gfx942"},
                {0x036, "gfx1030"}, {0x041, "gfx1100"}, {0x046, "gfx1101"}, {0x047, "gfx1102"},
                {0x048, "gfx1200"}, {0x04e, "gfx1201"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].mach == (flags & 0xff))
            return rows[i].name;
    snprintf(text, size, "processor 0x%x", flags & 0xff);
    return text;
}

static bool layout_add(const struct kernel_metadata *m, struct kernel_list *l)
{
    struct kernel_layout *k = kernel_list_add(l, m->name, strlen(m->name));
    if (!k)
        return false;
    k->threads = m->max_threads;
    for (int i = 0; i < m->n_arg; i++) {
        if (m->arg[i].kind != ARG_EXPLICIT)
            continue;
        if (k->n_arg < KERNEL_ARG_MAX)
            k->size[k->n_arg] = m->arg[i].size;
        k->n_arg++;
    }
    return true;
}

/* The metadata among the notes of the section; false: damaged, with `why`. */
static bool notes_read(Elf_Data *d, struct metadata *m, char *why, size_t size)
{
    size_t at = 0, next, name, text;
    GElf_Nhdr n;
    while (at < d->d_size && (next = gelf_getnote(d, at, &n, &name, &text)) > 0) {
        const char *bytes = d->d_buf;
        struct metadata one = {0};
        if (n.n_type == NOTE_METADATA && n.n_namesz == 7 && !memcmp(bytes + name, "AMDGPU", 7) &&
            metadata_read(bytes + text, n.n_descsz, &one, why, size))
            return false;
        const bool good = metadata_append(m, &one);
        metadata_release(&one);
        if (!good)
            return snprintf(why, size, "out of memory") < 0;
        at = next;
    }
    return true;
}

static bool sections_read(Elf *elf, struct metadata *m, char *why, size_t size)
{
    GElf_Shdr h;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
        Elf_Data *d = gelf_getshdr(s, &h) && h.sh_type == SHT_NOTE ? elf_getdata(s, NULL) : NULL;
        if (d && d->d_buf && !notes_read(d, m, why, size))
            return false;
    }
    return true;
}

static enum backend_status elf_kernels(Elf *elf, struct kernel_list *l, struct backend_error *e)
{
    GElf_Ehdr h;
    char why[300] = "", other[32];
    struct metadata m = {0};
    if (!elf || !gelf_getehdr(elf, &h) || h.e_machine != MACHINE_AMDGPU)
        return backend_fail(e, BACKEND_REFUSED, "this ELF file is no AMD GPU code object");
    snprintf(l->arch, sizeof l->arch, "%s", arch_name(h.e_flags, other, sizeof other));
    if (!sections_read(elf, &m, why, sizeof why))
        return backend_fail(e, BACKEND_REFUSED, "%s", why);
    bool good = true;
    for (int i = 0; i < m.n_kernel && good; i++)
        good = layout_add(&m.kernel[i], l);
    metadata_release(&m);
    return good ? BACKEND_OK : backend_fail(e, BACKEND_NOMEM, "out of memory");
}

enum backend_status vendor_kernels_hip(const void *code, size_t size,
                                       struct kernel_list *ret_list, struct backend_error *e)
{
    char why[400] = "";
    struct image image = {0};
    struct kernel_list l = {0};
    bool plain = size >= 4 && !memcmp(code, ELFMAG, SELFMAG);
    if (!plain && code_image_open(code, size, &image, why, sizeof why))
        return backend_fail(e, BACKEND_REFUSED, "%s", why);
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory(plain ? (char *)(uintptr_t)code : (char *)image.bytes,
                          plain ? size : image.size);
    enum backend_status s = elf_kernels(elf, &l, e);
    elf_end(elf);
    code_image_release(&image);
    if (s)
        kernel_list_release(&l);
    else
        *ret_list = l;
    return s;
}
