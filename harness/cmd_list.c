/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"

#include <stdio.h>
#include <string.h>

#include "caseid.h"

static void print_text(const struct caselist *l)
{
    char text[CASEID_TEXT_MAX];
    for (int64_t i = 0; i < l->count; i++) {
        caseid_print(&l->id[i], text);
        puts(text);
    }
}

/* Ids hold no character that JSON would want escaped. */
static void print_json(const struct caselist *l)
{
    char text[CASEID_TEXT_MAX], mode[64];
    printf("[");
    for (int64_t i = 0; i < l->count; i++) {
        const struct case_id *id = &l->id[i];
        caseid_print(id, text);
        caseid_print_mode(&id->mode, mode);
        printf(
            "%s\n  {\"id\": \"%s\", \"family\": \"%s\", \"variant\": \"%s\", \"dist\": \"%s\", "
            "\"seed\": %llu, \"mode\": \"%s\"}",
            i ? "," : "", text, id->family->name, id->variant->name, dist_name(id->dist),
            (unsigned long long)id->seed, mode);
    }
    printf("\n]\n");
}

static enum err unknown_format(const char *format, struct errinfo *e)
{
    static const char *const names[] = {"text", "json"};
    char hint[NEAREST_HINT_MAX];
    return err_set(e, ERR_USAGE, "list knows the formats text and json, not '%s'%s", format,
                   nearest_hint(format, names, 2, hint));
}

enum err cmd_list(const struct options *o, int *ret_exit, struct errinfo *e)
{
    (void)ret_exit;
    bool json = o->format && !strcmp(o->format, "json");
    if (o->format && !json && strcmp(o->format, "text"))
        return unknown_format(o->format, e);
    struct caselist l = {0};
    TRY(caselist_select(&l, o->n_word, o->word, o->tags, e));
    if (json)
        print_json(&l);
    else
        print_text(&l);
    caselist_release(&l);
    return ERR_OK;
}
