/* SPDX-License-Identifier: Apache-2.0 */
#include "cudamatrix.h"

/* Where mma, ldmatrix and movmatrix have their elements: whole products of small
 * integers, which every format holds exactly, against the plain triple loop. (The arithmetic
 * itself: test_sim_hmma.) */

static const struct {
    const char *text; /* after "mma.sync.aligned." */
    int m, n, k;
    enum format a, b;
    int c_bits;
} shapes[] = {
    {"m16n8k8.row.col.f32.f16.f16.f32", 16, 8, 8, F16, F16, 32},
    {"m16n8k16.row.col.f32.f16.f16.f32", 16, 8, 16, F16, F16, 32},
    {"m16n8k8.row.col.f16.f16.f16.f16", 16, 8, 8, F16, F16, 16},
    {"m16n8k16.row.col.f16.f16.f16.f16", 16, 8, 16, F16, F16, 16},
    {"m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8, 8, BF16, BF16, 32},
    {"m16n8k16.row.col.f32.bf16.bf16.f32", 16, 8, 16, BF16, BF16, 32},
    {"m16n8k4.row.col.f32.tf32.tf32.f32", 16, 8, 4, TF32, TF32, 32},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, 8, TF32, TF32, 32},
    {"m8n8k16.row.col.s32.s8.s8.s32", 8, 8, 16, S8, S8, 0},
    {"m16n8k16.row.col.s32.u8.s8.s32", 16, 8, 16, U8, S8, 0},
    {"m16n8k32.row.col.s32.s8.u8.s32", 16, 8, 32, S8, U8, 0},
    {"m16n8k32.row.col.satfinite.s32.s8.s8.s32", 16, 8, 32, S8, S8, 0},
    {"m8n8k32.row.col.s32.s4.u4.s32", 8, 8, 32, S4, U4, 0},
    {"m16n8k32.row.col.s32.u4.u4.s32", 16, 8, 32, U4, U4, 0},
    {"m16n8k64.row.col.s32.s4.s4.s32", 16, 8, 64, S4, S4, 0},
    {"m8n8k128.row.col.s32.b1.b1.s32.xor.popc", 8, 8, 128, B1, B1, 0},
    {"m16n8k128.row.col.s32.b1.b1.s32.and.popc", 16, 8, 128, B1, B1, 0},
    {"m16n8k256.row.col.s32.b1.b1.s32.xor.popc", 16, 8, 256, B1, B1, 0},
};

static int a[16][256], b[256][8], c[16][8], d[16][8];

/* Element i of lane l, as the PTX manual's tables say for each type. */
static void place_a(int bits, int l, int i, int *row, int *col)
{
    int group = l / 4, lane = l % 4, per = 32 / bits, reg = i / per;
    *row = group + (reg % 2 ? 8 : 0);
    *col = lane * per + i % per + (reg / 2) * 4 * per;
}

static void place_a8(int bits, int l, int i, int *row, int *col) /* eight rows: one register */
{
    *row = l / 4;
    *col = l % 4 * (32 / bits) + i;
}

static void place_b(int bits, int l, int i, int *row, int *col)
{
    int per = 32 / bits;
    *row = l % 4 * per + i % per + i / per * 4 * per;
    *col = l / 4;
}

/* Registers of a lane lie one after the other in memory: A, B, C, then D. */
enum { REGISTERS = 16 };

static void fragment_put(uint32_t *reg, int bits, int i, uint32_t v)
{
    int per = 32 / bits;
    reg[i / per] |= v << (i % per * bits);
}

static void matrices_draw(int s)
{
    bool and_ = strstr(shapes[s].text, "and.popc"), bit = shapes[s].a == B1;
    for (int i = 0; i < shapes[s].m; i++)
        for (int k = 0; k < shapes[s].k; k++)
            a[i][k] = drawn(shapes[s].a);
    for (int k = 0; k < shapes[s].k; k++)
        for (int j = 0; j < shapes[s].n; j++)
            b[k][j] = drawn(shapes[s].b);
    for (int i = 0; i < shapes[s].m; i++)
        for (int j = 0; j < shapes[s].n; j++) {
            d[i][j] = c[i][j] = draw(-9, 9);
            for (int k = 0; k < shapes[s].k; k++)
                d[i][j] +=
                    bit ? and_ ? a[i][k] & b[k][j] : a[i][k] ^ b[k][j] : a[i][k] * b[k][j];
        }
}

static void lanes_fill(int s, uint32_t lanes[32][REGISTERS], int n_a, int n_b)
{
    int a_bits = format_bits[shapes[s].a], half = shapes[s].c_bits == 16, row, col;
    for (int l = 0; l < 32; l++) {
        for (int i = 0; i < shapes[s].m * shapes[s].k / 32; i++) {
            (shapes[s].m == 8 ? place_a8 : place_a)(a_bits, l, i, &row, &col);
            fragment_put(lanes[l], a_bits, i, encoded(shapes[s].a, a[row][col]));
        }
        for (int i = 0; i < shapes[s].n * shapes[s].k / 32; i++) {
            place_b(a_bits, l, i, &row, &col);
            fragment_put(lanes[l] + n_a, a_bits, i, encoded(shapes[s].b, b[row][col]));
        }
        for (int i = 0; i < shapes[s].m * 8 / 32; i++)
            fragment_put(lanes[l] + n_a + n_b, half ? 16 : 32, i,
                         c_encoded(shapes[s].c_bits, c[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2]));
    }
}

START_TEST(each_shape)
{
    static uint32_t lanes[32][REGISTERS];
    static char text[4096];
    int s = _i, bits = format_bits[shapes[s].a], half = shapes[s].c_bits == 16;
    int n_a = shapes[s].m * shapes[s].k * bits / 1024,
        n_b = shapes[s].n * shapes[s].k * bits / 1024;
    int n_c = shapes[s].m * 8 / 32 / (half ? 2 : 1);
    gpu_start();
    memset(lanes, 0, sizeof lanes);
    matrices_draw(s);
    lanes_fill(s, lanes, n_a, n_b);
    size_t at = (size_t)sprintf(text,
                                "%s.visible .entry k(.param .u64 p)\n{\n.reg .b64 %%q, %%z; "
                                ".reg .b32 %%t, %%a<8>, %%b<8>, %%c<8>;\n"
                                "ld.param.u64 %%q, [p]; mov.u32 %%t, %%tid.x; mul.wide.u32 "
                                "%%z, %%t, 64; add.u64 %%q, %%q, %%z;\n",
                                head);
    const char name[] = "abc";
    int count[] = {n_a, n_b, n_c}, place = 0;
    for (int f = 0; f < 3; f++)
        for (int k = 0; k < count[f]; k++, place++)
            at += (size_t)sprintf(text + at, "ld.global.b32 %%%c%d, [%%q+%d];\n", name[f], k,
                                  place * 4);
    at += (size_t)sprintf(text + at, "mma.sync.aligned.%s ", shapes[s].text);
    at += list_text(text + at, 'c', n_c);
    at += (size_t)sprintf(text + at, ", ");
    at += list_text(text + at, 'a', n_a);
    at += (size_t)sprintf(text + at, ", ");
    at += list_text(text + at, 'b', n_b);
    at += (size_t)sprintf(text + at, ", ");
    at += list_text(text + at, 'c', n_c);
    at += (size_t)sprintf(text + at, ";\n");
    for (int k = 0; k < n_c; k++)
        at += (size_t)sprintf(text + at, "st.global.b32 [%%q+%d], %%c%d;\n", k * 4, k);
    sprintf(text + at, "ret;\n}\n");
    ptx_run(text, lanes, sizeof lanes, 1, 32);
    for (int l = 0; l < 32; l++)
        for (int i = 0; i < shapes[s].m * 8 / 32; i++) {
            uint32_t v = half ? lanes[l][i / 2] >> (16 * (i % 2)) & 0xffff : lanes[l][i];
            int row = l / 4 + i / 2 * 8, col = l % 4 * 2 + i % 2;
            ck_assert_msg(v == c_encoded(shapes[s].c_bits, d[row][col]),
                          "%s: row %d, column %d: %#x, expected %d", shapes[s].text, row, col,
                          v, d[row][col]);
        }
}
END_TEST

/* --- moving matrices -------------------------------------------------------------------------
 */

/* Shared memory holds 32 rows of eight 16-bit numbers, row r element e being 8r + e. */
static void shared_run(const char *body, uint32_t out[32][4])
{
    static char text[4096];
    memset(out, 0, 32 * 4 * sizeof **out);
    sprintf(
        text,
        "%s.visible .entry k(.param .u64 p)\n{\n.reg .b64 %%q, %%z; .reg .b32 %%t, %%s, "
        "%%r<8>, %%d<4>;\n"
        ".shared .align 16 .b8 sm[512];\nld.param.u64 %%q, [p]; mov.u32 %%t, %%tid.x; "
        "mul.wide.u32 %%z, %%t, 16; add.u64 %%q, %%q, %%z;\n"
        "mov.u32 %%r0, sm; shl.b32 %%s, %%t, 4; add.u32 %%s, %%s, %%r0; shl.b32 %%r0, %%t, 3; "
        "mad.lo.u32 %%r0, %%r0, 65537, 65536;\n"
        "add.u32 %%r1, %%r0, 131074; add.u32 %%r2, %%r1, 131074; add.u32 %%r3, %%r2, 131074;\n"
        "st.shared.v4.b32 [%%s], {%%r0, %%r1, %%r2, %%r3}; bar.sync 0;\n"
        "mov.u32 %%d0, 0; mov.u32 %%d1, 0; mov.u32 %%d2, 0; mov.u32 %%d3, 0;\n%s\n"
        "st.global.v4.b32 [%%q], {%%d0, %%d1, %%d2, %%d3};\nret;\n}\n",
        head, body);
    ptx_run(text, out, 32 * 4 * sizeof **out, 1, 32);
}

static uint32_t two(int first, int second)
{
    return (uint32_t)first | (uint32_t)second << 16;
}

START_TEST(matrix_moves)
{
    uint32_t out[32][4];
    static const struct {
        const char *text;
        int n;
        bool trans;
    } cases[] = {
        {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d0}, [%s];", 1, false},
        {"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%d0, %d1}, [%s];", 2, false},
        {"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%d0, %d1, %d2, %d3}, [%s];", 4, false},
        {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%d0, %d1, %d2, %d3}, [%s];", 4, true},
        {"ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%d0, %d1}, [%s];", 2, true},
        {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r7}, [%s]; "
         "movmatrix.sync.aligned.m8n8.trans.b16 %d0, %r7;",
         1, true}};
    gpu_start();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        shared_run(cases[k].text, out);
        for (int l = 0; l < 32; l++)
            for (int x = 0; x < cases[k].n; x++) {
                int row = 8 * x + l / 4, col = l % 4 * 2;
                uint32_t want = cases[k].trans ? two(8 * (8 * x + col) + l / 4,
                                                     8 * (8 * x + col + 1) + l / 4)
                                               : two(8 * row + col, 8 * row + col + 1);
                ck_assert_msg(out[l][x] == want, "%s: lane %d register %d: %#x, expected %#x",
                              cases[k].text, l, x, out[l][x], want);
            }
    }
    /* Stored as it was loaded, plain and turned twice. */
    shared_run(
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%s]; st.shared.v4.b32 "
        "[%s], {0, 0, 0, 0}; bar.sync 0; "
        "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%s], {%r4, %r5, %r6, %r7}; bar.sync 0; "
        "ld.shared.v4.b32 {%d0, %d1, %d2, %d3}, [%s];",
        out);
    for (int l = 0; l < 32; l++)
        for (int x = 0; x < 4; x++)
            ck_assert_uint_eq(out[l][x], two(8 * l + 2 * x, 8 * l + 2 * x + 1));
}
END_TEST

/* f64: a chain along k. */
START_TEST(f64_shape)
{
    static double m[32][4];
    static char text[2048];
    gpu_start();
    for (int l = 0; l < 32; l++)
        for (int k = 0; k < 4; k++)
            m[l][k] = draw(-1000, 1000) / 7.0;
    double in[32][4];
    memcpy(in, m, sizeof in);
    sprintf(text,
            "%s.visible .entry k(.param .u64 p)\n{\n.reg .b64 %%q, %%z; .reg .b32 %%t; .reg "
            ".f64 %%d<4>;\nld.param.u64 %%q, [p];"
            "mov.u32 %%t, %%tid.x; mul.wide.u32 %%z, %%t, 32; add.u64 %%q, %%q, "
            "%%z;\nld.global.v2.f64 {%%d0, %%d1}, [%%q];"
            "ld.global.v2.f64 {%%d2, %%d3}, "
            "[%%q+16];\nmma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%%d2, %%d3}, {%%d0}, "
            "{%%d1}, {%%d2, %%d3};\n"
            "st.global.v2.f64 [%%q+16], {%%d2, %%d3};\nret;\n}\n",
            head);
    ptx_run(text, m, sizeof m, 1, 32);
    for (int l = 0; l < 32; l++)
        for (int h = 0; h < 2; h++) {
            double sum = in[l][2 + h];
            for (int k = 0; k < 4; k++)
                sum = __builtin_fma(in[l / 4 * 4 + k][0], in[(l % 4 * 2 + h) * 4 + k][1], sum);
            ck_assert(m[l][2 + h] == sum);
        }
}
END_TEST

START_TEST(saturation)
{
    struct sample s[128];
    gpu_start();
    for (int sat = 0; sat < 2; sat++) {
        char text[256];
        for (int k = 0; k < 128; k++)
            s[k] = (struct sample){0, 0x7f7f7f7f, 0x7f7f7f7f, 0x7fffff00};
        snprintf(text, sizeof text,
                 ".reg .b32 %%e; mma.sync.aligned.m8n8k16.row.col%s.s32.s8.s8.s32 {%%d, %%e}, "
                 "{%%a}, {%%b}, {%%c, %%c};",
                 sat ? ".satfinite" : "");
        instruction_run(text, "wwww", s, 128);
        ck_assert_uint_eq((uint32_t)s[9].d, sat ? 0x7fffffff : 0x7fffff00u + 16 * 127 * 127);
    }
}
END_TEST

START_TEST(all_forms)
{
    forms_check(" mma ldmatrix stmatrix movmatrix ");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_sim_matrix");
    TCase *t = tcase_create("matrix");
    tcase_add_loop_test(t, each_shape, 0, (int)(sizeof shapes / sizeof *shapes));
    tcase_add_test(t, matrix_moves);
    tcase_add_test(t, f64_shape);
    tcase_add_test(t, saturation);
    tcase_add_test(t, all_forms);
    suite_add_tcase(s, t);
    return suite_run_in_one(s);
}
