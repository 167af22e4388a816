/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* embed OUTPUT FOLDER FILE...: writes the files as C arrays and the table of
 * harness/kerneltext.h over them; a path in the table is relative to FOLDER. Runs while
 * building. */

static int fail(const char *what, const char *path)
{
    fprintf(stderr, "embed: cannot %s %s\n", what, path);
    return 1;
}

static int text_write(FILE *out, int number, const char *path)
{
    FILE *in = fopen(path, "rb");
    if (!in)
        return fail("open", path);
    fprintf(out, "static const char text_%d[] = {", number);
    int column = 0;
    for (int c; (c = getc(in)) != EOF; column++)
        fprintf(out, "%s%d,", column % 20 ? "" : "\n    ", c > 127 ? c - 256 : c);
    fprintf(out, "\n    0,\n};\n\n");
    int bad = ferror(in);
    fclose(in);
    return bad ? fail("read", path) : 0;
}

static int row_write(FILE *out, int number, const char *folder, const char *path)
{
    char root[PATH_MAX], full[PATH_MAX];
    if (!realpath(folder, root) || !realpath(path, full))
        return fail("resolve", path);
    size_t n = strlen(root);
    if (strncmp(full, root, n) || full[n] != '/')
        return fail("place inside the folder of cases the file", path);
    fprintf(out, "    {\"%s\", text_%d},\n", full + n + 1, number);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return fail("work without", "OUTPUT and FOLDER");
    FILE *out = fopen(argv[1], "wb");
    if (!out)
        return fail("create", argv[1]);
    int status = 0;
    fprintf(out, "/* Made by embed.c. */\n");
    for (int i = 3; i < argc && !status; i++)
        status = text_write(out, i - 3, argv[i]);
    fprintf(out, "const struct kernel_text kernel_texts[] = {\n");
    for (int i = 3; i < argc && !status; i++)
        status = row_write(out, i - 3, argv[2], argv[i]);
    fprintf(out, "    {NULL, NULL},\n};\n");
    if (fclose(out) && !status)
        status = fail("write", argv[1]);
    if (status)
        remove(argv[1]);
    return status;
}
