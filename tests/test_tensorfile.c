/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdint.h>
#include <string.h>

#include "base64.h"
#include "rng.h"
#include "select.h"
#include "suite.h"
#include "tensorbytes.h"
#include "tensorsample.h"

/* Files of tensors made byte by byte: what they say is what is read, and whatever else stands
 * there is one error. */

START_TEST(good_files)
{
    static struct file f;
    struct tensorfile t;
    struct errinfo e = {0};
    char path[64];
    seed(&f, _i);
    ck_assert_msg(!tensorsample_bytes(f.bytes, f.size, &e), "%s", e.text);
    int fd = memfd_create("x.npy", 0);
    ck_assert(write(fd, f.bytes, f.size) == (ssize_t)f.size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ck_assert_int_eq(tensorfile_open(path, &t, &e), 0);
    if (_i != 1) {
        const struct tensorfile_tensor *x = tensorfile_at(&t, 0);
        struct tensorread r;
        const void *data;
        ck_assert_int_eq(tensorfile_count(&t), 1);
        ck_assert(_i == 0 || tensorfile_find(&t, "x") == x);
        ck_assert(x->rank == 2 && x->dim[0] == 2 && x->dim[1] == 3 && x->dtype == DTYPE_F32);
        ck_assert_int_eq(tensorread_open(&t, x, 6, &r, &e), 0);
        ck_assert_msg(!tensorread_range(&r, 0, 6, &data, &e), "%s", e.text);
        for (int k = 0; k < 24; k++)
            ck_assert_int_eq(((const unsigned char *)data)[k], k);
        tensorread_close(&r);
    } else {
        ck_assert_int_eq(tensorfile_count(&t), 2);
        ck_assert(tensorfile_find(&t, "a")->rank == 0 && tensorfile_find(&t, "a")->count == 1);
        ck_assert(tensorfile_find(&t, "b")->dtype == DTYPE_BF16);
        ck_assert_ptr_null(tensorfile_find(&t, "__metadata__"));
    }
    tensorfile_close(&t);
    close(fd);
}
END_TEST

static void refuse(const struct file *f, const char *says)
{
    struct errinfo e = {0};
    ck_assert_msg(tensorsample_bytes(f->bytes, f->size, &e) == ERR_FORMAT, "not %s", says);
    ck_assert_msg(strstr(e.text, says) && !strchr(e.text, '\n'), "'%s' is not in: %s", says,
                  e.text);
}

START_TEST(bad_npy)
{
    static const struct {
        const char *head;
        size_t size;
        const char *says;
    } rows[] = {
        {good_npy, 23, "truncated"},
        {good_npy, 25, "damaged"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3), }", 24, "negative"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,), }", 24,
         "2^63"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296,4294967296), }", 24,
         "2^63"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,), }", 24,
         "2^63"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", 4, "rank"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }", 24, "shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 6, }", 24, "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, }", 24, "once each"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (6,)}", 24, "once"},
        {"{'descr': '<f4', 'fortran_order': 1, 'shape': (6,)}", 24, "boolean"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}", 24, "structures"},
        {"{'descr': 'f4', 'fortran_order': False, 'shape': (6,)}", 24, "type"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} + 1", 24, "once each"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,", 24, "dimension"},
        {"{'descr': '<f4", 24, "text without end"},
        {"", 24, "dictionary"},
    };
    static struct file f;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        f.size = 0;
        npy(&f, rows[i].head, rows[i].size);
        refuse(&f, rows[i].says);
    }
    f.bytes[6] = 9;
    refuse(&f, "version 9");
    f.bytes[6] = 2;
    memset(f.bytes + 8, 0xff, 4);
    refuse(&f, "head of");
}
END_TEST

START_TEST(bad_safetensors)
{
#define ONE(rest) "{\"a\":{\"dtype\":\"F32\"," rest "}}"
    static const struct {
        const char *head;
        size_t size;
        const char *says;
    } rows[] = {
        {good_head, 11, "truncated"},
        {good_head, 13, "belong to no tensor"},
        {ONE("\"shape\":[2],\"data_offsets\":[8,0]"), 8, "bytes 8 to 0"},
        {ONE("\"shape\":[2],\"data_offsets\":[0,4]"), 4, "disagree"},
        {ONE("\"shape\":[-2],\"data_offsets\":[0,8]"), 8, "whole numbers"},
        {ONE("\"shape\":[2.5],\"data_offsets\":[0,8]"), 8, "whole numbers"},
        {ONE("\"shape\":[4294967296,4294967296],\"data_offsets\":[0,8]"), 8, "2^63"},
        {ONE("\"shape\":[99999999999999999999],\"data_offsets\":[0,8]"), 8, "whole numbers"},
        {ONE("\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]"), 4, "more than 8"},
        {ONE("\"shape\":[2],\"data_offsets\":[0]"), 8, "two data_offsets"},
        {ONE("\"shape\":[2],\"data_offsets\":[0,8,8]"), 8, "more than 2"},
        {ONE("\"shape\":[2]"), 8, "two data_offsets"},
        {ONE("\"shape\":[2],\"shape\":[2],\"data_offsets\":[0,8]"), 8, "second 'shape'"},
        {ONE("\"shape\":[2],\"colour\":1"), 8, "unknown"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[2,6]}}",
         6, "overlap"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[6,10]}}",
         10, "gap"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
         "\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}",
         8, "two tensors named a"},
        {"{\"a\":3}", 0, "no safetensors head"},
        {"{\"a\":{\"dtype\":\"U8\"", 0, "JSON"},
        {"{\"a\\ud800\":{}}", 0, "surrogate"},
        {"{\"a\\u0000\":{}}", 0, "UTF-8 or has control"},
        {"{\"a\xff\":{}}", 0, "UTF-8 or has control"},
        {"{\"a\" 1}", 0, "colon"},
        {"{\"a\":01}", 0, "value should stand"},
        {"{\"__metadata__\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
         "1]]]]}",
         0, "too deep"},
        {"{}x", 0, "behind the end"},
    };
    static struct file f;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        f.size = 0;
        safetensors(&f, rows[i].head, rows[i].size);
        refuse(&f, rows[i].says);
    }
    f.size = 0;
    put_number(&f, 1 << 30, 8);
    put_text(&f, "{}");
    refuse(&f, "safetensors head of 1073741824 bytes");
}
END_TEST

START_TEST(bad_npz)
{
    static struct file f;
    static const struct {
        size_t from_end; /* where a byte changes */
        unsigned char value;
        const char *says;
    } rows[] = {
        {22, 'X', "end is missing"},
        {22 + 51, 'X', "no entry"},
        {22 + 51 - 8, 1, "encrypted"},
        {22 + 51 - 10, 12, "method 12"},
        {6, 0xff, "outside"},
        {22 + 51 - 24 - 2, 0x7f, "more than it can"},
        {22 + 51 - 42, 0x77, "outside"},
        {22 + 51 - 20, 0xff, "outside"},
        {22 + 51 - 16, 0x01, "checksum"},
        {22 + 51 - 24, 0xf0, "follow"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        seed(&f, 3);
        unsigned char *at = f.bytes + f.size - rows[i].from_end;
        *at = *at == rows[i].value ? (unsigned char)(*at + 1) : rows[i].value;
        refuse(&f, rows[i].says);
    }
    seed(&f, 3);
    memset(f.bytes + 60, 0x55, 20);
    refuse(&f, "x");
    f.size = 22;
    memset(f.bytes, 0, 22);
    memcpy(f.bytes, "PK\5\6", 4);
    struct errinfo e;
    ck_assert_int_eq(tensorsample_bytes(f.bytes, f.size, &e), 0); /* an empty archive */
}
END_TEST

START_TEST(bad_polygraphy)
{
    static const struct {
        const char *before, *after, *says;
    } rows[] = {
        {"[{\"x\":{\"array\":\"", "A\"}}]", "characters"},
        {"[{\"x\":{\"array\":\"", "AAAA\"}}]", "base64"},
        {"[{\"x\":{\"array\":\"", "!!!!\"}}]", "base64"},
        {"[{\"x\":{\"array\":\"\\u0041", "\"}}]", "escapes"},
        {"[{\"x\":{\"array\":\"", "\"}}", "ends too early"},
        {"[{\"x\":{\"array\":\"", "\"},\"x\":3}] 4", "behind the end"},
        {"{\"array\":\"UEsDBAAA\"}", "", "npy"},
        {"{\"x\":[1,2,3]}", "", "without an array"},
    };
    static struct file f;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        f.size = 0;
        if (rows[i].after[0])
            polygraphy(&f, rows[i].before, rows[i].after);
        else
            put_text(&f, rows[i].before);
        refuse(&f, rows[i].says);
    }
    f.size = 0;
    put_text(&f, "no tensors at all");
    refuse(&f, "neither a record nor");
    f.size = 0;
    refuse(&f, "neither a record nor");
}
END_TEST

/* Anything may happen to a file but a crash or an error without a text. */
START_TEST(mutations)
{
    static struct file f;
    struct rng_key key = rng_key_make((uint64_t)_i, "mutations");
    for (uint64_t n = 0; n < 400; n++) {
        struct errinfo e = {0};
        seed(&f, _i % SEEDS);
        for (uint64_t k = 0; k <= n % 4; k++) {
            uint64_t where = rng_bits(key, n, 2 * k) % f.size,
                     how = rng_bits(key, n, 2 * k + 1);
            f.bytes[where] = how % 3 ? (unsigned char)(how >> 8)
                                     : f.bytes[where] ^ (unsigned char)(1 << (how >> 8) % 8);
        }
        if (n % 10 == 0)
            f.size = rng_bits(key, n, 100) % f.size;
        if (tensorsample_bytes(f.bytes, f.size, &e))
            ck_assert_msg(e.text[0] && !strchr(e.text, '\n'), "error '%s'", e.text);
    }
}
END_TEST

/* HDF5's filters on bytes that nobody packed. */
START_TEST(unpacking_rubbish)
{
    static const int lists[][3] = {{1}, {2, 1, 3}, {32000}, {2, 32000, 3}, {32015}, {3}, {2}};
    struct rng_key key = rng_key_make(1, "unpack");
    unsigned char data[300], work[2 * (1000 + TENSORCHUNK_SLACK)];
    for (uint64_t n = 0; n < 3000; n++) {
        struct tensorfile_tensor t = {.dtype = DTYPE_F32, .element = 1 << n % 4};
        const unsigned char *result;
        for (int i = 0; i < 3 && lists[n % 7][i]; i++)
            t.filter[t.n_filter++] = lists[n % 7][i];
        for (size_t i = 0; i < sizeof data; i++)
            data[i] = (unsigned char)rng_bits(key, n, i);
        if (n % 5 == 0)
            memset(data, (int)(n / 5 % 256), sizeof data);
        tensorchunk_unpack(&t, (uint32_t)(n % 3 == 1), data, n % sizeof data, 1 + n % 1000,
                           work, &result, NULL);
    }
}
END_TEST

START_TEST(base64_vectors)
{
    /* RFC 4648, section 10 */
    static const char *const rows[][2] = {{"", ""},
                                          {"Zg==", "f"},
                                          {"Zm8=", "fo"},
                                          {"Zm9v", "foo"},
                                          {"Zm9vYg==", "foob"},
                                          {"Zm9vYmE=", "fooba"},
                                          {"Zm9vYmFy", "foobar"}};
    static const char *const bad[] = {
        "Z", "Zm9", "Zg=a", "====", "Zm9v!m9v", "Zg==Zm9v", "Zm\n9"};
    unsigned char to[32];
    size_t n;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert(base64_decode(rows[i][0], strlen(rows[i][0]), to, &n));
        ck_assert(n == strlen(rows[i][1]) && !memcmp(to, rows[i][1], n));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!base64_decode(bad[i], strlen(bad[i]), to, &n), "%s", bad[i]);
}
END_TEST

START_TEST(selections)
{
    char name[16];
    ck_assert(select_takes(NULL, "a") && select_takes("a", "a") && select_takes("a", "a/b"));
    ck_assert(select_takes("gemm/tiled", "gemm/tiled:m=1") && !select_takes("gemm", "gemms/x"));
    ck_assert(select_takes("*b*", "abc") && !select_takes("*b*:-*c", "abc"));
    ck_assert(select_takes(":-*c", "abd") && !select_takes(":-*d:-*c", "abc"));
    ck_assert(select_rename("a=b", "a", name, sizeof name) && !strcmp(name, "b"));
    ck_assert(select_rename("/a/*=/b/*/c", "a/xy", name, sizeof name) &&
              !strcmp(name, "b/xy/c"));
    ck_assert(!select_rename("a=b", "ab", name, sizeof name));
    ck_assert(!select_rename("a*a=b*", "a", name, sizeof name));
    ck_assert(!select_rename("*=*0123456789", "abcdefgh", name, sizeof name));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tensorfile");
    TCase *c = tcase_create("tensorfile");
    suite_add_tcase(s, c);
    tcase_add_loop_test(c, good_files, 0, SEEDS);
    tcase_add_test(c, bad_npy);
    tcase_add_test(c, bad_safetensors);
    tcase_add_test(c, bad_npz);
    tcase_add_test(c, bad_polygraphy);
    tcase_add_loop_test(c, mutations, 0, SEEDS);
    tcase_add_test(c, unpacking_rubbish);
    tcase_add_test(c, base64_vectors);
    tcase_add_test(c, selections);
    return suite_run(s);
}
