/* SPDX-License-Identifier: Apache-2.0 */
#include "completion.h"

#include <ctype.h>
#include <string.h>

#include "../backends/backend.h"
#include "case.h"

/* --- the words, the same for every shell --- */

static void put_devices(FILE *out)
{
    for (int i = 0; backends[i]; i++)
        fprintf(out, "%s%s %s-sim", i ? " " : "", backends[i]->name, backends[i]->name);
}

static void put_backends(FILE *out)
{
    for (int i = 0; backends[i]; i++)
        fprintf(out, "%s%s", i ? " " : "", backends[i]->name);
}

static void put_cases(FILE *out)
{
    for (int f = 0; case_families[f]; f++) {
        fprintf(out, " %s", case_families[f]->name);
        for (const struct variant *v = case_families[f]->variants; v->name; v++)
            if (!v->hidden)
                fprintf(out, " %s/%s", case_families[f]->name, v->name);
    }
}

static void put_options(FILE *out, unsigned groups)
{
    struct option_text o;
    const char *before = "";
    for (int i = 0; options_row(i, &o); i++) {
        if (!(o.groups & (groups | OPTIONS_HELP)))
            continue;
        fprintf(out, "%s--%s", before, o.name);
        before = " ";
        if (o.letter)
            fprintf(out, " -%c", o.letter);
    }
}

/* "code | check": the words a usage that begins with one allows. */
static void put_usage_words(FILE *out, const char *usage)
{
    if (!islower((unsigned char)usage[0]))
        return;
    for (const char *p = usage; *p; p++)
        if (islower((unsigned char)*p) || *p == ' ')
            fputc(*p, out);
}

static void put_words(FILE *out, const struct command *c)
{
    put_usage_words(out, c->usage);
    if (strstr(c->usage, "CASE"))
        put_cases(out);
}

static bool takes_files(const struct command *c)
{
    /* Before the first option: behind one it is that option's value. */
    const char *file = strstr(c->usage, ".h5"), *option = strchr(c->usage, '-');
    return file && (!option || file < option);
}

/* The shell's pattern "--output|-o|..." of the options whose value is `value`; false if none.
 */
static bool put_pattern(FILE *out, const char *value)
{
    struct option_text o;
    bool any = false;
    for (int i = 0; options_row(i, &o); i++) {
        if (value ? !o.value || strcmp(o.value, value) != 0 : !o.value)
            continue;
        fprintf(out, "%s--%s", any ? "|" : "", o.name);
        if (o.letter)
            fprintf(out, "|-%c", o.letter);
        any = true;
    }
    return any;
}

/* --- bash --- */

static void bash_values(FILE *out)
{
    fputs("    case $before in\n    ", out);
    put_pattern(out, "FILE");
    fputs(")\n        COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n    --on)\n"
          "        local last=${word##*,} head=\n"
          "        [[ $word == *,* ]] && head=${word%,*},\n"
          "        COMPREPLY=($(compgen -P \"$head\" -W '",
          out);
    put_devices(out);
    fputs("' -- \"$last\")); return ;;\n    --backend)\n        COMPREPLY=($(compgen -W '",
          out);
    put_backends(out);
    fputs("' -- \"$word\")); return ;;\n    ", out);
    put_pattern(out, NULL); /* what is left has a value nobody can guess */
    fputs(")\n        return ;;\n    esac\n", out);
}

void completion_bash(FILE *out, const struct command *list)
{
    fputs("# SPDX-License-Identifier: Apache-2.0\n"
          "# Made by `gpuparity help --bash`.\n_gpuparity()\n{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local options= words= files=\n    COMPREPLY=()\n"
          "    if ((COMP_CWORD == 1)); then\n        COMPREPLY=($(compgen -W '",
          out);
    for (const struct command *c = list; c->name; c++)
        fprintf(out, "%s ", c->name);
    fputs("help --help --version' -- \"$word\"))\n        return\n    fi\n", out);
    bash_values(out);
    fputs("    case ${COMP_WORDS[1]} in\n", out);
    for (const struct command *c = list; c->name; c++) {
        fprintf(out, "    %s)\n        options='", c->name);
        put_options(out, c->groups);
        fputs("'\n        words='", out);
        put_words(out, c);
        fprintf(out, "'\n        files=%s ;;\n", takes_files(c) ? "yes" : "");
    }
    fputs(
        "    esac\n"
        "    if [[ $word == -* ]]; then\n"
        "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n        return\n    fi\n"
        "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
        "    [[ -z $files ]] || COMPREPLY+=($(compgen -f -- \"$word\"))\n}\n"
        "complete -o filenames -F _gpuparity gpuparity\n",
        out);
}

/* --- zsh --- */

/* A text inside '...' and inside _arguments' brackets. */
static void zsh_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (*text == '[' || *text == ']' || *text == ':' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

static void zsh_value(FILE *out, const struct option_text *o)
{
    if (!o->value)
        return;
    fputc(':', out);
    zsh_text(out, o->value);
    fputc(':', out);
    if (!strcmp(o->value, "FILE")) {
        fputs("_files", out);
    } else if (!strcmp(o->name, "on")) {
        fputs("_values -s , device ", out);
        put_devices(out);
    } else if (!strcmp(o->name, "backend")) {
        fputc('(', out);
        put_backends(out);
        fputc(')', out);
    }
}

static void zsh_option(FILE *out, const struct option_text *o)
{
    for (int form = o->letter ? 0 : 1; form < 2; form++) {
        fputs(" \\\n            '*", out);
        if (form)
            fprintf(out, "--%s%s", o->name, o->value ? "=" : "");
        else
            fprintf(out, "-%c%s", o->letter, o->value ? "+" : "");
        fputc('[', out);
        zsh_text(out, o->help);
        fputc(']', out);
        zsh_value(out, o);
        fputc('\'', out);
    }
}

static void zsh_command(FILE *out, const struct command *c)
{
    struct option_text o;
    fprintf(out, "    %s)\n        words_of=(", c->name);
    put_words(out, c);
    fputs(")\n        _arguments -s", out);
    for (int i = 0; options_row(i, &o); i++)
        if (o.groups & (c->groups | OPTIONS_HELP))
            zsh_option(out, &o);
    if (takes_files(c))
        fputs(" \\\n            '*:record:{ compadd -a words_of; _files }'", out);
    else
        fputs(" \\\n            '*:word:compadd -a words_of'", out);
    fputs(" ;;\n", out);
}

void completion_zsh(FILE *out, const struct command *list)
{
    fputs("#compdef gpuparity\n# SPDX-License-Identifier: Apache-2.0\n"
          "# Made by `gpuparity help --zsh`.\n_gpuparity()\n{\n"
          "    local -a commands words_of\n    commands=(\n",
          out);
    for (const struct command *c = list; c->name; c++) {
        fprintf(out, "        '%s:", c->name);
        zsh_text(out, c->summary);
        fputs("'\n", out);
    }
    fputs("    )\n    if ((CURRENT == 2)); then\n        _describe command commands\n"
          "        return\n    fi\n    shift words\n    ((CURRENT--))\n    case $words[1] in\n",
          out);
    for (const struct command *c = list; c->name; c++)
        zsh_command(out, c);
    fputs("    esac\n}\n_gpuparity \"$@\"\n", out);
}
