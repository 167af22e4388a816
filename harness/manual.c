/* SPDX-License-Identifier: Apache-2.0 */
#include "manual.h"

#include <string.h>

#include "config.h"

/* A text as it shall be read: no character of it is a request or an escape. */
static void put_text(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else if (*text == '\'')
            fputs("\\(aq", out);
        else
            fputc(*text, out);
    }
}

static void put_font(FILE *out, char font, const char *text)
{
    fprintf(out, "\\f%c", font);
    put_text(out, text);
    fputs("\\fR", out);
}

static void put_section(FILE *out, const char *name, const char *text)
{
    fprintf(out, ".SH %s\n", name);
    put_text(out, text);
    fputc('\n', out);
}

static void put_commands(FILE *out, const struct command *list)
{
    fputs(".SH COMMANDS\n", out);
    for (const struct command *c = list; c->name; c++) {
        fputs(".TP\n", out);
        put_font(out, 'B', c->name);
        fputc(' ', out);
        put_font(out, 'I', c->usage);
        fputc('\n', out);
        put_text(out, c->summary);
        fputc('\n', out);
    }
}

/* "check, run"; nothing for an option of every command. */
static void put_takers(FILE *out, const struct command *list, unsigned groups)
{
    const char *before = "\n.br\nOf: ";
    if (groups & OPTIONS_HELP)
        return;
    for (const struct command *c = list; c->name; c++) {
        if (!(c->groups & groups))
            continue;
        fputs(before, out);
        put_font(out, 'B', c->name);
        before = ", ";
    }
}

static void put_options(FILE *out, const struct command *list)
{
    struct option_text o;
    fputs(".SH OPTIONS\n", out);
    for (int i = 0; options_row(i, &o); i++) {
        fputs(".TP\n", out);
        if (o.letter)
            fprintf(out, "\\fB\\-%c\\fR, ", o.letter);
        fputs("\\fB\\-\\-", out);
        put_text(out, o.name);
        fputs("\\fR", out);
        if (o.value) {
            fputc(' ', out);
            put_font(out, 'I', o.value);
        }
        fputc('\n', out);
        put_text(out, o.help);
        put_takers(out, list, o.groups);
        fputc('\n', out);
    }
}

static const struct {
    const char *name, *text;
} variables[] = {
    {"GPUPARITY_SIM_DIR", "The folder of the simulated GPUs. Standard: that of the program, "
                          "then ../lib/gpuparity from it."},
    {"GPUPARITY_GOLDEN", "The folder of the kept kernels. Standard: ../share/gpuparity/golden "
                         "from the program, then the source tree it was built from."},
    {"GTEST_SHARD_INDEX, GTEST_TOTAL_SHARDS", "As --shard, counted from zero."},
    {"SLURM_ARRAY_TASK_ID, SLURM_ARRAY_TASK_COUNT, SLURM_ARRAY_TASK_MIN",
     "As --shard, inside a Slurm array job."},
    {"NO_COLOR", "No colours on a terminal."},
    {"TMPDIR", "Where records go that no one asked to keep."},
};

static void put_variables(FILE *out)
{
    fputs(".SH ENVIRONMENT\n", out);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        fputs(".TP\n", out);
        put_font(out, 'B', variables[i].name);
        fputc('\n', out);
        put_text(out, variables[i].text);
        fputc('\n', out);
    }
}

static void put_exits(FILE *out)
{
    static const struct {
        enum command_exit status;
        const char *text;
    } rows[] = {{COMMAND_GOOD, "Nothing fails."},
                {COMMAND_FAILS, "Some verdict fails the run."},
                {COMMAND_TROUBLE, "Usage, or unreadable or incomparable input."},
                {COMMAND_NOTHING, "Nothing could run here."}};
    fputs(".SH EXIT STATUS\n", out);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        fprintf(out, ".TP\n\\fB%d\\fR\n%s\n", rows[i].status, rows[i].text);
}

void manual_print(FILE *out, const struct command *list)
{
    fprintf(out,
            ".\\\" SPDX-License-Identifier: Apache-2.0\n"
            ".TH GPUPARITY 1 \"\" \"gpuparity %s\" \"User Commands\"\n",
            GPUPARITY_VERSION);
    put_section(
        out, "NAME",
        "gpuparity - does a CUDA kernel and its ROCm twin compute the same thing, and if "
        "not, why?");
    fputs(".SH SYNOPSIS\n\\fBgpuparity\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...] "
          "[\\fICASE or FILE\\fR...]\n",
          out);
    put_section(
        out, "DESCRIPTION",
        "Runs the same kernels on both vendors' stacks with bit-identical inputs, keeps "
        "every output in an HDF5 file, measures the difference in ULP and as error "
        "distributions against a wide reference, and ends with a verdict that has a "
        "named cause. Where there is no card, simulated GPUs execute the vendors' "
        "compiled code; whatever they computed is marked as simulated.");
    put_commands(out, list);
    put_options(out, list);
    put_section(out, "CASES",
                "A CASE is an id (gemm/tiled:dtype=bf16,m=65,n=129,k=200), a family (gemm), a "
                "variant (gemm/naive) or a glob with exclusions ('gemm/*:-*dtype=f32*').");
    put_exits(out);
    put_variables(out);
    fputs(".SH EXAMPLES\n.nf\n", out);
    put_text(out, "gpuparity check gemm\n");
    put_text(out, "gpuparity run gemm --on cuda -o nvidia.h5\n");
    put_text(out, "gpuparity compare nvidia.h5 amd.h5\n");
    fputs(".fi\n", out);
}
