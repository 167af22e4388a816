/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <hdf5.h>

#include "recordsample.h"
#include "suite.h"

static uint64_t random_state;

static uint64_t random_below(uint64_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 20) % n;
}

/* One bit anywhere: either it does not matter (unused bytes) or it is found; a good read is
 * then the record that was written. */
START_TEST(test_bit_flips)
{
    size_t size;
    sample_write("r.h5", 2, 3);
    unsigned char *bytes = sample_load("r.h5", &size);
    int found = 0;
    random_state = 1 + (uint64_t)_i;
    for (int n = 0; n < 200; n++) {
        uint64_t bit = random_below(8 * size);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        sample_store("d.h5", bytes, size);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        if (sample_reads_or_explains("d.h5"))
            sample_check("d.h5", 2, 3);
        else
            found++;
    }
    ck_assert_int_gt(found, 20);
    free(bytes);
}
END_TEST

/* Many bytes overwritten in one place. */
START_TEST(test_scribbles)
{
    size_t size;
    sample_write("r.h5", 1, 3);
    unsigned char *bytes = sample_load("r.h5", &size), *copy = malloc(size);
    random_state = 77 + (uint64_t)_i;
    for (int n = 0; n < 100; n++) {
        memcpy(copy, bytes, size);
        uint64_t start = random_below(size), count = 1 + random_below(64);
        for (uint64_t k = start; k < start + count && k < size; k++)
            copy[k] = (unsigned char)(random_below(4) ? random_below(256) : 0xff);
        sample_store("d.h5", copy, size);
        if (sample_reads_or_explains("d.h5"))
            sample_check("d.h5", 1, 3);
    }
    free(copy);
    free(bytes);
}
END_TEST

START_TEST(test_truncation)
{
    size_t size;
    sample_write("r.h5", 1, 2);
    unsigned char *bytes = sample_load("r.h5", &size);
    random_state = 5;
    for (int n = 0; n < 100; n++) {
        size_t cut = n < 20   ? (size_t)n * 4
                     : n < 40 ? size - 1 - ((size_t)n - 20) * 7
                              : random_below(size);
        sample_store("d.h5", bytes, cut);
        ck_assert_msg(!sample_reads_or_explains("d.h5"), "%zu of %zu bytes read well", cut,
                      size);
    }
    free(bytes);
}
END_TEST

/* --- the oldest HDF5 format, which other programs still write --- */

static void copy_attributes(hid_t from, hid_t to)
{
    for (hsize_t i = 0;; i++) {
        char name[64], value[1024];
        hid_t a =
            H5Aopen_by_idx(from, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT);
        if (a < 0)
            return;
        H5Aget_name(a, sizeof name, name);
        hid_t type = H5Aget_type(a), space = H5Aget_space(a);
        ck_assert(H5Tget_size(type) <= sizeof value && H5Aread(a, type, value) >= 0);
        hid_t b = H5Acreate2(to, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
        ck_assert(H5Awrite(b, type, value) >= 0);
        H5Aclose(a);
        H5Aclose(b);
    }
}

static void copy_dataset(hid_t from, hid_t to_group, const char *name)
{
    char value[1024];
    hid_t type = H5Dget_type(from), space = H5Dget_space(from);
    hid_t how = H5Dget_create_plist(from);
    hid_t to = H5Dcreate2(to_group, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    ck_assert(H5Dread(from, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0);
    ck_assert(H5Dwrite(to, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0);
    copy_attributes(from, to);
    H5Dclose(to);
}

static void copy_group(hid_t from, hid_t to)
{
    H5G_info_t info;
    copy_attributes(from, to);
    H5Gget_info(from, &info);
    for (hsize_t i = 0; i < info.nlinks; i++) {
        char name[64];
        H5Lget_name_by_idx(from, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name,
                           H5P_DEFAULT);
        hid_t object = H5Oopen(from, name, H5P_DEFAULT);
        if (H5Iget_type(object) == H5I_GROUP) {
            hid_t group = H5Gcreate2(to, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
            copy_group(object, group);
            H5Gclose(group);
        } else {
            copy_dataset(object, to, name);
        }
        H5Oclose(object);
    }
}

static void write_old(const char *path, int n_run, int64_t n_case)
{
    sample_write("new.h5", n_run, n_case);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t from = H5Fopen("new.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t to = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t a = H5Gopen2(from, "/", H5P_DEFAULT), b = H5Gopen2(to, "/", H5P_DEFAULT);
    copy_group(a, b);
    H5Gclose(a);
    H5Gclose(b);
    H5Fclose(from);
    H5Fclose(to);
}

/* That format has no checksums: damage goes far into the library, which sometimes crashes. */
START_TEST(test_old_format)
{
    size_t size;
    write_old("r.h5", 1, 2);
    sample_check("r.h5", 1, 2);
    unsigned char *bytes = sample_load("r.h5", &size), *copy = malloc(size);
    int found = 0;
    random_state = 1000 + (uint64_t)_i;
    for (int n = 0; n < 150; n++) {
        memcpy(copy, bytes, size);
        uint64_t start = random_below(size), count = 1 + random_below(n % 2 ? 4 : 200);
        for (uint64_t k = start; k < start + count && k < size; k++)
            copy[k] = (unsigned char)random_below(256);
        sample_store("d.h5", copy, size);
        found += !sample_reads_or_explains("d.h5");
    }
    ck_assert_int_gt(found, 20);
    free(copy);
    free(bytes);
}
END_TEST

/* A file that changes after it was opened. */
START_TEST(test_shrinks_while_open)
{
    struct record *r;
    int n;
    struct record_out out[RECORD_OUT_MAX];
    sample_write("r.h5", 1, 3);
    OK(record_open("r.h5", &r, &sample_error));
    ck_assert(truncate("r.h5", 100) == 0);
    FAILS(ERR_FORMAT, "out/c: the file is truncated",
          record_read_outs(r, 0, 2, &n, out, &sample_error));
    record_close(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("recorddamage");
    TCase *t = tcase_create("recorddamage");
    tcase_add_checked_fixture(t, sample_enter, sample_leave);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_bit_flips, 0, 2);
    tcase_add_test(t, test_scribbles);
    tcase_add_loop_test(t, test_old_format, 0, 2);
    tcase_add_test(t, test_truncation);
    tcase_add_test(t, test_shrinks_while_open);
    suite_add_tcase(s, t);
    return suite_run(s);
}
