/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "harness/caseid.h"
#include "harness/codefile.h"
#include "harness/codestore.h"
#include "harness/golden.h"
#include "suite.h"

static struct errinfo e;
static char folder[64];
static const char some_code[] = "\177ELF\0not really\0code object";

static void folder_make(void)
{
    strcpy(folder, "/tmp/gpuparity-code-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    setenv("GPUPARITY_GOLDEN", folder, 1);
}

static void folder_remove(void)
{
    char text[100];
    snprintf(text, sizeof text, "rm -rf %s", folder);
    ck_assert_int_eq(system(text), 0);
}

static struct case_id parsed(const char *text)
{
    struct case_id id;
    ck_assert_msg(!caseid_parse(text, &id, &e), "%s", e.text);
    return id;
}

/* Keeps some_code for a case under the options its mode has now. */
static void keep(const struct backend *b, const struct case_id *id)
{
    char options[512];
    const struct case_mode *m = &id->mode;
    struct fp_mode mode = {m->contract, m->flush, m->exact_div, m->exact_sqrt, m->approximate};
    b->toolchain->options(b->arch, &mode, options, sizeof options);
    struct code c = {.bytes = (void *)(uintptr_t)some_code,
                     .size = sizeof some_code,
                     .options = options,
                     .version = "Compiler 1.2"};
    ck_assert_msg(!codestore_save(b, id->family, id->variant, m, &c, &e), "%s", e.text);
}

static enum err load(const struct backend *b, const struct case_id *id, struct code *c)
{
    memset(c, 0, sizeof *c);
    memset(&e, 0, sizeof e);
    return codestore_load(b, b->arch, id, c, &e);
}

static size_t file_bytes(const char *path, char *ret_bytes, size_t room)
{
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    size_t n = fread(ret_bytes, 1, room, f);
    fclose(f);
    return n;
}

static void file_set(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, size, f), size);
    ck_assert_int_eq(fclose(f), 0);
}

/* Any content with a valid frame around it. */
static void file_set_packed(const char *path, const void *bytes, size_t size)
{
    static char packed[1 << 20];
    size_t n = ZSTD_compress(packed, sizeof packed, bytes, size, 1);
    ck_assert(!ZSTD_isError(n));
    file_set(path, packed, n);
}

START_TEST(kept_and_loaded)
{
    struct code c;
    for (int i = 0; backends[i]; i++) {
        struct case_id id = parsed("gemm/tiled:dtype=f32,m=3,mode=strict");
        ck_assert_int_eq(load(backends[i], &id, &c), ERR_MISSING);
        ck_assert_ptr_nonnull(strstr(e.text, "golden code"));
        keep(backends[i], &id);
        ck_assert_msg(!load(backends[i], &id, &c), "%s", e.text);
        ck_assert_uint_eq(c.size, sizeof some_code);
        ck_assert_mem_eq(c.bytes, some_code, sizeof some_code);
        ck_assert_str_eq(c.version, "Compiler 1.2 (golden)");
        ck_assert_str_eq(c.log, "");
        code_release(&c);
        /* Parameters make no difference, the mode does. */
        id = parsed("gemm/tiled:dtype=bf16,m=77,mode=strict");
        ck_assert_int_eq(load(backends[i], &id, &c), 0);
        code_release(&c);
        id = parsed("gemm/tiled:dtype=f32,m=3");
        ck_assert_int_eq(load(backends[i], &id, &c), ERR_MISSING);
    }
}
END_TEST

START_TEST(only_two_modes)
{
    struct code c;
    struct case_id id = parsed("gemm/naive:mode=fast");
    ck_assert(!codestore_keeps(&id.mode));
    ck_assert_int_eq(load(backends[0], &id, &c), ERR_MISSING);
    ck_assert_ptr_nonnull(strstr(e.text, "only default and strict"));
    id = parsed("gemm/naive:mode=flush");
    ck_assert(!codestore_keeps(&id.mode));
    id = parsed("gemm/naive:mode=strict");
    ck_assert(codestore_keeps(&id.mode));
    id = parsed("gemm/naive");
    ck_assert(codestore_keeps(&id.mode));
}
END_TEST

/* A file of another source, of other options, or at the place of another kernel. */
START_TEST(stale_is_refused)
{
    char path[4096], other[4096];
    struct code c;
    struct codefile f;
    struct case_id id = parsed("gemm/naive"), tiled = parsed("gemm/tiled");
    keep(backends[0], &id);
    codestore_path(backends[0]->arch, id.family, id.variant, &id.mode, path, sizeof path);
    codestore_path(backends[0]->arch, id.family, tiled.variant, &id.mode, other, sizeof other);

    ck_assert_int_eq(codefile_read(path, &f, &e), 0);
    f.source[5] = f.source[5] == '0' ? '1' : '0';
    ck_assert_int_eq(codefile_write(path, &f, &e), 0);
    ck_assert_int_eq(load(backends[0], &id, &c), ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(e.text, "stale (its source"));
    codefile_release(&f);

    keep(backends[0], &id);
    ck_assert_int_eq(codefile_read(path, &f, &e), 0);
    strcat(f.options, " --more");
    ck_assert_int_eq(codefile_write(path, &f, &e), 0);
    ck_assert_int_eq(load(backends[0], &id, &c), ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(e.text, "stale (it was compiled with other options"));
    ck_assert_ptr_nonnull(strstr(e.text, "golden code"));
    codefile_release(&f);

    keep(backends[0], &id);
    ck_assert_int_eq(rename(path, other), 0);
    ck_assert_int_eq(load(backends[0], &tiled, &c), ERR_FORMAT);
}
END_TEST

/* Every shortening and flipped bits all over are seen. */
START_TEST(damaged_is_refused)
{
    char path[4096], bytes[4096];
    struct code c;
    struct case_id id = parsed("gemm/naive");
    keep(backends[1], &id);
    codestore_path(backends[1]->arch, id.family, id.variant, &id.mode, path, sizeof path);
    size_t size = file_bytes(path, bytes, sizeof bytes);
    ck_assert_uint_gt(size, 100);
    for (size_t n = 0; n < size; n++) {
        file_set(path, bytes, n);
        ck_assert_msg(load(backends[1], &id, &c) == ERR_FORMAT, "%zu bytes: %s", n, e.text);
        ck_assert_ptr_nonnull(strstr(e.text, path));
    }
    for (size_t bit = 0; bit < 8 * size; bit += 3) {
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        file_set(path, bytes, size);
        enum err err = load(backends[1], &id, &c);
        /* Bits of the packing that mean nothing may flip: then the content is right. */
        ck_assert_msg(err == ERR_FORMAT || err == ERR_OK, "bit %zu: %s", bit, e.text);
        if (!err) {
            ck_assert_uint_eq(c.size, sizeof some_code);
            ck_assert_mem_eq(c.bytes, some_code, sizeof some_code);
            code_release(&c);
        }
        bytes[bit / 8] ^= (char)(1 << bit % 8);
    }
}
END_TEST

START_TEST(hostile_is_refused)
{
    char path[4096];
    struct codefile f;
    static const char *const text[] = {
        "",
        "gpuparity code 2\nsource 0\n",
        "gpuparity code 1\n",
        "gpuparity code 1\nsource 00112233445566778899aabbccddeeff00\noptions \ncompiler "
        "\ndigest \nsize 0\n",
        "gpuparity code 1\nsource a\noptions b\ncompiler c\ndigest d\nsize -1\n",
        "gpuparity code 1\nsource a\noptions b\ncompiler c\ndigest d\nsize "
        "18446744073709551616\nx",
        "gpuparity code 1\nsource a\noptions b\ncompiler \x1b[31mc\ndigest d\nsize 0\n",
        "gpuparity code 1\nsource a\noptions b\ncompiler c\ndigest "
        "99aa06d3014798d86001c324468d497f\nsize 1\n",
    };
    snprintf(path, sizeof path, "%s/x.zst", folder);
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        file_set_packed(path, text[i], strlen(text[i]));
        ck_assert_msg(codefile_read(path, &f, &e) == ERR_FORMAT, "text %zu", i);
    }
    /* The digest of nothing, right size: the one that is right. */
    static const char right[] = "gpuparity code 1\nsource a\noptions b\ncompiler c\ndigest "
                                "99aa06d3014798d86001c324468d497f\nsize 0\n";
    file_set_packed(path, right, sizeof right - 1);
    ck_assert_msg(!codefile_read(path, &f, &e), "%s", e.text);
    ck_assert_uint_eq(f.size, 0);
    ck_assert_str_eq(f.compiler, "c");
    codefile_release(&f);

    /* A frame that says it unpacks to 2^40 bytes: magic, single segment with 8 bytes of size.
     */
    static const unsigned char bomb[] = {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0,
                                         0,    0,    1,    0,    0,    1, 0, 0};
    file_set(path, bomb, sizeof bomb);
    ck_assert_int_eq(codefile_read(path, &f, &e), ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(e.text, "impossible size"));
    ck_assert_int_eq(codefile_read(folder, &f, &e), ERR_IO);
    ck_assert_int_eq(codefile_read("/nowhere/x", &f, &e), ERR_MISSING);
    ck_assert_int_eq(codefile_read("/dev/zero", &f, &e), ERR_FORMAT);
}
END_TEST

START_TEST(unwritable_is_an_error)
{
    struct codefile f = {.source = "a", .options = "b", .compiler = "c"};
    ck_assert_int_eq(codefile_write("/proc/nowhere/x.zst", &f, &e), ERR_IO);
    ck_assert_ptr_nonnull(strstr(e.text, "/proc/nowhere"));
    ck_assert_int_eq(codefile_write("/dev/full/x.zst", &f, &e), ERR_IO);
}
END_TEST

/* Variants that share a kernel file share its code; the digest follows the texts alone. */
START_TEST(sources)
{
    struct include_set s;
    struct source_file header[BUILD_HEADERS_MAX];
    struct build_request r = {.arch = "none"};
    char a[33], b[33];
    struct case_id drop = parsed("gemm/fault_drop"), zero = parsed("gemm/fault_zero");
    struct case_id naive = parsed("gemm/naive");
    ck_assert_int_eq(codestore_source(drop.family, drop.variant, &s, &e), 0);
    codestore_request(drop.variant, &s, header, &r);
    ck_assert_str_eq(r.source.name, "fault.cu");
    ck_assert_int_eq(r.n_header, s.count - 1);
    ck_assert_ptr_nonnull(strstr(r.source.text, "#include \"gemm.cuh\""));
    include_release(&s);
    ck_assert_int_eq(codestore_source_digest(drop.family, drop.variant, a, &e), 0);
    ck_assert_int_eq(codestore_source_digest(zero.family, zero.variant, b, &e), 0);
    ck_assert_str_eq(a, b);
    ck_assert_int_eq(codestore_source_digest(naive.family, naive.variant, b, &e), 0);
    ck_assert_str_ne(a, b);
    struct variant none = {.name = "none", .source = "none.cu"};
    ck_assert_int_eq(codestore_source_digest(naive.family, &none, b, &e), ERR_MISSING);
    ck_assert_ptr_nonnull(strstr(e.text, "gemm/none.cu"));
}
END_TEST

/* --- the committed files ---------------------------------------------------------------------
 */

START_TEST(committed_is_fresh)
{
    struct golden_tally t;
    unsetenv("GPUPARITY_GOLDEN");
    for (int i = 0; backends[i]; i++) {
        ck_assert_int_eq(golden_code_check(stdout, backends[i], &t, &e), 0);
        ck_assert_msg(t.fresh == t.files,
                      "%s: %d of %d kept kernels are fresh; run "
                      "`gpuparity golden code`",
                      backends[i]->name, t.fresh, t.files);
        ck_assert_int_ge(t.files, 8);
        ck_assert_int_lt(t.bytes, 4 << 20);
    }
}
END_TEST

/* Without a compiler nothing can be made, and that is said; strangers go, fresh ones stay. */
START_TEST(regenerate_without_compiler)
{
    char path[4096], stranger[4200];
    struct golden_tally t;
    struct case_id id = parsed("gemm/naive");
    FILE *out = fopen("/dev/null", "w");
    setenv("GPUPARITY_NVRTC", "none", 1);
    keep(backends[0], &id);
    codestore_path(backends[0]->arch, id.family, id.variant, &id.mode, path, sizeof path);
    snprintf(stranger, sizeof stranger, "%.*s/gone.sm_86.default.zst",
             (int)(strrchr(path, '/') - path), path);
    file_set(stranger, "x", 1);
    ck_assert_int_eq(golden_code_regenerate(out, backends[0], false, 20, &t, &e), 0);
    ck_assert_int_eq(t.fresh, 1);
    ck_assert_int_eq(t.failed, t.files - 1);
    ck_assert_int_eq(t.removed, 1);
    ck_assert_int_eq(access(stranger, F_OK), -1);
    ck_assert_int_eq(access(path, F_OK), 0);
    fclose(out);
}
END_TEST

/* Where a compiler is: everything is made, then nothing needs to be. */
START_TEST(regenerate_with_compiler)
{
    const struct backend *b = backends[_i];
    char version[64], library[256];
    struct backend_error why;
    struct golden_tally t;
    if (b->toolchain->probe(b->arch, version, 64, library, 256, &why)) {
        printf("skipped: %s\n", why.text);
        return;
    }
    FILE *out = fopen("/dev/null", "w");
    ck_assert_int_eq(golden_code_regenerate(out, b, false, 100, &t, &e), 0);
    ck_assert_int_eq(t.written, t.files);
    ck_assert_int_eq(t.fresh, t.files);
    ck_assert_str_eq(t.compiler, version);
    ck_assert_int_eq(golden_code_regenerate(out, b, false, 100, &t, &e), 0);
    ck_assert_int_eq(t.written, 0);
    fclose(out);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("codestore");
    TCase *t = tcase_create("codestore");
    tcase_add_checked_fixture(t, folder_make, folder_remove);
    tcase_add_test(t, kept_and_loaded);
    tcase_add_test(t, only_two_modes);
    tcase_add_test(t, stale_is_refused);
    tcase_add_test(t, damaged_is_refused);
    tcase_add_test(t, hostile_is_refused);
    tcase_add_test(t, unwritable_is_an_error);
    tcase_add_test(t, sources);
    tcase_add_test(t, committed_is_fresh);
    tcase_add_test(t, regenerate_without_compiler);
    tcase_add_loop_test(t, regenerate_with_compiler, 0, 2);
    suite_add_tcase(s, t);
    return suite_run(s);
}
