/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "codestore.h"
#include "config.h"
#include "device.h"
#include "golden.h"
#include "runinfo.h"

enum { DOCTOR_WIDTH = 79, DOCTOR_INDENT = 14, DOCTOR_SECONDS = 60 };

/* --- a line: a label and text, wrapped with a hanging indent
 * ---------------------------------- */

static void print_row(FILE *out, const char *label, const char *text)
{
    int column = fprintf(out, "  %-*s", DOCTOR_INDENT - 2, label);
    bool first = true;
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (!first && column + 1 + n > DOCTOR_WIDTH) {
            column = fprintf(out, "\n%*s", DOCTOR_INDENT, "") - 1;
            first = true;
        }
        column += fprintf(out, "%s%.*s", first ? "" : " ", n, text);
        first = false;
        text += n;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void print_format(FILE *out, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void print_format(FILE *out, const char *label, const char *format, ...)
{
    char text[2048];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    print_row(out, label, text);
}

/* --- devices ---------------------------------------------------------------------------------
 */

struct open_request {
    const struct backend *backend;
    enum device_kind kind;
    int index;
    char folder[PATH_MAX];
};

struct open_result {
    enum backend_status status;
    struct device_info info;
    struct backend_error error;
};

static void open_work(void *context, void *result)
{
    const struct open_request *q = context;
    struct open_result *r = result;
    struct device *d = NULL;
    r->status = q->backend->open(q->kind, q->folder, q->index, &d, &r->error);
    if (!r->status)
        q->backend->describe(d, &r->info);
}

static bool report_device(FILE *out, const struct backend *b, enum device_kind kind, int index)
{
    struct open_request q = {.backend = b, .kind = kind, .index = index};
    struct open_result r = {0};
    char label[16], reason[400];
    snprintf(label, sizeof label, kind == DEVICE_REAL ? "card %d" : "simulator", index);
    device_simulator_folder(q.folder, sizeof q.folder);
    if (!child_call(open_work, &q, &r, sizeof r, DOCTOR_SECONDS, reason, sizeof reason)) {
        print_format(out, label, "cannot be opened: %s", reason);
        return false;
    }
    if (r.status) {
        print_format(out, label, "cannot be opened: %s", r.error.text);
        return false;
    }
    const struct device_info *i = &r.info;
    print_format(out, label, "%s, %s, %.1f GiB, warp %d, %s%s%s (%s)", i->name, i->arch,
                 (double)i->memory / (1 << 30), i->warp, i->runtime,
                 i->driver[0] ? ", driver " : "", i->driver, i->library);
    return true;
}

/* How many of the vendor's display devices the machine has, whatever drivers there are. */
static int pci_count(uint32_t vendor)
{
    int count = 0;
    DIR *d = opendir("/sys/bus/pci/devices");
    for (struct dirent *n = d ? readdir(d) : NULL; n; n = readdir(d)) {
        static const char *const file[] = {"vendor", "class"};
        unsigned long value[2] = {0};
        for (int i = 0; i < 2; i++) {
            char path[512], text[32] = "";
            snprintf(path, sizeof path, "/sys/bus/pci/devices/%.200s/%s", n->d_name, file[i]);
            FILE *f = fopen(path, "r");
            if (f && fgets(text, sizeof text, f))
                value[i] = strtoul(text, NULL, 16);
            if (f)
                fclose(f);
        }
        unsigned long class = value[1] >> 16;
        count += value[0] == vendor && (class == 0x03 || class == 0x12);
    }
    if (d)
        closedir(d);
    return count;
}

/* Returns how many cards can be opened. */
static int report_cards(FILE *out, const struct backend *b)
{
    char reason[600];
    int good = 0, count = device_count(b, DEVICE_REAL, reason, sizeof reason);
    for (int i = 0; i < count; i++)
        good += report_device(out, b, DEVICE_REAL, i);
    if (count)
        return good;
    int plugged = pci_count(b->pci_vendor);
    if (plugged)
        print_format(out, "card", "%d in this machine but not usable: %s", plugged, reason);
    else
        print_format(out, "card", "none in this machine: %s", reason);
    return 0;
}

static bool report_simulator(FILE *out, const struct backend *b)
{
    char reason[600];
    if (device_count(b, DEVICE_SIMULATED, reason, sizeof reason))
        return report_device(out, b, DEVICE_SIMULATED, 0);
    print_format(out, "simulator", "none: %s", reason);
    return false;
}

/* --- code ------------------------------------------------------------------------------------
 */

struct probe_result {
    enum backend_status status;
    char version[64], library[256];
    struct backend_error error;
};

static void probe_work(void *context, void *result)
{
    const struct backend *b = context;
    struct probe_result *r = result;
    r->status = b->toolchain->probe(b->arch, r->version, sizeof r->version, r->library,
                                    sizeof r->library, &r->error);
}

static bool report_compiler(FILE *out, const struct backend *b, char *ret_version, size_t size)
{
    struct probe_result r = {0};
    char reason[400];
    struct backend copy = *b;
    if (!child_call(probe_work, &copy, &r, sizeof r, DOCTOR_SECONDS, reason, sizeof reason)) {
        print_format(out, "compiler", "%s, when asked: %s", b->toolchain->name, reason);
        return false;
    }
    if (r.status)
        print_format(out, "compiler", "none: %s", r.error.text);
    else
        print_format(out, "compiler", "%s (%s)", r.version, r.library);
    snprintf(ret_version, size, "%s", r.version);
    return r.status == BACKEND_OK;
}

static enum err report_kept(FILE *out, const struct backend *b, int *ret_fresh,
                            struct errinfo *e)
{
    struct golden_tally t;
    char folder[PATH_MAX];
    TRY(golden_code_check(NULL, b, &t, e));
    codestore_folder(folder, sizeof folder);
    *ret_fresh = t.fresh;
    if (t.fresh == t.files)
        print_format(out, "kept code", "all %d files fresh, made for %s by %s, %" PRId64 " KiB",
                     t.files, b->arch, t.compiler, (t.bytes + 1023) / 1024);
    else
        print_format(out, "kept code",
                     "%d of %d files fresh, %d stale, %d missing, %d damaged in %s/code; "
                     "`gpuparity golden code` makes them again",
                     t.fresh, t.files, t.stale, t.missing, t.damaged, folder);
    return ERR_OK;
}

/* --- the verdict for one side
 * ------------------------------------------------------------------
 */

static void report_use(FILE *out, const struct backend *b, bool card, bool simulator,
                       bool compiler, const char *version, int fresh)
{
    if (!card && !simulator)
        print_format(out, "check uses", "nothing: there is no %s device, real or simulated",
                     b->vendor);
    else if (!compiler && !fresh)
        print_format(out, "check uses", "nothing: no compiler and no kept code");
    else
        print_format(out, "check uses", "%s%s with %s%s", b->name, card ? ":0" : "-sim",
                     compiler ? version : "the kept code",
                     compiler ? " (--code golden: the kept code)"
                              : ", hence modes default and strict only");
}

static void report_environment(FILE *out, const struct backend *b)
{
    char text[1024] = "";
    for (int i = 0; b->environment[i]; i++) {
        const char *value = getenv(b->environment[i]);
        size_t used = strlen(text);
        if (value)
            snprintf(text + used, sizeof text - used, "%s%s=%s", used ? " " : "",
                     b->environment[i], value);
    }
    if (text[0])
        print_row(out, "environment", text);
}

static enum err report_backend(FILE *out, const struct backend *b, struct errinfo *e)
{
    char version[64] = "";
    int fresh = 0;
    fprintf(out, "\n%s (%s)\n", b->name, b->vendor);
    bool card = report_cards(out, b) > 0;
    bool simulator = report_simulator(out, b);
    bool compiler = report_compiler(out, b, version, sizeof version);
    TRY(report_kept(out, b, &fresh, e));
    report_environment(out, b);
    report_use(out, b, card, simulator, compiler, version, fresh);
    return ERR_OK;
}

enum err doctor_report(FILE *out, struct errinfo *e)
{
    char system[128];
    runinfo_system(system, sizeof system);
    fprintf(out, "gpuparity %s\n", GPUPARITY_VERSION);
    print_format(out, "machine", "%s, %ld cores", system, sysconf(_SC_NPROCESSORS_ONLN));
    for (int i = 0; backends[i]; i++)
        TRY(report_backend(out, backends[i], e));
    return ERR_OK;
}
