/* SPDX-License-Identifier: Apache-2.0 */
#include "codeobject.h"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What <elf.h> of older systems does not know. */
enum {
    MACHINE_AMDGPU = 224,
    FLAGS_MACH = 0xff,
    MACH_GFX1100 = 0x41,
    NOTE_METADATA = 32,
    RELOC_ABS64 = 3,
    RELOC_RELATIVE64 = 13
};
static const uint64_t span_max = 1ull << 30;

/* What loading passes around. */
struct loader {
    Elf *elf;
    const uint8_t *bytes;
    size_t size;
    struct codeobject *object;
    uint64_t span; /* bytes of address space */
    uint64_t exec_low, exec_size;
    char *why;
    size_t why_size;
};

static int refuse(struct loader *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static int refuse(struct loader *l, const char *format, ...)
{
    va_list v;
    va_start(v, format);
    vsnprintf(l->why, l->why_size, format, v);
    va_end(v);
    return 1;
}

static int header_check(struct loader *l)
{
    GElf_Ehdr h;
    if (!gelf_getehdr(l->elf, &h) || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        h.e_ident[EI_DATA] != ELFDATA2LSB)
        return refuse(l, "not a 64-bit little-endian ELF file");
    if (h.e_machine != MACHINE_AMDGPU)
        return refuse(l, "ELF file for machine %u, not an AMD GPU code object", h.e_machine);
    if ((h.e_flags & FLAGS_MACH) != MACH_GFX1100)
        return refuse(l,
                      "code object for another GPU (flags 0x%x); compile with "
                      "--offload-arch=gfx1100",
                      h.e_flags);
    return 0;
}

/* Calls `use` for every PT_LOAD whose extent is sane. */
static int segments(struct loader *l, int (*use)(struct loader *l, const GElf_Phdr *p))
{
    size_t count;
    if (elf_getphdrnum(l->elf, &count))
        return refuse(l, "damaged program headers: %s", elf_errmsg(-1));
    for (size_t n = 0; n < count; n++) {
        GElf_Phdr p;
        if (!gelf_getphdr(l->elf, (int)n, &p))
            return refuse(l, "damaged program header %zu: %s", n, elf_errmsg(-1));
        if (p.p_type != PT_LOAD)
            continue;
        if (p.p_filesz > p.p_memsz || p.p_memsz > span_max || p.p_vaddr > span_max ||
            p.p_offset > l->size || p.p_filesz > l->size - p.p_offset)
            return refuse(l, "segment %zu lies outside the file", n);
        if (use(l, &p))
            return 1;
    }
    return 0;
}

static int segment_measure(struct loader *l, const GElf_Phdr *p)
{
    if (p->p_vaddr + p->p_memsz > l->span)
        l->span = p->p_vaddr + p->p_memsz;
    if (!(p->p_flags & PF_X))
        return 0;
    if (l->exec_size || p->p_vaddr % 4)
        return refuse(l, "more than one executable segment, or one that is not aligned");
    l->exec_low = p->p_vaddr;
    l->exec_size = p->p_filesz / 4 * 4;
    return 0;
}

static int segment_copy(struct loader *l, const GElf_Phdr *p)
{
    uint8_t *to = (uint8_t *)(uintptr_t)l->object->base + p->p_vaddr;
    memcpy(to, l->bytes + p->p_offset, p->p_filesz);
    return 0;
}

static int memory_fill(struct loader *l)
{
    if (segments(l, segment_measure))
        return 1;
    if (!l->span)
        return refuse(l, "code object has nothing to load");
    l->object->base = sim_memory_alloc(l->object->memory, l->span);
    if (!l->object->base)
        return refuse(l, "no room for a code object of %llu bytes",
                      (unsigned long long)l->span);
    l->object->size = l->span;
    memset((void *)(uintptr_t)l->object->base, 0, l->span);
    return segments(l, segment_copy);
}

/* Calls `use` with the data of every section of the type. */
static int sections(struct loader *l, unsigned type,
                    int (*use)(struct loader *l, const GElf_Shdr *h, Elf_Data *d))
{
    Elf_Scn *s = NULL;
    while ((s = elf_nextscn(l->elf, s)) != NULL) {
        GElf_Shdr h;
        if (!gelf_getshdr(s, &h))
            return refuse(l, "damaged section header: %s", elf_errmsg(-1));
        if (h.sh_type != type)
            continue;
        Elf_Data *d = elf_getdata(s, NULL);
        if (!d || (h.sh_size && !d->d_buf))
            return refuse(l, "damaged section: %s", elf_errmsg(-1));
        if (use(l, &h, d))
            return 1;
    }
    return 0;
}

static int note_read(struct loader *l, const char *text, size_t size)
{
    struct metadata m;
    if (metadata_read(text, size, &m, l->why, l->why_size))
        return 1;
    const bool good = metadata_append(&l->object->metadata, &m);
    metadata_release(&m);
    return good ? 0 : refuse(l, "out of memory");
}

static int notes_read(struct loader *l, const GElf_Shdr *h, Elf_Data *d)
{
    size_t at = 0, next, name, text;
    GElf_Nhdr n;
    (void)h;
    while (at < d->d_size && (next = gelf_getnote(d, at, &n, &name, &text)) > 0) {
        const char *bytes = d->d_buf;
        if (n.n_type == NOTE_METADATA && n.n_namesz == 7 && !memcmp(bytes + name, "AMDGPU", 7) &&
            note_read(l, bytes + text, n.n_descsz))
            return 1;
        at = next;
    }
    return 0;
}

static int relocations_apply(struct loader *l, const GElf_Shdr *h, Elf_Data *d)
{
    Elf_Scn *s = elf_getscn(l->elf, h->sh_link);
    Elf_Data *symbols = s ? elf_getdata(s, NULL) : NULL;
    for (size_t n = 0; h->sh_entsize && n < h->sh_size / h->sh_entsize; n++) {
        GElf_Rela r;
        GElf_Sym sym = {0};
        if (!gelf_getrela(d, (int)n, &r) || r.r_offset > l->span || l->span - r.r_offset < 8)
            return refuse(l, "relocation %zu lies outside the code object", n);
        const unsigned type = (unsigned)GELF_R_TYPE(r.r_info);
        if (type == RELOC_ABS64 &&
            (!symbols || !gelf_getsym(symbols, (int)GELF_R_SYM(r.r_info), &sym)))
            return refuse(l, "relocation %zu names no symbol", n);
        if (type != RELOC_ABS64 && type != RELOC_RELATIVE64)
            return refuse(l, "relocation type %u is not supported", type);
        const uint64_t value = l->object->base + sym.st_value + (uint64_t)r.r_addend;
        memcpy((uint8_t *)(uintptr_t)l->object->base + r.r_offset, &value, sizeof value);
    }
    return 0;
}

static int symbols_read(struct loader *l, const GElf_Shdr *h, Elf_Data *d)
{
    struct codeobject *o = l->object;
    const size_t count = h->sh_entsize ? h->sh_size / h->sh_entsize : 0;
    struct global *more = realloc(o->global, ((size_t)o->n_global + count + 1) * sizeof *more);
    if (!more)
        return refuse(l, "out of memory");
    o->global = more;
    for (size_t n = 0; n < count; n++) {
        GElf_Sym s;
        const char *name;
        if (!gelf_getsym(d, (int)n, &s) || !(name = elf_strptr(l->elf, h->sh_link, s.st_name)))
            return refuse(l, "damaged symbol %zu", n);
        const unsigned type = GELF_ST_TYPE(s.st_info);
        if (s.st_shndx == SHN_UNDEF || !*name || (type != STT_OBJECT && type != STT_FUNC) ||
            s.st_value > l->span || s.st_size > l->span - s.st_value)
            continue;
        char *copy = strdup(name);
        if (!copy)
            return refuse(l, "out of memory");
        o->global[o->n_global++] = (struct global){copy, o->base + s.st_value, s.st_size};
    }
    return 0;
}

static int code_map(struct loader *l)
{
    struct codeobject *o = l->object;
    if (!l->exec_size)
        return 0;
    const uint64_t address = o->base + l->exec_low;
    o->words = malloc(l->exec_size);
    if (!o->words)
        return refuse(l, "out of memory");
    memcpy(o->words, (const void *)(uintptr_t)address, l->exec_size);
    if (codemap_init(&o->code, o->words, l->exec_size / 4, address))
        return refuse(l, "no memory to decode %llu bytes of code",
                      (unsigned long long)l->exec_size);
    if (!sourceline_init(&o->lines, l->bytes, l->size, l->exec_low))
        return refuse(l, "out of memory");
    o->code.lines = &o->lines;
    return 0;
}

static int kernel_open(struct loader *l, const struct kernel_metadata *meta, struct kernel *k)
{
    const struct codeobject *o = l->object;
    const struct global *g = codeobject_global(o, meta->symbol);
    if (!g || g->size < sizeof k->descriptor)
        return refuse(l, "kernel %s has no descriptor", meta->name);
    k->meta = meta;
    k->descriptor_address = g->address;
    memcpy(&k->descriptor, (const void *)(uintptr_t)g->address, sizeof k->descriptor);
    const uint64_t entry = g->address + (uint64_t)k->descriptor.entry - o->code.address;
    if (entry % 4 || entry / 4 >= o->code.count)
        return refuse(l, "kernel %s begins outside the code", meta->name);
    k->entry = (uint32_t)(entry / 4);
    return 0;
}

static int kernels_open(struct loader *l)
{
    struct codeobject *o = l->object;
    o->kernel = calloc((size_t)o->metadata.n_kernel + 1, sizeof *o->kernel);
    if (!o->kernel)
        return refuse(l, "out of memory");
    for (int n = 0; n < o->metadata.n_kernel; n++) {
        if (kernel_open(l, &o->metadata.kernel[n], &o->kernel[n]))
            return 1;
        o->n_kernel++;
    }
    return 0;
}

static int load_all(struct loader *l)
{
    return header_check(l) || memory_fill(l) || sections(l, SHT_NOTE, notes_read) ||
           sections(l, SHT_DYNSYM, symbols_read) || sections(l, SHT_SYMTAB, symbols_read) ||
           sections(l, SHT_RELA, relocations_apply) || code_map(l) || kernels_open(l);
}

int codeobject_load(const void *bytes, size_t size, struct sim_memory *memory,
                    struct codeobject *ret, char *why, size_t why_size)
{
    *ret = (struct codeobject){.memory = memory};
    struct loader l = {
        .bytes = bytes, .size = size, .object = ret, .why = why, .why_size = why_size};
    elf_version(EV_CURRENT);
    l.elf = elf_memory((char *)(uintptr_t)bytes, size);
    int r = l.elf ? load_all(&l) : refuse(&l, "not readable as ELF: %s", elf_errmsg(-1));
    elf_end(l.elf);
    if (r)
        codeobject_release(ret);
    return r;
}

void codeobject_release(struct codeobject *c)
{
    codemap_release(&c->code);
    if (c->base)
        sim_memory_free(c->memory, c->base);
    if (c->segment)
        sim_memory_free(c->memory, c->segment);
    for (int n = 0; n < c->n_global; n++)
        free(c->global[n].name);
    free(c->global);
    free(c->kernel);
    free(c->words);
    sourceline_release(&c->lines);
    metadata_release(&c->metadata);
    *c = (struct codeobject){0};
}

struct kernel *codeobject_kernel(struct codeobject *c, const char *name)
{
    for (int n = 0; n < c->n_kernel; n++)
        if (strcmp(c->kernel[n].meta->name, name) == 0)
            return &c->kernel[n];
    return NULL;
}

const struct global *codeobject_global(const struct codeobject *c, const char *name)
{
    for (int n = 0; n < c->n_global; n++)
        if (strcmp(c->global[n].name, name) == 0)
            return &c->global[n];
    return NULL;
}
