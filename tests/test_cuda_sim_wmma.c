/* SPDX-License-Identifier: Apache-2.0 */
#include "cudamatrix.h"

/* wmma, memory to memory: whole products of small integers, against the plain triple loop. */

static const struct fragment {
    const char *shape, *a_layout, *b_layout, *c_layout, *types, *a_type, *c_type;
    int m, n, k, a_registers, b_registers, c_registers;
    enum format a;
    int c_bits;
} fragments[] = {
    {"m16n16k16", "row", "col", "row", "f32.f32", "f16", "f32", 16, 16, 16, 8, 8, 8, F16, 32},
    {"m16n16k16", "col", "row", "col", "f16.f16", "f16", "f16", 16, 16, 16, 8, 8, 4, F16, 16},
    {"m32n8k16", "row", "row", "row", "f32.f32", "f16", "f32", 32, 8, 16, 8, 8, 8, F16, 32},
    {"m8n32k16", "col", "col", "col", "f32.f32", "f16", "f32", 8, 32, 16, 8, 8, 8, F16, 32},
    {"m16n16k16", "row", "row", "col", "f32.bf16.bf16.f32", "bf16", "f32", 16, 16, 16, 4, 4, 8,
     BF16, 32},
    {"m32n8k16", "col", "col", "row", "f32.bf16.bf16.f32", "bf16", "f32", 32, 8, 16, 8, 2, 8,
     BF16, 32},
    {"m16n16k8", "row", "col", "row", "f32.tf32.tf32.f32", "tf32", "f32", 16, 16, 8, 4, 4, 8,
     TF32, 32},
    {"m16n16k16", "row", "col", "row", "s32.s8.s8.s32", "s8", "s32", 16, 16, 16, 2, 2, 8, S8,
     0},
    {"m8n32k16", "col", "row", "row", "s32.u8.u8.s32.satfinite", "u8", "s32", 8, 32, 16, 1, 4,
     8, U8, 0},
};

enum { A_AT = 0, B_AT = 4096, C_AT = 8192, D_AT = 16384, BYTES = 24576, STRIDE = 40 };

static void element_store(uint8_t *to, int bits, int outer, int inner, uint32_t v)
{
    memcpy(to + (outer * STRIDE + inner) * bits / 8, &v, (size_t)bits / 8);
}

static int x[32][16], y[16][32], z[32][32];
static uint8_t bytes[BYTES];

static void operands_draw(const struct fragment *f)
{
    int bits = format_bits[f->a], c_bits = f->c_bits == 16 ? 16 : 32;
    bool a_row = f->a_layout[0] == 'r', b_row = f->b_layout[0] == 'r',
         c_row = f->c_layout[0] == 'r';
    memset(bytes, 0, sizeof bytes);
    for (int i = 0; i < f->m; i++)
        for (int l = 0; l < f->k; l++) {
            x[i][l] = drawn(f->a);
            element_store(bytes + A_AT, bits, a_row ? i : l, a_row ? l : i,
                          encoded(f->a, x[i][l]));
        }
    for (int l = 0; l < f->k; l++)
        for (int j = 0; j < f->n; j++) {
            y[l][j] = drawn(f->a);
            element_store(bytes + B_AT, bits, b_row ? l : j, b_row ? j : l,
                          encoded(f->a, y[l][j]));
        }
    for (int i = 0; i < f->m; i++)
        for (int j = 0; j < f->n; j++) {
            z[i][j] = draw(-9, 9);
            element_store(bytes + C_AT, c_bits, c_row ? i : j, c_row ? j : i,
                          c_encoded(f->c_bits, z[i][j]));
        }
}

static void kernel_text(const struct fragment *f, char *text)
{
    const char *sh = f->shape;
    size_t at = (size_t)sprintf(
        text,
        "%s.visible .entry k(.param .u64 p)\n{\n.reg .b64 %%q; .reg .b32 %%s, %%a<8>, %%b<8>, "
        "%%c<8>;\n"
        "ld.param.u64 %%q, [p]; mov.u32 %%s, %d;\nwmma.load.a.sync.aligned.%s.%s.global.%s ",
        head, STRIDE, f->a_layout, sh, f->a_type);
    at += list_text(text + at, 'a', f->a_registers);
    at += (size_t)sprintf(text + at, ", [%%q], %%s;\nwmma.load.b.sync.aligned.%s.%s.global.%s ",
                          f->b_layout, sh, f->a_type);
    at += list_text(text + at, 'b', f->b_registers);
    at += (size_t)sprintf(text + at,
                          ", [%%q+%d], %%s;\nwmma.load.c.sync.aligned.%s.%s.global.%s ", B_AT,
                          f->c_layout, sh, f->c_type);
    at += list_text(text + at, 'c', f->c_registers);
    at += (size_t)sprintf(text + at, ", [%%q+%d], %%s;\nwmma.mma.sync.aligned.%s.%s.%s.%s ",
                          C_AT, f->a_layout, f->b_layout, sh, f->types);
    at += list_text(text + at, 'c', f->c_registers);
    at += (size_t)sprintf(text + at, ", ");
    at += list_text(text + at, 'a', f->a_registers);
    at += (size_t)sprintf(text + at, ", ");
    at += list_text(text + at, 'b', f->b_registers);
    at += (size_t)sprintf(text + at, ", ");
    at += list_text(text + at, 'c', f->c_registers);
    at += (size_t)sprintf(text + at, ";\nwmma.store.d.sync.aligned.%s.%s.global.%s [%%q+%d], ",
                          f->c_layout, sh, f->c_type, D_AT);
    at += list_text(text + at, 'c', f->c_registers);
    sprintf(text + at, ", %%s;\nret;\n}\n");
}

START_TEST(each_fragment)
{
    static char text[4096];
    const struct fragment *f = &fragments[_i];
    int c_bits = f->c_bits == 16 ? 16 : 32;
    bool c_row = f->c_layout[0] == 'r';
    gpu_start();
    operands_draw(f);
    kernel_text(f, text);
    ptx_run(text, bytes, sizeof bytes, 1, 32);
    for (int i = 0; i < f->m; i++)
        for (int j = 0; j < f->n; j++) {
            int want = z[i][j];
            uint32_t have = 0;
            for (int l = 0; l < f->k; l++)
                want += x[i][l] * y[l][j];
            memcpy(&have,
                   bytes + D_AT + ((c_row ? i : j) * STRIDE + (c_row ? j : i)) * c_bits / 8,
                   (size_t)c_bits / 8);
            ck_assert_msg(have == c_encoded(f->c_bits, want),
                          "%s %s: row %d, column %d: %#x, expected %d", f->shape, f->types, i, j,
                          have, want);
        }
}
END_TEST

START_TEST(all_forms)
{
    forms_check(" wmma ");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_sim_wmma");
    TCase *t = tcase_create("wmma");
    tcase_add_loop_test(t, each_fragment, 0, (int)(sizeof fragments / sizeof *fragments));
    tcase_add_test(t, all_forms);
    suite_add_tcase(s, t);
    return suite_run_in_one(s);
}
