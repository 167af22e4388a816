/* SPDX-License-Identifier: Apache-2.0 */
#include "cudasim.h"

#include <elf.h>
#include <unistd.h>

/* Products joined with sums as ptxas does: the rule on small texts, the result's bits, and,
 * where ptxas is installed, the number of fused instructions in its machine code. */

static const struct {
    const char *body;
    unsigned fused;
} rows[] = {
    {"mul.f32 %f4, %f1, %f2; sub.f32 %f5, %f4, %f3; st.global.f32 [%q+64], %f5;", 1},
    {"mul.f32 %f4, %f1, %f2; sub.f32 %f5, %f3, %f4; st.global.f32 [%q+64], %f5;", 1},
    {"mul.rn.f32 %f4, %f1, %f2; add.f32 %f5, %f4, %f3; st.global.f32 [%q+64], %f5;", 0},
    {"mul.f32 %f4, %f1, %f2; add.rn.f32 %f5, %f4, %f3; st.global.f32 [%q+64], %f5;", 0},
    {"mul.ftz.f32 %f4, %f1, %f2; add.ftz.f32 %f5, %f4, %f3; st.global.f32 [%q+64], %f5;", 1},
    {"mul.ftz.f32 %f4, %f1, %f2; add.f32 %f5, %f4, %f3; st.global.f32 [%q+64], %f5;", 0},
    {"mul.f32 %f4, %f1, %f2; add.sat.f32 %f5, %f4, %f3; st.global.f32 [%q+64], %f5;", 1},
    {"mul.f32 %f4, %f1, %f2; st.global.f32 [%q+68], %f4; add.f32 %f5, %f4, %f3; st.global.f32 "
     "[%q+64], %f5;",
     0},
    {"mul.f32 %f4, %f1, %f2; abs.f32 %f5, %f4; add.f32 %f5, %f5, %f3; st.global.f32 [%q+64], "
     "%f5;",
     0},
    {"mul.f32 %f4, %f1, %f2; neg.f32 %f6, %f4; add.f32 %f5, %f6, %f3; st.global.f32 [%q+64], "
     "%f5;",
     1},
    {"mul.f32 %f4, %f1, %f2; mov.f32 %f6, %f4; add.f32 %f5, %f6, %f3; st.global.f32 [%q+64], "
     "%f5;",
     1},
    {"mul.f32 %f4, %f1, %f2; add.f32 %f5, %f4, %f3; add.f32 %f6, %f4, %f2; st.global.v2.f32 "
     "[%q+64], {%f5, %f6};",
     2},
    {"mul.f32 %f4, %f1, %f2; mul.f32 %f5, %f2, %f3; add.f32 %f6, %f4, %f5; st.global.f32 "
     "[%q+64], %f6;",
     1},
    {"mul.f32 %f4, %f1, %f2; add.f32 %f5, %f4, %f4; st.global.f32 [%q+64], %f5;", 0},
    {"mul.f32 %f4, %f1, %f2; bar.sync 0; add.f32 %f5, %f4, %f3; st.global.f32 [%q+64], %f5;",
     1},
    {"mul.f32 %f4, %f1, %f2; membar.gl; add.f32 %f5, %f4, %f3; st.global.f32 [%q+64], %f5;", 0},
    {"mul.f32 %f4, %f1, %f2; setp.lt.f32 %p1, %f1, %f3; @%p1 bra L; add.f32 %f5, %f4, %f3; "
     "st.global.f32 [%q+64], %f5; L:",
     0},
    {"mul.f32 %f4, %f1, %f2; bra L; L: add.f32 %f5, %f4, %f3; st.global.f32 [%q+64], %f5;", 1},
    {"mul.f32 %f4, %f1, %f2; mov.u32 %r2, 0; L: ld.global.f32 %f6, [%q+16]; add.f32 %f5, %f4, "
     "%f6; st.global.f32 [%q+64], %f5; "
     "add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;",
     0},
    {"mul.f64 %d4, %d1, %d2; sub.f64 %d5, %d4, %d3; st.global.f64 [%q+64], %d5;", 1},
};

static void text_make(char *text, size_t room, const char *body)
{
    snprintf(text, room,
             "%s.visible .entry k(.param .u64 o)\n{\n.reg .f32 %%f<10>; .reg .f64 %%d<6>; .reg "
             ".b64 %%q; .reg .b32 %%r<4>; .reg .pred %%p<4>;\n"
             "ld.param.u64 %%q, [o]; ld.global.f32 %%f1, [%%q]; ld.global.f32 %%f2, [%%q+4]; "
             "ld.global.f32 %%f3, [%%q+8];\n"
             "ld.global.u32 %%r1, [%%q+12]; ld.global.f64 %%d1, [%%q+16]; ld.global.f64 %%d2, "
             "[%%q+24]; ld.global.f64 %%d3, [%%q+32];\n"
             "%s\nret;\n}\n",
             head, body);
}

static unsigned fused_count(const char *text, bool fuse)
{
    struct ptx_module m;
    struct ptx_error e;
    struct image im;
    struct lower_options o = {fuse};
    ck_assert_msg(ptx_parse(text, strlen(text), &m, &e), "%s", e.text);
    ck_assert_msg(image_init(&im, &m, m.function, &o, &e), "%s", e.text);
    unsigned n = im.fused;
    image_release(&im);
    ptx_release(&m);
    return n;
}

START_TEST(rule)
{
    char text[2048];
    text_make(text, sizeof text, rows[_i].body);
    unsigned n = fused_count(text, true);
    ck_assert_msg(n == rows[_i].fused, "%s: %u fused, expected %u", rows[_i].body, n,
                  rows[_i].fused);
    ck_assert_uint_eq(fused_count(text, false), 0);
}
END_TEST

/* (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 fused and 0 with two roundings. */
START_TEST(bits)
{
    static const struct {
        const char *body;
        float fused, apart;
    } cases[] = {
        {"mul.f32 %f4, %f1, %f2; sub.f32 %f5, %f4, %f3; st.global.f32 [%q+64], %f5;", 0x1p-24f,
         0},
        {"mul.f32 %f4, %f1, %f2; sub.f32 %f5, %f3, %f4; st.global.f32 [%q+64], %f5;", -0x1p-24f,
         0},
        {"mul.f32 %f4, %f1, %f2; neg.f32 %f6, %f4; add.f32 %f5, %f6, %f3; st.global.f32 "
         "[%q+64], %f5;",
         -0x1p-24f, 0},
        {"neg.f32 %f3, %f3; mul.f32 %f4, %f1, %f2; add.f32 %f5, %f3, %f4; st.global.f32 "
         "[%q+64], %f5;",
         0x1p-24f, 0},
    };
    gpu_start();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int fuse = 0; fuse < 2; fuse++) {
            char text[2048];
            float v[32] = {0x1.001p+0f, 0x1.001p+0f, 0x1.002p+0f};
            text_make(text, sizeof text, cases[k].body);
            setenv("GPUPARITY_SIM_FUSE", fuse ? "1" : "0", 1);
            ptx_run(text, v, sizeof v, 1, 1);
            float want = fuse ? cases[k].fused : cases[k].apart;
            ck_assert_msg(v[16] == want, "%s, fuse %d: %a, expected %a", cases[k].body, fuse,
                          (double)v[16], (double)want);
        }
    unsetenv("GPUPARITY_SIM_FUSE");
}
END_TEST

/* --- ptxas -----------------------------------------------------------------------------------
 */

/* FFMA, DFMA and HFMA2 in the kernel's code: nine low bits of each 128-bit instruction. */
static int machine_count(const char *path)
{
    static unsigned char b[1 << 20];
    FILE *f = fopen(path, "rb");
    ck_assert(f != NULL);
    size_t size = fread(b, 1, sizeof b, f);
    fclose(f);
    ck_assert(size > sizeof(Elf64_Ehdr) && !memcmp(b, ELFMAG, SELFMAG));
    Elf64_Ehdr h;
    memcpy(&h, b, sizeof h);
    int n = 0;
    for (unsigned k = 0; k < h.e_shnum; k++) {
        Elf64_Shdr s;
        memcpy(&s, b + h.e_shoff + k * sizeof s, sizeof s);
        if (!(s.sh_flags & SHF_EXECINSTR) || s.sh_offset + s.sh_size > size)
            continue;
        for (uint64_t at = s.sh_offset; at + 16 <= s.sh_offset + s.sh_size; at += 16) {
            unsigned op = (b[at] | (unsigned)b[at + 1] << 8) & 0x1ff;
            n += op == 0x023 || op == 0x02b || op == 0x031;
        }
    }
    return n;
}

static int ptxas_count(const char *text, const char *folder, const char *fmad)
{
    char in[256], out[256], command[1024];
    snprintf(in, sizeof in, "%s/k.ptx", folder);
    snprintf(out, sizeof out, "%s/k.cubin", folder);
    FILE *f = fopen(in, "wb");
    ck_assert(f && fputs(text, f) >= 0 && !fclose(f));
    snprintf(command, sizeof command, "ptxas -arch=sm_86 --fmad %s %s -o %s 2>/dev/null", fmad,
             in, out);
    ck_assert_msg(!system(command), "%s\n%s", command, text);
    int n = machine_count(out);
    unlink(in);
    unlink(out);
    return n;
}

START_TEST(as_ptxas)
{
    char folder[] = "/tmp/gpuparity-fuse-XXXXXX";
    if (system("command -v ptxas >/dev/null 2>&1")) {
        fprintf(stderr, "UNTESTED: ptxas is not installed\n");
        return;
    }
    ck_assert(mkdtemp(folder) != NULL);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char text[2048];
        text_make(text, sizeof text, rows[k].body);
        int n = ptxas_count(text, folder, "true") - ptxas_count(text, folder, "false");
        ck_assert_msg(n == (int)rows[k].fused, "%s: ptxas fuses %d, we %u", rows[k].body, n,
                      rows[k].fused);
    }
    rmdir(folder);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_sim_fuse");
    TCase *t = tcase_create("fuse");
    tcase_add_loop_test(t, rule, 0, (int)(sizeof rows / sizeof *rows));
    tcase_add_test(t, bits);
    tcase_add_test(t, as_ptxas);
    suite_add_tcase(s, t);
    return suite_run_in_one(s);
}
