/* SPDX-License-Identifier: Apache-2.0 */
#include "cudasim.h"

#include <elf.h>
#include <math.h>
#include <unistd.h>

/* What the simulated GPU makes of bare mul and add, against what ptxas makes of them: random
 * straight-line programs, whose machine code a few lines here execute. The same bits mean that the
 * same products were joined with the same sums, not only as many. */

/* 14 of 6000 programs were not the same when the rule was settled with ptxas 13.0: two products that
 * are used several times each and meet in one sum, or one used as it is and negated. */
enum { PROGRAMS = 300, MOST_WRONG = 2, INPUTS = 6, VALUES = 24, WORDS = 64, TRIES = 4 };

/* --- programs ---------------------------------------------------------------------------------
 */

static char text[1 << 20];

static uint64_t state;
static uint32_t draw(uint32_t below)
{
    state++;
    return (uint32_t)(mix(state * 0x9e3779b97f4a7c15) >> 33) % below;
}

/* An operand: recent values more often, so that products meet sums. */
static int operand_draw(int n)
{
    return draw(3) ? n - 1 - (int)draw(n < 4 ? (uint32_t)n : 4) : (int)draw((uint32_t)n);
}

static char *program_write(char *at, int number)
{
    static const char *const op[] = {"mul", "mul", "mul", "add", "add", "sub", "sub"};
    int n = INPUTS, steps = 3 + (int)draw(VALUES - INPUTS - 5);
    bool flush = draw(4) == 0, used[VALUES] = {false};
    at += sprintf(at,
                  ".visible .entry k%d(.param .u64 p)\n{\n.reg .b64 %%q; .reg .f32 %%f<%d>;\n"
                  "ld.param.u64 %%q, [p];\n",
                  number, VALUES);
    for (int k = 0; k < INPUTS; k++)
        at += sprintf(at, "ld.global.f32 %%f%d, [%%q+%d];\n", k, 4 * k);
    for (; n < INPUTS + steps; n++) {
        /* Some arithmetic has .ftz or .rn, which keeps it apart. */
        const char *round = draw(12) ? "" : ".rn", *ftz = flush != !draw(20) ? ".ftz" : "";
        int a = operand_draw(n), b = operand_draw(n);
        bool negation = draw(12) == 0;
        used[a] = true;
        used[b] |= !negation;
        if (negation)
            at += sprintf(at, "neg%s.f32 %%f%d, %%f%d;\n", flush ? ".ftz" : "", n, a);
        else
            at += sprintf(at, "%s%s%s.f32 %%f%d, %%f%d, %%f%d;\n", op[draw(7)], round, ftz, n, a,
                          b);
    }
    for (int k = INPUTS; k < n; k++)
        if (!used[k])
            at += sprintf(at, "st.global.f32 [%%q+%d], %%f%d;\n", 128 + 4 * k, k);
    return at + sprintf(at, "ret;\n}\n");
}

/* --- machine code -----------------------------------------------------------------------------
 * 128 bits an instruction: the operation in bits 0 to 11, register d in 16, a in 24, b or 32 bits of
 * a constant in 32, c in 64; found by comparing nvdisasm's text with the bits. */

struct machine {
    uint32_t r[256], memory[WORDS];
};

static unsigned char cubin[1 << 22];

static const unsigned char *code_find(const char *name, size_t *ret_size)
{
    Elf64_Ehdr h;
    memcpy(&h, cubin, sizeof h);
    const unsigned char *table = cubin + h.e_shoff;
    Elf64_Shdr names, s;
    memcpy(&names, table + h.e_shstrndx * sizeof s, sizeof s);
    for (unsigned k = 0; k < h.e_shnum; k++) {
        memcpy(&s, table + k * sizeof s, sizeof s);
        if (strcmp((const char *)cubin + names.sh_offset + s.sh_name, name))
            continue;
        *ret_size = s.sh_size;
        return cubin + s.sh_offset;
    }
    ck_abort_msg("no section %s", name);
}

static float float_of(uint32_t u, bool negative, bool absolute)
{
    float f;
    memcpy(&f, &u, sizeof f);
    f = absolute ? fabsf(f) : f;
    return negative ? -f : f;
}

static float flushed(float f, bool ftz)
{
    return ftz && fabsf(f) < 0x1p-126f ? copysignf(0, f) : f;
}

/* One instruction; false for the end, *ret_known false for one that is not in the list. */
static bool step(struct machine *m, uint64_t w0, uint64_t w1, bool *ret_known)
{
    unsigned op = w0 & 0xfff, d = w0 >> 16 & 255, ra = w0 >> 24 & 255, form = op >> 9;
    uint32_t constant = (uint32_t)(w0 >> 32), rb = m->r[w0 >> 32 & 255], rc = m->r[w1 & 255], x;
    unsigned place = (unsigned)(w0 >> 42) % WORDS;
    /* form 1: registers; 4: the constant is b; 2: it is c (of FFMA) or b (of FADD) */
    bool ftz = w1 >> 16 & 1, fma = (op & 0x1ff) == 0x023, imm_c = fma && form == 2;
    float a = float_of(m->r[ra], w1 >> 8 & 1, w1 >> 9 & 1);
    float b = form == 1 ? float_of(rb, w0 >> 63, w0 >> 62 & 1 && !fma)
              : imm_c   ? float_of(rc, false, false)
                        : float_of(constant, false, false);
    float c = imm_c ? float_of(constant, false, false) : float_of(rc, w1 >> 11 & 1, false), f;
    *ret_known = true;
    switch (op & 0x1ff) {
    case 0x14d: /* EXIT */
        return false;
    case 0x021:
        f = flushed(a, ftz) + flushed(b, ftz);
        break;
    case 0x020:
        f = flushed(a, ftz) * flushed(b, ftz);
        break;
    case 0x023:
        f = fmaf(flushed(a, ftz), flushed(b, ftz), flushed(c, ftz));
        break;
    case 0x002: /* MOV, of registers or a constant; addresses do not matter here */
        m->r[d] = op == 0x202 ? rb : constant;
        return true;
    case 0x024: /* IMAD.MOV, as that */
        m->r[d] = op == 0x224 ? rc : constant;
        return true;
    case 0x0b9: /* ULDC */
        return true;
    case 0x181:
        m->r[d] = m->memory[place];
        return true;
    case 0x186:
        m->memory[place] = rb;
        return true;
    default:
        *ret_known = false;
        return false;
    }
    f = flushed(f, ftz);
    memcpy(&x, &f, sizeof x);
    m->r[d] = f != f ? 0x7fffffff : x;
    m->r[255] = 0; /* RZ */
    return true;
}

static bool machine_run(const unsigned char *code, size_t size, uint32_t *memory,
                        unsigned *ret_unknown)
{
    struct machine m = {{0}, {0}};
    bool known = true, more = true;
    memcpy(m.memory, memory, sizeof m.memory);
    for (size_t at = 0; more && at + 16 <= size; at += 16) {
        uint64_t w[2];
        memcpy(w, code + at, sizeof w);
        more = step(&m, w[0], w[1], &known);
        if (!known)
            *ret_unknown = w[0] & 0xfff;
    }
    memcpy(memory, m.memory, sizeof m.memory);
    return known;
}

/* --- both ------------------------------------------------------------------------------------
 */

static void ptxas_run(void)
{
    char folder[] = "/tmp/gpuparity-ptxas-XXXXXX", command[1024], path[256];
    ck_assert(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/k.ptx", folder);
    FILE *f = fopen(path, "wb");
    ck_assert(f && fputs(text, f) >= 0 && !fclose(f));
    snprintf(command, sizeof command, "ptxas -arch=sm_86 %s -o %s/k.cubin", path, folder);
    ck_assert_msg(!system(command), "%s", command);
    unlink(path);
    snprintf(path, sizeof path, "%s/k.cubin", folder);
    f = fopen(path, "rb");
    ck_assert(f != NULL);
    size_t n = fread(cubin, 1, sizeof cubin, f);
    fclose(f);
    unlink(path);
    rmdir(folder);
    ck_assert(n > sizeof(Elf64_Ehdr) && n < sizeof cubin && !memcmp(cubin, ELFMAG, SELFMAG));
}

static void simulated_run(CUmodule m, int number, uint32_t *memory)
{
    char name[20];
    CUfunction f;
    CUdeviceptr p;
    void *arg[] = {&p};
    snprintf(name, sizeof name, "k%d", number);
    ck_assert_int_eq(cuModuleGetFunction(&f, m, name), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemAlloc_v2(&p, 4 * WORDS), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemcpyHtoD_v2(p, memory, 4 * WORDS), CUDA_SUCCESS);
    ck_assert_int_eq(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, arg, NULL), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemcpyDtoH_v2(memory, p, 4 * WORDS), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemFree_v2(p), CUDA_SUCCESS);
}

/* Numbers of full precision and like size: a rounding more or less shows. */
static void inputs_draw(uint32_t *memory)
{
    memset(memory, 0, 4 * WORDS);
    for (int k = 0; k < INPUTS; k++) {
        float f = (float)(1 + draw(1 << 23) * 0x1p-23) * (draw(2) ? 1.0f : -1.0f);
        memcpy(&memory[k], &f, sizeof f);
    }
}

static const char *program_of(int number)
{
    static char one[4096];
    char start[40];
    snprintf(start, sizeof start, ".entry k%d(", number);
    snprintf(one, sizeof one, "%s", strstr(text, start));
    one[strcspn(one, "}")] = 0;
    return one;
}

static void difference_print(int number, const uint32_t *a, const uint32_t *b)
{
    printf("%s", program_of(number));
    for (int k = 0; k < WORDS; k++)
        if (a[k] != b[k])
            printf("// [%d] ptxas %08x, simulated %08x\n", 4 * k, a[k], b[k]);
}

START_TEST(the_same_bits)
{
    if (system("command -v ptxas >/dev/null 2>&1")) {
        printf("skipped: mul and add as ptxas joins them (no ptxas: the CUDA toolkit)\n");
        return;
    }
    char *at = text + sprintf(text, "%s", head);
    state = (uint64_t)_i << 32;
    for (int k = 0; k < PROGRAMS; k++)
        at = program_write(at, k);
    ptxas_run();
    gpu_start();
    CUmodule m = ptx_load(text);
    int unread = 0, wrong = 0;
    for (int k = 0; k < PROGRAMS; k++) {
        char section[40];
        size_t size;
        unsigned unknown = 0;
        snprintf(section, sizeof section, ".text.k%d", k);
        const unsigned char *code = code_find(section, &size);
        for (int t = 0; t < TRIES; t++) {
            uint32_t a[WORDS], b[WORDS];
            inputs_draw(a);
            memcpy(b, a, sizeof a);
            if (!machine_run(code, size, a, &unknown)) {
                fprintf(stderr, "k%d: operation %#x is not known here\n", k, unknown);
                unread++;
                break;
            }
            simulated_run(m, k, b);
            if (!memcmp(a, b, sizeof a))
                continue;
            difference_print(k, a, b);
            wrong++;
            break;
        }
    }
    ck_assert_int_eq(unread, 0);
    ck_assert_int_le(wrong, MOST_WRONG);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_sim_ptxas");
    TCase *t = tcase_create("ptxas");
    tcase_add_loop_test(t, the_same_bits, 0, 4);
    suite_add_tcase(s, t);
    return suite_run_in_one(s);
}
