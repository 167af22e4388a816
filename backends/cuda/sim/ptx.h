/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_PTX_H
#define GPUPARITY_CUDA_SIM_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "token.h"

/* A module of PTX text as the parser leaves it: names resolved, nothing checked against what an
 * instruction accepts (that is lowering's part). Everything lives in the module's arena. */

/* What may stand after a dot in an instruction: first the types, then the other words. */
enum ptx_word {
    WORD_unknown, /* compare its text */
#define TYPE(name, bits, kind) TYPE_##name,
#include "type.def"
#undef TYPE
    TYPE_COUNT_,
    WORD_first_ = TYPE_COUNT_ - 1,
#define WORD(name) WORD_##name,
#include "word.def"
#undef WORD
    WORD_COUNT_
};

enum ptx_type_kind {
    TYPE_KIND_NONE,
    TYPE_KIND_PRED,
    TYPE_KIND_BITS,
    TYPE_KIND_UNSIGNED,
    TYPE_KIND_SIGNED,
    TYPE_KIND_FLOAT
};
struct ptx_type_info {
    const char *name;
    int bits;
    enum ptx_type_kind kind;
};
extern const struct ptx_type_info ptx_types[TYPE_COUNT_]; /* by enum ptx_word; [0] is empty */

enum ptx_special {
#define SPECIAL(id, name, component, bits) SPECIAL_##id,
#include "special.def"
#undef SPECIAL
    SPECIAL_COUNT_
};
extern const int ptx_special_bits[SPECIAL_COUNT_];

enum ptx_space {
    SPACE_GENERIC,
    SPACE_REG,
    SPACE_GLOBAL,
    SPACE_SHARED,
    SPACE_LOCAL,
    SPACE_CONST,
    SPACE_PARAM
};

enum ptx_symbol_kind {
    SYMBOL_REG,
    SYMBOL_VARIABLE,
    SYMBOL_FUNCTION,
    SYMBOL_LABEL,
    SYMBOL_PROTOTYPE,
    SYMBOL_TARGETS
};

/* An address inside an initialiser, filled in when the module's variables have their places. */
struct ptx_fixup {
    struct ptx_fixup *next;
    struct ptx_symbol *symbol;
    uint64_t offset, addend;
    int size;
};

struct ptx_symbol {
    enum ptx_symbol_kind kind;
    struct slice name;
    int scope; /* index into ptx_module.scope_parent; 0 = the module */
    int line, column;
    struct ptx_symbol *next_hash;

    enum ptx_space space;
    enum ptx_word type;
    int vector;                         /* elements of a .v2/.v4 declaration, else 1 */
    bool range;                         /* REG: %r<n>: the name is the prefix */
    uint32_t first, count;              /* REG: ids within the function */
    uint64_t size, align;               /* VARIABLE: bytes */
    bool external, visible, array_open; /* .extern; .visible/.weak; [] without a length */
    uint8_t *bytes;                     /* VARIABLE: initialiser or NULL; `size` bytes */
    struct ptx_fixup *fixup;
    struct ptx_function *function; /* VARIABLE in a body: where; FUNCTION: itself */
    uint32_t target;               /* LABEL: index of the instruction that follows */
    uint64_t address; /* VARIABLE: given by the loader, or (shared, local, param) by lowering */
    const void *placed;        /* VARIABLE in shared memory: the image it has an address in */
    struct ptx_symbol *next;   /* list the symbol is in */
    struct ptx_operand **item; /* TARGETS: the labels */
    uint32_t n_item;
};

enum ptx_operand_kind {
    OPERAND_REG,
    OPERAND_INTEGER,
    OPERAND_F32,
    OPERAND_F64,
    OPERAND_SPECIAL,
    OPERAND_SYMBOL, /* variable or function, plus `bits` */
    OPERAND_LABEL,
    OPERAND_ADDRESS, /* [item[0] + bits]; item[0] is REG, SYMBOL or INTEGER */
    OPERAND_VECTOR,  /* {a, b, ...} */
    OPERAND_PAIR,    /* p|q */
    OPERAND_LIST,    /* (a, b, ...) of a call */
    OPERAND_SINK     /* _ */
};

struct ptx_operand {
    enum ptx_operand_kind kind;
    bool negated;  /* !p */
    uint32_t reg;  /* REG */
    uint64_t bits; /* immediates; the offset of an address */
    enum ptx_special special;
    struct ptx_symbol *symbol;
    struct slice name; /* LABEL: until resolved */
    int scope, line, column;
    uint32_t n;
    struct ptx_operand *item;
};

enum { PTX_WORD_MAX = 16, PTX_OPERAND_MAX = 12 };

struct ptx_inst {
    struct slice op;                      /* "add" */
    struct slice text;                    /* "add.rn.f32", for messages */
    struct slice word_text[PTX_WORD_MAX]; /* without the dots */
    uint16_t word[PTX_WORD_MAX];
    uint64_t has[(WORD_COUNT_ + 63) / 64]; /* which words occur */
    uint8_t n_word, n_type, n_operand;
    uint8_t type[6]; /* those of `word` that are types, in order */
    bool guarded, guard_not;
    uint32_t guard; /* register id */
    struct ptx_operand *operand;
    int line, column;
};
static inline bool inst_has(const struct ptx_inst *i, enum ptx_word w)
{
    return i->has[w >> 6] >> (w & 63) & 1;
}

struct ptx_function {
    struct slice name;
    struct ptx_symbol *symbol;
    bool entry, defined, noreturn;
    struct ptx_symbol *param, *result; /* lists, in order */
    struct ptx_symbol *variable;       /* declared in the body: local, shared, param */
    uint8_t *reg_type;                 /* enum ptx_word by register id */
    uint32_t n_reg;
    size_t reg_room;
    struct ptx_inst *inst;
    uint32_t n_inst;
    size_t inst_room;
    uint32_t max_threads[3], required_threads[3]; /* 0: not said */
    struct ptx_function *next;
    int index; /* in order of appearance */
};

struct ptx_module {
    struct arena arena;
    char *text; /* owned: a copy, the slices point into it */
    size_t size;
    int version;                   /* 80 for .version 8.0 */
    int target;                    /* 86 for sm_86 */
    int address_size; /* 64 */
    bool debug;       /* .target sm_86, debug: ptxas does not optimise it */
    struct ptx_function *function; /* list */
    struct ptx_symbol *variable;   /* list of the module's variables */
    int n_function;
    uint32_t n_scope;
    int *scope_parent;
    size_t scope_room;
    struct ptx_symbol **hash; /* by scope and name */
    size_t hash_size, n_symbol;
};

/* Parses `size` bytes of text. False with `ret_error` filled on the first mistake; the module
 * is then empty. Any bytes are accepted as input. */
bool ptx_parse(const char *text, size_t size, struct ptx_module *ret_module,
               struct ptx_error *ret_error);
void ptx_release(struct ptx_module *m); /* accepts a zeroed struct */

/* The symbol `name` seen from `scope` outwards; NULL if there is none. */
struct ptx_symbol *ptx_find(const struct ptx_module *m, int scope, struct slice name);
struct ptx_symbol *ptx_add(struct ptx_module *m, int scope, struct slice name,
                           enum ptx_symbol_kind kind);

#endif
