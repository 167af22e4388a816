/* SPDX-License-Identifier: Apache-2.0 */
#include "runsample.h"

START_TEST(devices_by_name)
{
    struct device_choice c[2];
    char text[32];
    int n = 0;
    ck_assert_int_eq(device_parse_list("hip-sim,cuda:11", 2, c, &n, &e), 0);
    ck_assert_int_eq(n, 2);
    ck_assert_str_eq(c[0].backend->name, "hip");
    ck_assert_int_eq(c[0].kind, DEVICE_CHOICE_SIMULATED);
    ck_assert_int_eq(c[1].kind, DEVICE_CHOICE_REAL);
    device_print(&c[1], text);
    ck_assert_str_eq(text, "cuda:11");
    ck_assert_int_eq(device_parse("hip", c, &e), 0);
    ck_assert_int_eq(c[0].kind, DEVICE_CHOICE_ANY);
    static const char *const bad[] = {
        "",        "cud",      "cuda:",    "cuda:-1", "cuda:x",
        "cuda:1x", "cuda:999", "hip-sima", "hip sim", "cuda:99999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(device_parse(bad[i], c, &e) == ERR_USAGE, "%s", bad[i]);
        ck_assert_ptr_nonnull(strstr(e.text, "hip-sim"));
    }
    ck_assert_int_eq(device_parse_list("hip,cuda,hip", 2, c, &n, &e), ERR_USAGE);
    ck_assert_int_eq(device_parse_list("hip,,cuda", 3, c, &n, &e), ERR_USAGE);
    device_parse("hip-sin", c, &e);
    ck_assert_ptr_nonnull(strstr(e.text, "did you mean 'hip-sim'?"));
}
END_TEST

START_TEST(device_settles)
{
    struct device_choice c = fake_device();
    fake_use(NULL);
    ck_assert_msg(!device_settle(&c, &e), "%s", e.text);
    fake_use("init-crash");
    ck_assert_int_eq(device_settle(&c, &e), ERR_MISSING);
    ck_assert_msg(strstr(e.text, "killed by signal 11") != NULL, "%s", e.text);
    fake_use("no-card");
    ck_assert_int_eq(device_settle(&c, &e), ERR_MISSING);
    setenv("GPUPARITY_SIM_DIR", "/nowhere", 1);
    ck_assert_int_eq(device_settle(&c, &e), ERR_MISSING);
    ck_assert_ptr_nonnull(strstr(e.text, "/nowhere/"));
    ck_assert_ptr_nonnull(strstr(e.text, "GPUPARITY_SIM_DIR"));
}
END_TEST

int main(void)
{
    device_simulator_folder(simulators, sizeof simulators);
    TCase *t = tcase_create("device");
    tcase_add_test(t, devices_by_name);
    tcase_add_test(t, device_settles);
    return run_suite("device", t);
}
