/* SPDX-License-Identifier: Apache-2.0 */
#include "taint.h"

#include "opcode.h"
#include "watch.h"

/* Scalar instructions: values and unset bits of what goes in, then the instruction, then the
 * unset bits of what came out. */

enum rule {
    RULE_ALL, /* one unset bit spoils the whole result */
    RULE_NONE,
    RULE_MOVE,
    RULE_AND,
    RULE_OR,
    RULE_SUM, /* spoils the bits above */
    RULE_SELECT,
    RULE_BITSET,
    RULE_LEFT,
    RULE_RIGHT,
    RULE_RIGHT_SIGNED
};
enum {
    NOT_A = 1, /* AND and OR: an operand is inverted first */
    NOT_B = 2,
    SAVES = 4,  /* EXEC is the second operand and gets the result, d its old value */
    WRITES = 8, /* the same, and d gets the result too */
    KEEPS_SCC = 16,
    READS_SCC = 32,
    COMPARES = 64, /* only SCC is written */
    JUMPS = 128,
    NOTHING = 256 /* writes neither */
};

struct flow {
    uint16_t rule, flags;
};

static struct flow flow_of(const struct inst *i)
{
    static const struct flow flows[OP_COUNT_] = {
#define FLOW(name, rule, flags) [OP_##name] = {RULE_##rule, flags},
#include "scalar_flow.def"
#undef FLOW
    };
    return i->encoding == ENC_SOPC ? (struct flow){RULE_ALL, COMPARES}
                                   : flows[i->code - opcode_at(0)];
}

static bool is_wide(const struct inst *i)
{
    return optype_is64((enum optype)i->code->d);
}

static uint64_t pair(const struct wave *w, unsigned reg, bool wide)
{
    return w->s[reg] | (wide ? (uint64_t)w->s[reg + 1] << 32 : 0);
}

static uint64_t source_value(const struct wave *w, const struct operand *o)
{
    return optype_is64((enum optype)o->type) ? scalar_64(w, o) : scalar_32(w, o);
}

static uint64_t source_unset(const struct wave *w, const struct operand *o)
{
    const struct wave *t = &w->taint->shadow;
    if (o->kind == OPERAND_SCC)
        return t->scc;
    if (o->kind != OPERAND_SGPR || o->index == WAVE_EXEC)
        return 0;
    return pair(t, o->index, optype_is64((enum optype)o->type));
}

/* Values and unset bits of the operands; u_old is the destination's. */
struct inputs {
    uint64_t a, b, ua, ub, u_old;
    bool scc, u_scc;
};

static struct inputs inputs_of(const struct wave *w, const struct inst *i, unsigned flags)
{
    const struct wave *t = &w->taint->shadow;
    struct inputs n = {.scc = w->scc, .u_scc = t->scc};
    if (i->code->d != T_Z && i->d < WAVE_SINK && i->d != WAVE_EXEC)
        n.u_old = pair(t, i->d, is_wide(i));
    if (i->src[0].kind) {
        n.a = source_value(w, &i->src[0]);
        n.ua = source_unset(w, &i->src[0]);
    }
    if (flags & (SAVES | WRITES)) {
        n.b = pair(w, WAVE_EXEC, is_wide(i));
    } else if (i->src[1].kind) {
        n.b = source_value(w, &i->src[1]);
        n.ub = source_unset(w, &i->src[1]);
    }
    if (i->encoding == ENC_SOPK)
        n.ub = n.u_old;
    n.a = flags & NOT_A ? ~n.a : n.a;
    n.b = flags & NOT_B ? ~n.b : n.b;
    return n;
}

static uint64_t shifted(const struct inst *i, enum rule rule, uint64_t u, uint64_t by)
{
    by &= is_wide(i) ? 63 : 31;
    if (rule == RULE_LEFT)
        return u << by;
    if (rule == RULE_RIGHT)
        return u >> by;
    return is_wide(i) ? (uint64_t)((int64_t)u >> by)
                      : (uint64_t)((int64_t)(int32_t)(uint32_t)u >> by);
}

static uint64_t unset_result(const struct inst *i, struct flow f, const struct inputs *n)
{
    const uint64_t u = n->ua | n->ub, all = ~0ull;
    switch ((enum rule)f.rule) {
    case RULE_NONE:
        return 0;
    case RULE_MOVE:
        return u;
    case RULE_AND:
        return (n->ua & n->ub) | (n->ua & n->b) | (n->ub & n->a);
    case RULE_OR:
        return (n->ua & n->ub) | (n->ua & ~n->b) | (n->ub & ~n->a);
    case RULE_SUM:
        return u | -u;
    case RULE_SELECT:
        if (n->u_scc)
            return all;
        return n->scc ? n->ua : i->encoding == ENC_SOP2 ? n->ub : n->u_old;
    case RULE_BITSET:
        return n->ua ? all : n->u_old & ~(1ull << (n->a & (is_wide(i) ? 63 : 31)));
    case RULE_LEFT:
    case RULE_RIGHT:
    case RULE_RIGHT_SIGNED:
        return n->ub ? all : shifted(i, (enum rule)f.rule, n->ua, n->b);
    case RULE_ALL:
        break;
    }
    return u || (f.flags & READS_SCC && n->u_scc) ? all : 0;
}

static void destination_set(struct wave *t, const struct inst *i, uint64_t unset)
{
    if (i->code->d == T_Z || i->d >= WAVE_SINK)
        return;
    t->s[i->d] = (uint32_t)unset;
    if (is_wide(i))
        t->s[i->d + 1] = (uint32_t)(unset >> 32);
}

/* Is SCC, which says that a result is not 0, open? Not if a bit that is set is 1. */
static bool scc_unset(const struct wave *w, const struct inst *i, struct flow f, uint64_t unset)
{
    if (f.flags & COMPARES)
        return unset != 0;
    unset &= is_wide(i) ? ~0ull : 0xffffffff;
    const bool whole = f.rule == RULE_AND || f.rule == RULE_OR || f.rule == RULE_MOVE;
    const uint64_t value = pair(w, f.flags & SAVES ? WAVE_EXEC : i->d, is_wide(i));
    return unset && (!whole || !(value & ~unset));
}

/* Branches on what is not set. */
static int branch_check(struct wave *w, const struct inst *i)
{
    static const char what[] = "branches on something";
    const struct wave *t = &w->taint->shadow;
    const uint32_t unset = t->s[WAVE_VCC];
    switch ((int)(i->code - opcode_at(0))) {
    case OP_s_cbranch_scc0:
    case OP_s_cbranch_scc1:
        return t->scc ? taint_found(w, i, -1, what) : WAVE_GOES_ON;
    case OP_s_cbranch_vccz:
    case OP_s_cbranch_vccnz:
        return unset && !(w->s[WAVE_VCC] & ~unset)
                   ? taint_found(w, i, __builtin_ctz(unset), what)
                   : WAVE_GOES_ON;
    default:
        return WAVE_GOES_ON;
    }
}

/* Registers chosen by M0: the unset bits make the same move. */
static int relative_run(struct wave *w, const struct inst *i)
{
    struct wave *t = &w->taint->shadow;
    const uint32_t unset = t->s[WAVE_M0];
    const int event =
        unset ? taint_found(w, i, -1, "chooses a register by something") : i->exec(w, i);
    if (event)
        return event;
    t->s[WAVE_M0] = w->s[WAVE_M0];
    i->exec(t, i);
    t->s[WAVE_M0] = 0;
    return WAVE_GOES_ON;
}

int taint_scalar(struct wave *w, const struct inst *i)
{
    struct wave *t = &w->taint->shadow;
    if (i->code->exec == exec_s_movrels_b32 || i->code->exec == exec_s_movrels_b64 ||
        i->code->exec == exec_s_movreld_b32 || i->code->exec == exec_s_movreld_b64 ||
        i->code->exec == exec_s_movrelsd_2_b32)
        return relative_run(w, i);
    const struct flow f = flow_of(i);
    const struct inputs n = inputs_of(w, i, f.flags);
    const uint64_t unset = unset_result(i, f, &n);
    int event = i->encoding == ENC_SOPP ? branch_check(w, i) : WAVE_GOES_ON;
    if (!event && f.flags & JUMPS && n.ua)
        event = taint_found(w, i, -1, "jumps to something");
    if (!event)
        event = i->exec(w, i);
    if (event || f.flags & NOTHING || i->encoding == ENC_SOPP)
        return event;
    if (!(f.flags & COMPARES))
        destination_set(t, i, f.flags & SAVES ? 0 : unset);
    if (!(f.flags & KEEPS_SCC))
        t->scc = scc_unset(w, i, f, unset);
    const bool to_exec = f.flags & (SAVES | WRITES) || (i->code->d != T_Z && i->d == WAVE_EXEC);
    return taint_exec(w, i, to_exec && !(f.flags & COMPARES) ? (uint32_t)unset : 0);
}

/* --- scalar loads */

static bool address_unset(const struct wave *t, const struct inst *i)
{
    uint32_t unset = i->saddr != WAVE_NULL ? t->s[i->saddr] : 0;
    for (unsigned n = 0; n < (i->code->exec == exec_smem_buffer_load ? 4u : 2u); n++)
        unset |= t->s[i->address + n];
    return unset != 0;
}

int taint_smem(struct wave *w, const struct inst *i)
{
    struct taint *t = w->taint;
    uint64_t address = 0;
    if (!i->code->bytes)
        return i->exec(w, i);
    if (address_unset(&t->shadow, i))
        return taint_found(w, i, -1, "uses an address");
    const bool reads = smem_where(w, i, &address);
    const int event = i->exec(w, i);
    for (unsigned n = 0; !event && n < i->code->bytes; n++) {
        const void *p = (const void *)(uintptr_t)(address + 4 * n);
        const bool set = !reads || watch_written(w->block->watch->watch, p, 4);
        t->shadow.s[i->d + n] = set ? 0 : ~0u;
        if (!set)
            taint_read(w, i, "global memory");
    }
    return event;
}
