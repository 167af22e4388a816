/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#include <ctype.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "caseid.h"
#include "child.h"

enum { DEVICE_INDEX_MAX = 255, DEVICE_PROBE_SECONDS = 60 };

/* --- names -----------------------------------------------------------------------------------
 */

static enum err parse_failed(const char *text, struct errinfo *e)
{
    const char *names[16];
    char made[16][32];
    int count = 0;
    for (int i = 0; backends[i] && count + 4 <= 16; i++)
        for (int form = 0; form < 3; form++) {
            static const char *const ending[] = {"", "-sim", ":0"};
            snprintf(made[count], sizeof made[count], "%s%s", backends[i]->name, ending[form]);
            names[count] = made[count];
            count++;
        }
    char list[256] = "";
    for (int i = 0; backends[i]; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s, %s:N, %s-sim", i ? ", " : "",
                 backends[i]->name, backends[i]->name, backends[i]->name);
    }
    names[count++] = backend_host.name;
    char hint[NEAREST_HINT_MAX];
    return err_set(e, ERR_USAGE, "unknown device '%s': valid are %s, host%s", text, list,
                   nearest_hint(text, names, count, hint));
}

/* What follows the backend's name: "", "-sim" or ":N". */
static bool parse_ending(const char *text, struct device_choice *c)
{
    if (!text[0]) {
        c->kind = DEVICE_CHOICE_ANY;
        return true;
    }
    if (!strcmp(text, "-sim")) {
        c->kind = DEVICE_CHOICE_SIMULATED;
        return true;
    }
    if (text[0] != ':' || !isdigit((unsigned char)text[1]) || strlen(text) > 4)
        return false;
    char *end;
    long index = strtol(text + 1, &end, 10);
    if (*end || index > DEVICE_INDEX_MAX)
        return false;
    c->kind = DEVICE_CHOICE_REAL;
    c->index = (int)index;
    return true;
}

enum err device_parse(const char *text, struct device_choice *ret_choice, struct errinfo *e)
{
    for (int i = 0; backends[i]; i++) {
        size_t n = strlen(backends[i]->name);
        struct device_choice c = {.backend = backends[i]};
        if (!strncmp(text, backends[i]->name, n) && parse_ending(text + n, &c)) {
            *ret_choice = c;
            return ERR_OK;
        }
    }
    if (!strcmp(text, backend_host.name)) {
        *ret_choice = (struct device_choice){.backend = &backend_host, .kind = DEVICE_CHOICE_REAL};
        return ERR_OK;
    }
    return parse_failed(text, e);
}

enum err device_parse_list(const char *text, int room, struct device_choice *ret_choice,
                           int *ret_count, struct errinfo *e)
{
    int count = 0;
    for (const char *at = text;;) {
        char word[64];
        size_t n = strcspn(at, ",");
        if (count == room)
            return err_set(e, ERR_USAGE, "'%s' names more than %d devices", text, room);
        snprintf(word, sizeof word, "%.*s", (int)(n < 60 ? n : 60), at);
        TRY(device_parse(word, &ret_choice[count], e));
        count++;
        if (!at[n])
            break;
        at += n + 1;
    }
    *ret_count = count;
    return ERR_OK;
}

void device_print(const struct device_choice *choice, char *ret_text)
{
    if (choice->backend == &backend_host)
        snprintf(ret_text, 32, "%s", choice->backend->name);
    else if (choice->kind == DEVICE_CHOICE_SIMULATED)
        snprintf(ret_text, 32, "%s-sim", choice->backend->name);
    else
        snprintf(ret_text, 32, "%s:%d", choice->backend->name, choice->index);
}

/* --- finding ---------------------------------------------------------------------------------
 */

void device_simulator_folder(char *ret_path, size_t size)
{
    const char *chosen = getenv("GPUPARITY_SIM_DIR");
    if (chosen && chosen[0]) {
        snprintf(ret_path, size, "%s", chosen);
        return;
    }
    char program[PATH_MAX], library[PATH_MAX + 300];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = 0;
    const char *folder = dirname(program);
    snprintf(library, sizeof library, "%s/%s", folder, backends[0]->simulator);
    if (access(library, R_OK) == 0)
        snprintf(ret_path, size, "%s", folder);
    else
        snprintf(ret_path, size, "%s/../lib/gpuparity", folder);
}

struct count_result {
    enum backend_status status;
    int count;
    struct backend_error error;
};

struct count_request {
    const struct backend *backend;
    enum device_kind kind;
    const char *folder;
};

static void count_work(void *context, void *result)
{
    const struct count_request *q = context;
    struct count_result *r = result;
    r->status = q->backend->count(q->kind, q->folder, &r->count, &r->error);
}

int device_count(const struct backend *b, enum device_kind kind, char *ret_reason, size_t size)
{
    char folder[PATH_MAX];
    device_simulator_folder(folder, sizeof folder);
    struct count_request q = {b, kind, folder};
    struct count_result r = {0};
    char crash[400];
    if (!child_call(count_work, &q, &r, sizeof r, DEVICE_PROBE_SECONDS, crash, sizeof crash)) {
        snprintf(ret_reason, size, "%s: looking for devices, it was %s",
                 kind == DEVICE_REAL ? b->runtime : b->simulator, crash);
        return 0;
    }
    if (r.status) {
        snprintf(ret_reason, size, "%.*s", (int)size - 1, r.error.text);
        return 0;
    }
    return r.count;
}

static enum err settle_real(struct device_choice *c, struct errinfo *e)
{
    char reason[600];
    int count = device_count(c->backend, DEVICE_REAL, reason, sizeof reason);
    if (count == 0)
        return err_set(e, ERR_MISSING, "%s:%d: %s; %s-sim is the simulated one",
                       c->backend->name, c->index, reason, c->backend->name);
    if (c->index >= count && count == 1)
        return err_set(e, ERR_MISSING, "%s:%d: there is only one card, %s:0", c->backend->name,
                       c->index, c->backend->name);
    if (c->index >= count)
        return err_set(e, ERR_MISSING, "%s:%d: there are only %d cards, %s:0 to %s:%d",
                       c->backend->name, c->index, count, c->backend->name, c->backend->name,
                       count - 1);
    c->kind = DEVICE_CHOICE_REAL;
    return ERR_OK;
}

static enum err settle_simulated(struct device_choice *c, struct errinfo *e)
{
    char reason[600];
    if (device_count(c->backend, DEVICE_SIMULATED, reason, sizeof reason) < 1)
        return err_set(e, ERR_MISSING,
                       "%s-sim: %s; GPUPARITY_SIM_DIR can name the folder of the simulators",
                       c->backend->name, reason);
    c->kind = DEVICE_CHOICE_SIMULATED;
    c->index = 0;
    return ERR_OK;
}

enum err device_settle(struct device_choice *choice, struct errinfo *e)
{
    if (choice->kind == DEVICE_CHOICE_REAL)
        return settle_real(choice, e);
    if (choice->kind == DEVICE_CHOICE_SIMULATED)
        return settle_simulated(choice, e);

    struct device_choice c = *choice;
    struct errinfo real;
    if (settle_real(&c, &real)) {
        enum err err = settle_simulated(&c, e);
        if (err)
            return err_context(e, err, "no %s device: %s; and no simulated one",
                               c.backend->vendor, real.text);
    }
    *choice = c;
    return ERR_OK;
}
