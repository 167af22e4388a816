/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/codefile.h"

#include "decode.h"
#include "image.h"

/* Our disassembly against llvm-objdump's.
 *
 *   disasm_hip_sim code IN OUT    the code object of a kept kernel file or a bundle, as ELF
 *   disasm_hip_sim compare        reads `llvm-objdump -d` and prints what we print otherwise */

enum { BUNDLE_MAX = 1 << 22 };

static int write_file(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    const int failed = !f || fwrite(bytes, 1, size, f) != size;
    return (f && fclose(f)) || failed;
}

static int bundle_write(const char *in, const char *out)
{
    char why[400];
    struct image image;
    uint8_t *bytes = malloc(BUNDLE_MAX);
    FILE *f = fopen(in, "rb");
    const size_t size = f && bytes ? fread(bytes, 1, BUNDLE_MAX, f) : 0;
    if (f)
        fclose(f);
    int failed = code_image_open(bytes, size, &image, why, sizeof why);
    free(bytes);
    if (failed) {
        fprintf(stderr, "%s: %s\n", in, why);
        return 1;
    }
    failed = write_file(out, image.bytes, image.size);
    code_image_release(&image);
    return failed;
}

static int code_write(const char *in, const char *out)
{
    struct codefile file = {0};
    struct errinfo e = {0};
    const size_t n = strlen(in);
    if (n < 4 || strcmp(in + n - 4, ".zst") != 0)
        return bundle_write(in, out);
    if (codefile_read(in, &file, &e)) {
        fprintf(stderr, "%s: %s\n", in, e.text);
        return 1;
    }
    const int failed = write_file(out, file.bytes, file.size);
    codefile_release(&file);
    return failed;
}

/* "\ttext   // 000000001000: WORD WORD <label>": one space between words of the text. */
static int line_split(char *line, char *text, uint32_t word[4])
{
    int words = 0;
    char *end = strstr(line, "//"), *to = text;
    char *at = end ? strchr(end, ':') : NULL;
    if (line[0] != '\t' || !at)
        return 0;
    *end = 0;
    for (const char *from = line; *from; from++)
        if (*from != ' ' && *from != '\t')
            *to++ = *from;
        else if (to > text && to[-1] != ' ')
            *to++ = ' ';
    if (to > text && to[-1] == ' ')
        to--;
    *to = 0;
    for (char *next = ++at; words < 4; at = next) {
        const unsigned long value = strtoul(at, &next, 16);
        if (next == at)
            break;
        word[words++] = (uint32_t)value;
    }
    return words;
}

static int compare(void)
{
    char line[1024], text[1024], ours[256];
    long count = 0, different = 0;
    while (fgets(line, sizeof line, stdin)) {
        uint32_t word[4];
        struct inst i;
        const char *why = "";
        const int words = line_split(line, text, word);
        if (!words)
            continue;
        count++;
        if (inst_decode(word, (size_t)words, &i, &why))
            inst_print(&i, word, ours, sizeof ours);
        else
            snprintf(ours, sizeof ours, "(%s)", why);
        if ((strcmp(ours, text) || i.words != words) && different++ < 20)
            printf("%08x: %s, llvm-objdump: %s\n", word[0], ours, text);
        free(i.pair);
    }
    printf("%ld instructions, %ld different\n", count, different);
    return different || !count;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "code") == 0)
        return code_write(argv[2], argv[3]);
    if (argc == 2 && strcmp(argv[1], "compare") == 0)
        return compare();
    fprintf(stderr, "usage: disasm_hip_sim code IN OUT | compare\n");
    return 2;
}
