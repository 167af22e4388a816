/* SPDX-License-Identifier: Apache-2.0 */
#include "../driver.h"

#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fatbin.h"
#include "sim/ptx.h"

const char *const vendor_endings_cuda[] = {".ptx", ".fatbin", ".cubin", NULL};
const char *const vendor_implied_cuda[] = {"cuda_runtime.h", "cuda_runtime_api.h", "cuda.h",
                                           "device_launch_parameters.h", NULL};

/* What describes a kernel in a cubin: section .nv.info.NAME, a list of items of a byte form, a
 * byte name and a 16-bit value, which with form 4 is the size of what follows. */
enum {
    MACHINE_CUDA = 190,
    INFO_SIZED = 4,
    INFO_MAX_THREADS = 0x05, /* 32 bits for each of x, y, z */
    INFO_PARAM = 0x17        /* index; ordinal and offset, 16 bits each; size << 18 */
};

static enum backend_status no_memory(struct kernel_list *l, struct backend_error *e)
{
    kernel_list_release(l);
    return backend_fail(e, BACKEND_NOMEM, "out of memory");
}

/* --- PTX -------------------------------------------------------------------------------------
 */

static bool entry_add(const struct ptx_function *f, struct kernel_list *l)
{
    struct kernel_layout *k = kernel_list_add(l, f->name.text, f->name.size);
    if (!k)
        return false;
    for (const struct ptx_symbol *p = f->param; p; p = p->next, k->n_arg++)
        if (k->n_arg < KERNEL_ARG_MAX)
            k->size[k->n_arg] = (uint32_t)p->size;
    const uint32_t *t = f->required_threads[0] ? f->required_threads : f->max_threads;
    if (t[0])
        k->threads = t[0] * (t[1] ? t[1] : 1) * (t[2] ? t[2] : 1);
    return true;
}

static enum backend_status text_kernels(const char *text, size_t size, struct kernel_list *l,
                                        struct backend_error *e)
{
    struct ptx_module m = {0};
    struct ptx_error error = {0};
    if (!ptx_parse(text, size, &m, &error))
        return backend_fail(e, BACKEND_REFUSED, "this is no PTX: %s", error.text);
    snprintf(l->arch, sizeof l->arch, "sm_%d", m.target);
    bool good = true;
    for (const struct ptx_function *f = m.function; f && good; f = f->next)
        good = !f->entry || !f->defined || entry_add(f, l);
    ptx_release(&m);
    return good ? BACKEND_OK : no_memory(l, e);
}

/* --- machine code ----------------------------------------------------------------------------
 */

static uint32_t word_at(const uint8_t *p, size_t bytes)
{
    uint32_t v = 0;
    memcpy(&v, p, bytes);
    return v;
}

static void info_read(const uint8_t *b, size_t size, struct kernel_layout *k)
{
    for (size_t at = 0; at + 4 <= size;) {
        uint32_t n = b[at] == INFO_SIZED ? word_at(b + at + 2, 2) : 0;
        const uint8_t *v = b + at + 4;
        if (n > size - at - 4)
            return;
        if (b[at] == INFO_SIZED && b[at + 1] == INFO_PARAM && n >= 12) {
            uint32_t ordinal = word_at(v + 4, 2);
            if (ordinal < KERNEL_ARG_MAX)
                k->size[ordinal] = word_at(v + 8, 4) >> 18;
            k->n_arg++;
        }
        if (b[at] == INFO_SIZED && b[at + 1] == INFO_MAX_THREADS && n >= 12)
            k->threads = word_at(v, 4) * word_at(v + 4, 4) * word_at(v + 8, 4);
        at += 4 + n;
    }
}

static bool section_read(Elf *elf, size_t names, Elf_Scn *s, struct kernel_list *l)
{
    static const char head[] = ".nv.info.";
    GElf_Shdr h;
    const char *name = gelf_getshdr(s, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;
    if (!name || strncmp(name, head, sizeof head - 1))
        return true;
    Elf_Data *d = elf_getdata(s, NULL);
    struct kernel_layout *k = kernel_list_add(l, name + sizeof head - 1, strlen(name) - sizeof head + 1);
    if (k && d && d->d_buf)
        info_read(d->d_buf, d->d_size, k);
    return k != NULL;
}

static enum backend_status cubin_kernels(const void *code, size_t size, struct kernel_list *l,
                                         struct backend_error *e)
{
    GElf_Ehdr h;
    size_t names;
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory((char *)(uintptr_t)code, size);
    if (!elf || !gelf_getehdr(elf, &h) || h.e_machine != MACHINE_CUDA ||
        elf_getshdrstrndx(elf, &names)) {
        elf_end(elf);
        return backend_fail(e, BACKEND_REFUSED, "this ELF file is no cubin");
    }
    /* Where the number of the architecture lies has changed once: ABI version 8 and later. */
    snprintf(l->arch, sizeof l->arch, "sm_%u",
             h.e_ident[EI_ABIVERSION] >= 8 ? h.e_flags >> 8 & 0xff : h.e_flags & 0xff);
    bool good = true;
    for (Elf_Scn *s = NULL; good && (s = elf_nextscn(elf, s));)
        good = section_read(elf, names, s, l);
    elf_end(elf);
    return good ? BACKEND_OK : no_memory(l, e);
}

/* --- any -------------------------------------------------------------------------------------
 */

/* A fat binary says its own size, which the reader below trusts. */
static bool fatbin_fits(const uint8_t *b, size_t size)
{
    uint64_t payload = 0;
    if (size < 16)
        return false;
    memcpy(&payload, b + 8, sizeof payload);
    return payload <= size && word_at(b + 6, 2) <= size - payload;
}

static enum backend_status fatbin_kernels(const void *code, size_t size, struct kernel_list *l,
                                          struct backend_error *e)
{
    struct fatbin_text t = {0};
    struct ptx_error error = {0};
    if (!fatbin_fits(code, size))
        return backend_fail(e, BACKEND_REFUSED, "the fat binary is cut off");
    if (fatbin_text_find(code, &t, &error))
        return backend_fail(e, BACKEND_REFUSED, "%s", error.text);
    enum backend_status s = text_kernels(t.text, t.size, l, e);
    fatbin_text_release(&t);
    return s;
}

enum backend_status vendor_kernels_cuda(const void *code, size_t size,
                                        struct kernel_list *ret_list, struct backend_error *e)
{
    static const uint8_t fatbin[] = {0x50, 0xed, 0x55, 0xba};
    struct kernel_list l = {0};
    enum backend_status s;
    if (size >= 4 && !memcmp(code, ELFMAG, SELFMAG))
        s = cubin_kernels(code, size, &l, e);
    else if (size >= 4 && !memcmp(code, fatbin, sizeof fatbin))
        s = fatbin_kernels(code, size, &l, e);
    else
        s = text_kernels(code, strnlen(code, size), &l, e);
    if (s)
        kernel_list_release(&l);
    else
        *ret_list = l;
    return s;
}
