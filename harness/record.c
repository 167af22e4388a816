/* SPDX-License-Identifier: Apache-2.0 */
#include "record.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const status_names[RECORD_STATUS_COUNT_] = {
    [RECORD_OK] = "ok",
    [RECORD_SKIPPED] = "skipped",
    [RECORD_BUILD_FAILED] = "build-failed",
    [RECORD_LAUNCH_FAILED] = "launch-failed",
    [RECORD_CRASHED] = "crashed",
    [RECORD_TIMED_OUT] = "timed-out",
};

const char *record_status_name(enum record_status s)
{
    return s < RECORD_STATUS_COUNT_ ? status_names[s] : "unknown";
}

enum record_status record_status_find(const char *name)
{
    int s = 0;
    while (s < RECORD_STATUS_COUNT_ && strcmp(status_names[s], name) != 0)
        s++;
    return (enum record_status)s;
}

#define FIELD(owner, member, kind, fixed, summary)                                             \
    {#member,                                                                                  \
     RECORD_FIELD_##kind,                                                                      \
     fixed,                                                                                    \
     offsetof(struct owner, member),                                                           \
     sizeof((struct owner *)0)->member,                                                        \
     summary},

const struct record_field record_run_fields[] = {
#define RECORD_RUN(member, kind, fixed, summary) FIELD(record_run, member, kind, fixed, summary)
#define RECORD_CASE(member, kind, summary)
#include "record.def"
#undef RECORD_RUN
#undef RECORD_CASE
    {0}};

const struct record_field record_case_fields[] = {
#define RECORD_RUN(member, kind, fixed, summary)
#define RECORD_CASE(member, kind, summary) FIELD(record_case, member, kind, false, summary)
#include "record.def"
#undef RECORD_RUN
#undef RECORD_CASE
    {0}};

void record_field_print(const struct record_field *f, const void *owner, char *ret_text,
                        size_t size)
{
    const char *at = (const char *)owner + f->offset;
    switch (f->kind) {
    case RECORD_FIELD_TEXT:
        snprintf(ret_text, size, "%.*s", (int)f->size, at);
        break;
    case RECORD_FIELD_BOOL:
        snprintf(ret_text, size, "%s", *(const bool *)at ? "yes" : "no");
        break;
    case RECORD_FIELD_INT:
        snprintf(ret_text, size, "%d", *(const int *)at);
        break;
    case RECORD_FIELD_LONG:
        snprintf(ret_text, size, "%" PRId64, *(const int64_t *)at);
        break;
    case RECORD_FIELD_COUNT:
        snprintf(ret_text, size, "%" PRIu64, *(const uint64_t *)at);
        break;
    case RECORD_FIELD_REAL:
        snprintf(ret_text, size, "%.6g", *(const double *)at);
        break;
    case RECORD_FIELD_STATUS:
        snprintf(ret_text, size, "%s", record_status_name(*(const enum record_status *)at));
        break;
    }
}
