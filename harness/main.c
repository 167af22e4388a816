/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "caseid.h"
#include "command.h"
#include "completion.h"
#include "config.h"
#include "manual.h"
#include "quote.h"

const struct command commands[] = {
    {"check", "[CASE...] [--on cuda,hip] [-o REC.h5]",
     "run on both sides, compare, report: the everyday command", OPTIONS_RUNS | OPTIONS_JUDGES,
     cmd_check},
    {"run", "[CASE...] --on DEVICE -o REC.h5", "run on one device, write a record",
     OPTIONS_RUNS, cmd_run},
    {"compare", "A.h5 B.h5",
     "judge two records, also from different machines, or any two files of tensors",
     OPTIONS_JUDGES | OPTIONS_COMPARES, cmd_compare},
    {"verify", "REC.h5 | CASE... [--on DEVICE]", "one side against the reference",
     OPTIONS_RUNS | OPTIONS_JUDGES, cmd_verify},
    {"explain", "CASE [--on cuda,hip] | A.h5 B.h5 [--case ID]",
     "which change on one side would make the two sides equal", OPTIONS_TRIES | OPTIONS_EXPLAINS,
     cmd_explain},
    {"minimize", "CASE [--on cuda,hip] [-o FILE.cu]",
     "the smallest case that shows the same, as one program", OPTIONS_TRIES | OPTIONS_SHRINKS,
     cmd_minimize},
    {"functions", "[CASE...] [--on cuda,hip]",
     "what each stack's library functions err: the table to look up", OPTIONS_RUNS,
     cmd_functions},
    {"report", "REC.h5 [B.h5] --format NAME -o FILE", "the report of records, as text or file",
     OPTIONS_REPORTS | OPTIONS_COMPARES, cmd_report},
    {"probe", "--on DEVICES | A.h5 [B.h5] | --tree CASE --on DEVICES",
     "what a device's arithmetic is; where two differ; in which order a case adds",
     OPTIONS_RUNS | OPTIONS_PROBES, cmd_probe},
    {"list", "[CASE...] [--tags T]", "the cases that a selection gives", OPTIONS_LISTS,
     cmd_list},
    {"merge", "S1.h5 S2.h5... -o REC.h5", "the shards of one run become one record",
     OPTIONS_MERGES, cmd_merge},
    {"show", "REC.h5 [CASE or PATH]", "what is in a record", 0, cmd_show},
    {"doctor", "", "what is installed, what would be used, what is missing", 0, cmd_doctor},
    {"selftest", "", "plants faults of every class and says what catches each", OPTIONS_SELFTESTS,
     cmd_selftest},
    {"selfcheck", "[CASE...] [--on cuda:N]",
     "the simulated GPU against the real card: the same kept code, every bit", OPTIONS_RUNS,
     cmd_selfcheck},
    {"golden", "code | check [REC.h5] | accept REC.h5 | add REC.h5 CASE",
     "compile kept kernels; look at them, or at a record's outputs; accept outputs, or a "
     "difference",
     OPTIONS_KEEPS, cmd_golden},
    {NULL, NULL, NULL, 0, NULL},
};

static void print_usage(FILE *out)
{
    fprintf(out,
            "gpuparity %s: does a CUDA kernel and its ROCm twin compute the same thing, and "
            "if not, why?\n\n",
            GPUPARITY_VERSION);
    for (const struct command *c = commands; c->name; c++)
        fprintf(out, "  gpuparity %-8s %s\n             %s\n", c->name, c->usage, c->summary);
    fprintf(
        out,
        "\nCASE is an id (gemm/tiled:dtype=bf16,m=65,n=129,k=200), a family (gemm), a variant "
        "(gemm/naive)\nor a glob with exclusions ('gemm/*:-*dtype=f32*'), or a file that describes a "
        "kernel of yours\n(saxpy.case.yaml:n=100). gpuparity COMMAND --help lists its options.\n"
        "Exit status: 0 nothing fails, 1 something fails, 2 usage or unusable input, 77 "
        "nothing could run.\n");
}

static void print_command_help(const struct command *c)
{
    printf("gpuparity %s %s\n%s\n\n", c->name, c->usage, c->summary);
    options_print(stdout, c->groups | OPTIONS_HELP);
}

static const struct command *command_find(const char *name)
{
    for (const struct command *c = commands; c->name; c++)
        if (!strcmp(c->name, name))
            return c;
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *names[32];
    int count = 0;
    for (const struct command *c = commands; c->name; c++)
        names[count++] = c->name;
    const char *near = nearest_name(name, names, count);
    fprintf(stderr, "gpuparity: unknown command '%s'; %s%s%s\n", name,
            near ? "did you mean '" : "gpuparity --help lists the valid ones", near ? near : "",
            near ? "'?" : "");
    return COMMAND_TROUBLE;
}

/* What the build installs: help --man, --bash, --zsh; and help COMMAND. */
static int print_generated(const char *what)
{
    static const struct {
        const char *name;
        void (*print)(FILE *out, const struct command *list);
    } forms[] = {
        {"--man", manual_print}, {"--bash", completion_bash}, {"--zsh", completion_zsh}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strcmp(what, forms[i].name) != 0)
            continue;
        forms[i].print(stdout, commands);
        return fflush(stdout) || ferror(stdout) ? COMMAND_TROUBLE : COMMAND_GOOD;
    }
    const struct command *c = command_find(what);
    if (!c)
        return unknown_command(what);
    print_command_help(c);
    return COMMAND_GOOD;
}

static int trouble(const struct command *c, const struct errinfo *e)
{
    fprintf(stderr, "gpuparity %s: ", c->name);
    quote_line(stderr, e->text, ""); /* it may quote a file */
    fputc('\n', stderr);
    return e->code == ERR_MISSING ? COMMAND_NOTHING : COMMAND_TROUBLE;
}

static int command_run(const struct command *c, int argc, char **argv)
{
    static struct options o; /* large */
    struct errinfo e = {0};
    int status = COMMAND_GOOD;
    if (options_parse(&o, c->groups | OPTIONS_HELP, argc, argv, &e))
        return trouble(c, &e);
    if (o.help) {
        print_command_help(c);
        return COMMAND_GOOD;
    }
    enum err err = c->run(&o, &status, &e);
    if (!err && (fflush(stdout) || ferror(stdout)))
        err = err_set(&e, ERR_IO, "cannot write to standard output: %s", strerror(errno));
    return err ? trouble(c, &e) : status;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2) {
        print_usage(stderr);
        return COMMAND_TROUBLE;
    }
    if (!strcmp(argv[1], "help") && argc == 3)
        return print_generated(argv[2]);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        print_usage(stdout);
        return COMMAND_GOOD;
    }
    if (!strcmp(argv[1], "--version")) {
        printf("gpuparity %s\n", GPUPARITY_VERSION);
        return COMMAND_GOOD;
    }
    const struct command *c = command_find(argv[1]);
    return c ? command_run(c, argc - 1, argv + 1) : unknown_command(argv[1]);
}
