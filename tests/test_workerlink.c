/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/workerlink.h"
#include "suite.h"

/* A result as a worker sends it: two tensors, code and log. */
static size_t message(char *bytes, size_t room)
{
    int fd[2];
    struct caserun_result r = {.n_out = 2, .c = {.status = RECORD_OK, .seconds = 1.5}};
    char log[] = "a log", object[] = "code";
    struct code code = {.bytes = object, .size = 4, .log = log};
    memset(r.c.reason, 'x', sizeof r.c.reason); /* never ends */
    strcpy(r.out[0].name, "c");
    strcpy(r.out[0].role, "out");
    strcpy(r.out[1].name, "state");
    strcpy(r.out[1].role, "inout");
    ck_assert_int_eq(tensor_init(&r.out[0].tensor, DTYPE_F32, 2, (int64_t[]){2, 3}, NULL), 0);
    ck_assert_int_eq(tensor_init(&r.out[1].tensor, DTYPE_U8, 1, (int64_t[]){0}, NULL), 0);
    for (int i = 0; i < 6; i++)
        tensor_set_bits(&r.out[0].tensor, i, 0x01020304u * (unsigned)i);
    r.code = &code;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    ck_assert(workerlink_send_result(fd[0], &r, true));
    close(fd[0]);
    size_t size = 0;
    for (ssize_t n = 1; n > 0; size += (size_t)n)
        n = recv(fd[1], bytes + size, room - size, 0);
    close(fd[1]);
    caserun_release(&r);
    return size;
}

static char bytes[1 << 16];

START_TEST(comes_back_whole)
{
    enum workerlink_kind kind;
    const char *payload;
    size_t payload_size, size = message(bytes, sizeof bytes);
    struct worker_result r;
    bool spoiled = true;
    ck_assert_int_eq(workerlink_message(bytes, size, &kind, &payload, &payload_size), size);
    ck_assert_int_eq(kind, WORKERLINK_RESULT);
    ck_assert(workerlink_result(payload, payload_size, &spoiled, &r));
    ck_assert(!spoiled);
    ck_assert_int_eq(r.n_out, 2);
    ck_assert_str_eq(r.out[1].name, "state");
    ck_assert_int_eq(r.out[1].tensor.count, 0);
    ck_assert_int_eq(r.out[0].tensor.dim[1], 3);
    for (int i = 0; i < 6; i++)
        ck_assert_uint_eq(tensor_bits(&r.out[0].tensor, i), 0x01020304u * (unsigned)i);
    ck_assert_uint_eq(r.code_size, 4);
    ck_assert_mem_eq(r.code, "code", 4);
    ck_assert_str_eq(r.log, "a log");
    ck_assert(r.c.seconds == 1.5);
    ck_assert_uint_eq(strlen(r.c.reason), sizeof r.c.reason - 1);
    worker_result_release(&r);
}
END_TEST

/* A part is not yet a message; its payload, shortened, is no result. */
START_TEST(parts_are_not_taken)
{
    enum workerlink_kind kind;
    const char *payload;
    size_t payload_size, size = message(bytes, sizeof bytes);
    struct worker_result r;
    bool spoiled;
    for (size_t n = 0; n < size; n++)
        ck_assert_int_eq(workerlink_message(bytes, n, &kind, &payload, &payload_size), 0);
    ck_assert_int_gt(workerlink_message(bytes, size, &kind, &payload, &payload_size), 0);
    for (size_t n = 0; n < payload_size; n += 7)
        ck_assert(!workerlink_result(payload, n, &spoiled, &r));
}
END_TEST

/* Bytes of a library that writes where it should not. */
START_TEST(rubbish_is_refused)
{
    enum workerlink_kind kind;
    const char *payload;
    size_t payload_size, size = message(bytes, sizeof bytes);
    struct worker_result r;
    bool spoiled;
    uint64_t x = 88172645463325252u;
    ck_assert_int_eq(workerlink_message("error: cannot open display :0\n", 30, &kind, &payload,
                                        &payload_size),
                     -1);
    ck_assert_int_gt(workerlink_message(bytes, size, &kind, &payload, &payload_size), 0);
    for (int i = 0; i < 20000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        char *at = bytes + (payload - bytes) + x % payload_size, was = *at;
        *at = (char)(x >> 32);
        if (workerlink_result(payload, payload_size, &spoiled, &r))
            worker_result_release(&r);
        *at = was;
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("workerlink");
    TCase *t = tcase_create("workerlink");
    tcase_add_test(t, comes_back_whole);
    tcase_add_test(t, parts_are_not_taken);
    tcase_add_test(t, rubbish_is_refused);
    suite_add_tcase(s, t);
    return suite_run(s);
}
