/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <hdf5.h>

#include "recordsample.h"
#include "suite.h"

START_TEST(test_not_hdf5)
{
    sample_store("text.h5", "hello\n", 6);
    FAILS(ERR_FORMAT, "text.h5: not an HDF5 file (6 bytes)",
          sample_read_everything("text.h5", &sample_error));
    sample_store("empty.h5", "", 0);
    FAILS(ERR_FORMAT, "not an HDF5 file (0 bytes)",
          sample_read_everything("empty.h5", &sample_error));
    FAILS(ERR_FORMAT, "a folder", sample_read_everything("/tmp", &sample_error));
    FAILS(ERR_FORMAT, "a device or pipe", sample_read_everything("/dev/null", &sample_error));
    ck_assert(mkfifo("pipe.h5", 0666) == 0);
    FAILS(ERR_FORMAT, "a device or pipe", sample_read_everything("pipe.h5", &sample_error));
    FAILS(ERR_IO, "cannot open none.h5: No such file",
          sample_read_everything("none.h5", &sample_error));
    hid_t f = H5Fcreate("other.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(f);
    FAILS(ERR_FORMAT, "other.h5: an HDF5 file, but no gpuparity record",
          sample_read_everything("other.h5", &sample_error));
}
END_TEST

/* --- hostile files, made by changing a good one with the HDF5 library --- */

static hid_t edit(void)
{
    sample_write("r.h5", 1, 2);
    hid_t f = H5Fopen("r.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    ck_assert(f >= 0);
    return f;
}

static void refuse(hid_t f, const char *words)
{
    ck_assert(H5Fclose(f) >= 0);
    FAILS(ERR_FORMAT, words, sample_read_everything("r.h5", &sample_error));
    ck_assert_msg(!strncmp(sample_error.text, "r.h5: ", 6), "%s", sample_error.text);
}

static void put_attribute(hid_t f, const char *object, const char *name, hid_t type,
                          hid_t space, const void *value)
{
    hid_t o = H5Oopen(f, object, H5P_DEFAULT);
    if (H5Aexists(o, name) > 0)
        H5Adelete(o, name);
    if (value) {
        hid_t a = H5Acreate2(o, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
        ck_assert(a >= 0 && H5Awrite(a, type, value) >= 0);
        H5Aclose(a);
    }
    H5Oclose(o);
}

static hid_t fixed_text(size_t size, H5T_str_t pad)
{
    hid_t t = H5Tcopy(H5T_C_S1);
    H5Tset_size(t, size);
    H5Tset_strpad(t, pad);
    return t;
}

START_TEST(test_schema)
{
    hid_t f = edit(), one = H5Screate(H5S_SCALAR);
    put_attribute(f, "/", "schema", H5T_NATIVE_INT, one, &(int){7});
    refuse(f, "r.h5: made by a newer gpuparity: schema 7, this reads up to 1");
    f = edit();
    put_attribute(f, "/", "schema", H5T_NATIVE_INT, one, &(int){0});
    refuse(f, "schema 0");
    f = edit();
    put_attribute(f, "/", "schema", H5T_NATIVE_DOUBLE, one, &(double){1});
    refuse(f, "'schema' should be an integer");
}
END_TEST

START_TEST(test_attributes)
{
    const char *c = "/run/0/case/1", *where = "/run/0/case/1: ";
    hid_t f = edit(), one = H5Screate(H5S_SCALAR);
    put_attribute(f, c, "status", 0, 0, NULL);
    refuse(f, "/run/0/case/1: the attribute 'status' is missing");
    f = edit();
    put_attribute(f, c, "status", fixed_text(9, H5T_STR_NULLTERM), one, "splendid");
    refuse(f, "'splendid'");
    f = edit();
    put_attribute(f, c, "id", H5T_NATIVE_INT, one, &(int){1});
    refuse(f, "'id' should be a text");
    f = edit();
    put_attribute(f, c, "id", fixed_text(4, H5T_STR_NULLTERM), one, "abcd");
    refuse(f, "the text in the attribute 'id' has no end");
    f = edit();
    put_attribute(f, c, "id", fixed_text(4, H5T_STR_NULLTERM), one, "\xff\xfe\xfd");
    refuse(f, "not UTF-8");
    f = edit();
    put_attribute(f, c, "id", fixed_text(1, H5T_STR_NULLTERM), one, "");
    refuse(f, "'id' is empty");
    char *long_text = calloc(1, 5000);
    memset(long_text, 'x', 4999);
    f = edit();
    put_attribute(f, c, "id", fixed_text(5000, H5T_STR_NULLTERM), one, long_text);
    refuse(f, "'id' has 4999 bytes; at most 511");
    f = edit();
    put_attribute(f, c, "seconds", H5T_NATIVE_INT, one, &(int){1});
    refuse(f, "'seconds' should be a floating-point number");
    f = edit();
    put_attribute(f, c, "repeats", H5T_NATIVE_INT64, one, &(int64_t){1ll << 40});
    refuse(f, "'repeats' is out of range: 1099511627776");
    f = edit();
    hid_t three = H5Screate_simple(1, &(hsize_t){3}, NULL);
    put_attribute(f, c, "repeats", H5T_NATIVE_INT, three, (int[]){1, 2, 3});
    refuse(f, "'repeats' should be one value");
    ck_assert_msg(strstr(sample_error.text, where), "%s", sample_error.text);
    f = edit();
    put_attribute(f, "/run/0", "simulated", H5T_NATIVE_INT, one, &(int){2});
    refuse(f, "/run/0: the attribute 'simulated' is out of range: 2");
    f = edit();
    put_attribute(f, c, "id", fixed_text(40, H5T_STR_NULLTERM), one,
                  "gemm/tiled:dtype=f32,m=0,seed=1\0\0\0\0\0\0\0\0");
    refuse(f, "the case gemm/tiled:dtype=f32,m=0,seed=1 is there twice");
    free(long_text);
}
END_TEST

/* Texts of variable length and padded ones, as h5py writes them, are as good as ours. */
START_TEST(test_other_writers)
{
    hid_t f = edit(), one = H5Screate(H5S_SCALAR);
    const char *text = "gemm/other:m=1";
    struct record *r;
    struct record_case c;
    put_attribute(f, "/run/0/case/0", "id", fixed_text(H5T_VARIABLE, H5T_STR_NULLTERM), one,
                  &text);
    put_attribute(f, "/run/0/case/0", "mode", fixed_text(4, H5T_STR_NULLPAD), one, "fast");
    put_attribute(f, "/run/0/case/0", "repeats", H5T_STD_I16BE, one, "\1\2");
    put_attribute(f, "/run/0/case/0/out/c", "digest", 0, 0, NULL);
    H5Fclose(f);
    OK(record_open("r.h5", &r, &sample_error));
    OK(record_read_case(r, 0, 0, &c, &sample_error));
    ck_assert_str_eq(c.id, text);
    ck_assert_str_eq(c.mode, "fast");
    ck_assert_int_eq(c.repeats, 0x102);
    record_close(r);
    OK(sample_read_everything("r.h5", &sample_error));
}
END_TEST

START_TEST(test_links)
{
    hid_t f = edit();
    H5Ldelete(f, "/run/0/case/1/out", H5P_DEFAULT);
    refuse(f, "case/1: there is no group 'out'");
    f = edit();
    H5Ldelete(f, "/run/0/case/1", H5P_DEFAULT);
    H5Lcreate_soft("/run/0/case/0", f, "/run/0/case/1", H5P_DEFAULT, H5P_DEFAULT);
    refuse(f, "'1' is a soft or external link");
    f = edit();
    H5Ldelete(f, "/run/0/case/1/out/c", H5P_DEFAULT);
    H5Lcreate_external("/etc/passwd", "/x", f, "/run/0/case/1/out/c", H5P_DEFAULT, H5P_DEFAULT);
    refuse(f, "'c' is a soft or external link");
    f = edit();
    H5Ldelete(f, "/run/0/case/1/out", H5P_DEFAULT);
    H5Lcreate_hard(f, "/", f, "/run/0/case/1/out", H5P_DEFAULT, H5P_DEFAULT);
    refuse(f, "out/run: 'run' should be a dataset");
    f = edit();
    H5Ldelete(f, "/run/0/case/1", H5P_DEFAULT);
    H5Lcreate_hard(f, "/run/0/case", f, "/run/0/case/1", H5P_DEFAULT, H5P_DEFAULT);
    refuse(f, "case/1: the attribute 'id' is missing");
    f = edit();
    H5Lmove(f, "/run/0/case/1", f, "/run/0/case/x", H5P_DEFAULT, H5P_DEFAULT);
    refuse(f, "there is no group '1'");
    f = edit();
    H5Ldelete(f, "/run", H5P_DEFAULT);
    refuse(f, "there is no group 'run'");
}
END_TEST

/* Replaces /run/0/case/1/out/c by a dataset of `type` and `space`, created as `how` says. */
static void put_dataset(hid_t f, hid_t type, hid_t space, hid_t how, const void *data)
{
    hid_t one = H5Screate(H5S_SCALAR);
    const char *path = "/run/0/case/1/out/c";
    H5Ldelete(f, path, H5P_DEFAULT);
    hid_t d = H5Dcreate2(f, path, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    ck_assert(d >= 0);
    if (data)
        ck_assert(H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    H5Dclose(d);
    put_attribute(f, path, "dtype", fixed_text(4, H5T_STR_NULLTERM), one, "f32");
    put_attribute(f, path, "role", fixed_text(4, H5T_STR_NULLTERM), one, "out");
}

START_TEST(test_datasets)
{
    float data[6] = {1, 2, 3, 4, 5, 6};
    hid_t six = H5Screate_simple(1, &(hsize_t){6}, NULL);
    hid_t f32 = H5T_IEEE_F32LE, how = H5Pcreate(H5P_DATASET_CREATE);
    hid_t f = edit();
    put_dataset(f, f32, six, H5P_DEFAULT, data);
    H5Fclose(f);
    OK(sample_read_everything("r.h5", &sample_error));

    f = edit();
    put_dataset(f, H5T_IEEE_F32BE, six, H5P_DEFAULT, data);
    refuse(f, "out/c: its HDF5 type is not the one that f32 has");
    f = edit();
    put_dataset(f, f32, six, H5P_DEFAULT, NULL);
    refuse(f, "never written");
    f = edit();
    put_dataset(f, f32, H5Screate(H5S_NULL), H5P_DEFAULT, NULL);
    refuse(f, "out/c: it has no shape");
    f = edit();
    put_dataset(f, f32, H5Screate_simple(9, (hsize_t[]){1, 1, 1, 1, 1, 2, 1, 3, 1}, NULL),
                H5P_DEFAULT, data);
    refuse(f, "its rank is 9; at most 8");
    f = edit();
    H5Pset_chunk(how, 1, &(hsize_t){3});
    put_dataset(f, f32, six, how, data);
    refuse(f, "not stored contiguously");
    f = edit();
    H5Pset_deflate(how, 3);
    put_dataset(f, f32, six, how, data);
    refuse(f, "compressed or filtered");
    how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_layout(how, H5D_COMPACT);
    f = edit();
    put_dataset(f, f32, six, how, data);
    refuse(f, "not stored contiguously");
    how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(how, "/etc/passwd", 0, 24);
    f = edit();
    put_dataset(f, f32, six, how, NULL);
    refuse(f, "in another file");
    how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_virtual(how, six, "/etc/passwd", "/x", six);
    f = edit();
    put_dataset(f, f32, six, how, NULL);
    refuse(f, "virtual dataset");
}
END_TEST

/* 2^50 elements in a file of some kilobytes: neither memory nor time goes into them. */
START_TEST(test_huge_claims)
{
    hid_t f = edit();
    put_dataset(f, H5T_IEEE_F32LE, H5Screate_simple(2, (hsize_t[]){1u << 25, 1u << 25}, NULL),
                H5P_DEFAULT, NULL);
    refuse(f, "out/c: ");
    f = edit();
    put_dataset(f, H5T_IEEE_F32LE,
                H5Screate_simple(3, (hsize_t[]){0, 1u << 31, 1u << 31}, NULL), H5P_DEFAULT,
                NULL);
    H5Fclose(f);
    OK(sample_read_everything("r.h5",
                              &sample_error)); /* empty, whatever the other dimensions say */

    /* The true size in the file, made wrong behind the library's back: 8 bytes of a dimension.
     */
    size_t size;
    sample_write("r.h5", 1, 5);
    unsigned char *bytes = sample_load("r.h5", &size);
    static const unsigned char dims[16] = {4, 0, 0, 0, 0, 0, 0, 0, 3};
    int changed = 0;
    for (size_t i = 0; i + 16 <= size; i++)
        if (!memcmp(bytes + i, dims, 16)) {
            bytes[i + 6] = 4; /* 2^50 rows and a wrong checksum */
            changed++;
        }
    ck_assert_int_ge(changed, 1);
    sample_store("d.h5", bytes, size);
    ck_assert(!sample_reads_or_explains("d.h5"));
    free(bytes);
}
END_TEST

/* A number of runs, outputs or variables beyond what there can be. */
START_TEST(test_too_many)
{
    char name[32];
    hid_t f = edit(), one = H5Screate(H5S_SCALAR);
    for (int i = 0; i < RECORD_OUT_MAX; i++) {
        snprintf(name, sizeof name, "/run/0/case/1/out/d%d", i);
        H5Lcreate_hard(f, "/run/0/case/1/out/c", f, name, H5P_DEFAULT, H5P_DEFAULT);
    }
    refuse(f, "13 outputs; at most 12");
    f = edit();
    for (int i = 1; i <= RECORD_RUN_MAX; i++) {
        snprintf(name, sizeof name, "/run/%d", i);
        H5Lcreate_hard(f, "/run/0", f, name, H5P_DEFAULT, H5P_DEFAULT);
    }
    refuse(f, "65 runs; at most 64");
    f = edit();
    for (int i = 0; i <= RECORD_ENV_MAX; i++) {
        snprintf(name, sizeof name, "V%d", i);
        put_attribute(f, "/run/0/env", name, fixed_text(2, H5T_STR_NULLTERM), one, "x");
    }
    refuse(f, "the variables in env are damaged or too many");
    f = edit();
    H5Lcreate_hard(f, "/run/0/case/1/out/c", f,
                   "/run/0/case/1/out/a_name_that_is_longer_than_any_of_ours", H5P_DEFAULT,
                   H5P_DEFAULT);
    refuse(f, "the name of member 0 has");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("recordhostile");
    TCase *t = tcase_create("recordhostile");
    tcase_add_checked_fixture(t, sample_enter, sample_leave);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_not_hdf5);
    tcase_add_test(t, test_schema);
    tcase_add_test(t, test_attributes);
    tcase_add_test(t, test_other_writers);
    tcase_add_test(t, test_links);
    tcase_add_test(t, test_datasets);
    tcase_add_test(t, test_huge_claims);
    tcase_add_test(t, test_too_many);
    suite_add_tcase(s, t);
    return suite_run(s);
}
