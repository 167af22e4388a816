/* SPDX-License-Identifier: Apache-2.0 */
#include "printing.h"

#include <string.h>

#include "operand.h"

/* What an immediate means, by instruction; names as in salu.def. */
enum imm_form {
    IMM_NONE,
    IMM_DECIMAL,
    IMM_HEX,
    IMM_BRANCH,
    IMM_DELAY,
    IMM_DEPCTR,
    IMM_WAITCNT,
    IMM_SENDMSG,
    IMM_ENDPGM
};

static const struct {
    const char *name;
    enum imm_form form;
} immediates[] = {
#define SOPP(op, name, form, ...) {#name, IMM_##form},
#include "ops.def"
};

static enum imm_form form_of(const char *name)
{
    for (size_t n = 0; n < sizeof immediates / sizeof *immediates; n++)
        if (strcmp(immediates[n].name, name) == 0)
            return immediates[n].form;
    return IMM_NONE;
}

static void print_delay_slot(struct printing *p, const char *slot, unsigned v)
{
    static const char *const names[] = {"",
                                        "VALU_DEP_1",
                                        "VALU_DEP_2",
                                        "VALU_DEP_3",
                                        "VALU_DEP_4",
                                        "TRANS32_DEP_1",
                                        "TRANS32_DEP_2",
                                        "TRANS32_DEP_3",
                                        "FMA_ACCUM_CYCLE_1",
                                        "SALU_CYCLE_1",
                                        "SALU_CYCLE_2",
                                        "SALU_CYCLE_3"};
    if (v < sizeof names / sizeof *names)
        print_text(p, "%s(%s)", slot, names[v]);
    else
        print_text(p, "%s(/* invalid */)", slot);
}

static void print_delay(struct printing *p, unsigned v)
{
    static const char *const skips[] = {"SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"};
    const char *separator = " ";
    if (v & 15 || !v) {
        print_text(p, "%s", separator);
        if (v & 15)
            print_delay_slot(p, "instid0", v & 15);
        else
            print_text(p, "0");
        separator = " | ";
    }
    if (v >> 4 & 7) {
        print_text(p, "%sinstskip(%s)", separator, (v >> 4 & 7) < 6 ? skips[v >> 4 & 7] : "?");
        separator = " | ";
    }
    if (v >> 7 & 15) {
        print_text(p, "%s", separator);
        print_delay_slot(p, "instid1", v >> 7 & 15);
    }
}

/* vmcnt [15:10], lgkmcnt [9:4], expcnt [2:0]: those at their maximum are left out. */
static void print_waitcnt(struct printing *p, unsigned v)
{
    const unsigned vm = v >> 10 & 63, lgkm = v >> 4 & 63, exp = v & 7;
    const bool all = vm == 63 && lgkm == 63 && exp == 7;
    if (vm != 63 || all)
        print_text(p, " vmcnt(%u)", vm);
    if (exp != 7 || all)
        print_text(p, " expcnt(%u)", exp);
    if (lgkm != 63 || all)
        print_text(p, " lgkmcnt(%u)", lgkm);
}

static void print_depctr(struct printing *p, unsigned v)
{
    static const struct {
        const char *name;
        unsigned low, width;
    } fields[] = {{"depctr_hold_cnt", 7, 1}, {"depctr_sa_sdst", 0, 1},
                  {"depctr_va_vdst", 12, 4}, {"depctr_va_sdst", 9, 3},
                  {"depctr_va_ssrc", 8, 1},  {"depctr_va_vcc", 1, 1},
                  {"depctr_vm_vsrc", 2, 3}};
    if (v & 0x60) { /* bits without a name */
        print_text(p, " 0x%x", v);
        return;
    }
    for (size_t n = 0; n < sizeof fields / sizeof *fields; n++) {
        const unsigned most = (1u << fields[n].width) - 1, value = v >> fields[n].low & most;
        if (value != most)
            print_text(p, " %s(%u)", fields[n].name, value);
    }
}

static void print_message(struct printing *p, unsigned v)
{
    static const struct {
        unsigned number;
        const char *name;
    } messages[] = {{1, "MSG_INTERRUPT"},          {2, "MSG_HS_TESSFACTOR"},
                    {3, "MSG_DEALLOC_VGPRS"},      {9, "MSG_GS_ALLOC_REQ"},
                    {128, "MSG_RTN_GET_DOORBELL"}, {129, "MSG_RTN_GET_DDID"},
                    {130, "MSG_RTN_GET_TMA"},      {131, "MSG_RTN_GET_REALTIME"},
                    {132, "MSG_RTN_SAVE_WAVE"},    {133, "MSG_RTN_GET_TBA"}};
    for (size_t n = 0; n < sizeof messages / sizeof *messages; n++)
        if (messages[n].number == v) {
            print_text(p, " sendmsg(%s)", messages[n].name);
            return;
        }
    print_text(p, " sendmsg(%u, 0, 0)", v);
}

static void print_sopp(struct printing *p, const struct inst *i)
{
    const unsigned v = (uint16_t)i->imm;
    switch (form_of(i->code->name)) {
    case IMM_DECIMAL:
        print_text(p, " %u", v);
        break;
    case IMM_HEX:
        print_text(p, " 0x%x", v);
        break;
    case IMM_BRANCH:
        print_text(p, " %u", v);
        break;
    case IMM_DELAY:
        print_delay(p, v);
        break;
    case IMM_DEPCTR:
        print_depctr(p, v);
        break;
    case IMM_WAITCNT:
        print_waitcnt(p, v);
        break;
    case IMM_SENDMSG:
        print_message(p, v);
        break;
    case IMM_ENDPGM:
        if (v)
            print_text(p, " %u", v);
        break;
    case IMM_NONE:
        break;
    }
}

static void print_hwreg(struct printing *p, unsigned v)
{
    static const char *const names[32] = {
        [1] = "HW_REG_MODE",          [2] = "HW_REG_STATUS",
        [3] = "HW_REG_TRAPSTS",       [5] = "HW_REG_GPR_ALLOC",
        [6] = "HW_REG_LDS_ALLOC",     [7] = "HW_REG_IB_STS",
        [15] = "HW_REG_SH_MEM_BASES", [18] = "HW_REG_PERF_SNAPSHOT_PC_LO",
        [20] = "HW_REG_FLAT_SCR_LO",  [21] = "HW_REG_FLAT_SCR_HI",
        [23] = "HW_REG_HW_ID1",       [24] = "HW_REG_HW_ID2",
        [29] = "HW_REG_SHADER_CYCLES"};
    const unsigned id = v & 63, low = v >> 6 & 31, width = (v >> 11 & 31) + 1;
    if (id < 32 && names[id])
        print_text(p, "hwreg(%s", names[id]);
    else
        print_text(p, "hwreg(%u", id);
    if (low || width != 32)
        print_text(p, ", %u, %u", low, width);
    print_text(p, ")");
}

static void print_sopk(struct printing *p, const struct inst *i)
{
    const char *name = i->code->name;
    const unsigned v = (uint16_t)i->imm;
    if (strncmp(name, "s_setreg", 8) == 0) {
        print_text(p, " ");
        print_hwreg(p, v);
        print_text(p, ", ");
        if (i->src[1].kind)
            print_operand(p, &i->src[1]);
        else
            print_sgpr(p, i->d, 1);
        return;
    }
    print_comma(p);
    if (i->code->d == T_Z) {
        print_text(p, "0x%x", v);
        return;
    }
    print_sgpr(p, i->d, optype_registers((enum optype)i->code->d));
    print_text(p, ", ");
    if (strcmp(name, "s_getreg_b32") == 0)
        print_hwreg(p, v);
    else if (strcmp(name, "s_call_b64") == 0)
        print_text(p, "%u", v);
    else
        print_text(p, "0x%x", v);
}

void print_scalar(struct printing *p, const struct inst *i)
{
    if (i->encoding == ENC_SOPP) {
        print_sopp(p, i);
        return;
    }
    if (i->encoding == ENC_SOPK) {
        print_sopk(p, i);
        return;
    }
    if (i->code->d != T_Z) {
        print_comma(p);
        print_sgpr(p, i->d, optype_registers((enum optype)i->code->d));
    }
    if (strncmp(i->code->name, "s_sendmsg_rtn", 13) == 0) {
        print_text(p, ",");
        print_message(p, i->src[0].value);
        return;
    }
    for (int n = 0; n < 2; n++)
        if (i->src[n].kind) {
            print_comma(p);
            print_operand(p, &i->src[n]);
        }
}
