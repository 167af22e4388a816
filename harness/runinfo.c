/* SPDX-License-Identifier: Apache-2.0 */
#include "runinfo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Those of our simulators, and of the loader, that change numbers on either side. */
static const char *const common_environment[] = {"GPUPARITY_SIM_FUSE", "GPUPARITY_SIM_APPROX",
                                                 "GPUPARITY_SIM_BUDGET", "GPUPARITY_SIM_ORDER",
                                                 "GPUPARITY_SIM_FILL",
                                                 "LD_PRELOAD", NULL};

/* PRETTY_NAME="Debian GNU/Linux 12 (bookworm)" */
static void distribution(char *ret_text, size_t size)
{
    char line[256];
    FILE *f = fopen("/etc/os-release", "r");
    while (f && fgets(line, sizeof line, f)) {
        char *value = line + strlen("PRETTY_NAME=");
        if (strncmp(line, "PRETTY_NAME=", strlen("PRETTY_NAME=")))
            continue;
        value += *value == '"';
        value[strcspn(value, "\"\n")] = 0;
        snprintf(ret_text, size, "%s", value);
    }
    if (f)
        fclose(f);
}

void runinfo_system(char *ret_text, size_t size)
{
    struct utsname u;
    char name[100] = "";
    if (uname(&u))
        memset(&u, 0, sizeof u);
    distribution(name, sizeof name);
    snprintf(ret_text, size, "%.20s %.60s %.20s%s%s", u.sysname, u.release, u.machine,
             name[0] ? ", " : "", name);
}

static void environment_add(const char *const *names, struct record_run *run)
{
    for (int i = 0; names[i] && run->n_env < RECORD_ENV_MAX; i++) {
        const char *value = getenv(names[i]);
        if (!value)
            continue;
        snprintf(run->env[run->n_env].name, sizeof run->env[0].name, "%s", names[i]);
        snprintf(run->env[run->n_env].value, sizeof run->env[0].value, "%s", value);
        run->n_env++;
    }
}

void runinfo_fill(const struct device_choice *choice, const struct device_info *info, int shard,
                  int shards, struct record_run *ret_run)
{
    struct record_run *r = ret_run;
    memset(r, 0, sizeof *r);
    device_print(choice, r->device);
    r->simulated = info->simulated;
    snprintf(r->name, sizeof r->name, "%s", info->name);
    snprintf(r->arch, sizeof r->arch, "%s", info->arch);
    snprintf(r->library, sizeof r->library, "%s", info->library);
    snprintf(r->driver, sizeof r->driver, "%s", info->driver);
    snprintf(r->runtime, sizeof r->runtime, "%s", info->runtime);
    r->warp = info->warp;
    if (gethostname(r->host, sizeof r->host - 1))
        snprintf(r->host, sizeof r->host, "unknown");
    runinfo_system(r->system, sizeof r->system);
    time_t now = time(NULL);
    struct tm utc;
    strftime(r->created, sizeof r->created, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    snprintf(r->shard, sizeof r->shard, "%d/%d", shards ? shard : 1, shards ? shards : 1);
    environment_add(choice->backend->environment, r);
    environment_add(common_environment, r);
}
