/* SPDX-License-Identifier: Apache-2.0 */
/* In front of NVRTC, for variants.sh: nvrtcCompileProgram with the option that VARIANT names, in the
 * place of one of the same name if there is one. All other functions are NVRTC's own, found behind
 * this library by the dynamic linker. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 64 };

int nvrtcCompileProgram(void *program, int n, const char *const *option);

int nvrtcCompileProgram(void *program, int n, const char *const *option)
{
    int (*compile)(void *, int, const char *const *);
    *(void **)&compile = dlsym(RTLD_NEXT, "nvrtcCompileProgram");
    const char *variant = getenv("VARIANT"), *list[ROOM];
    int count = 0;
    for (int k = 0; k < n && count < ROOM - 1; k++)
        if (!variant || strncmp(option[k], variant, strcspn(variant, "=") + 1) != 0)
            list[count++] = option[k];
    if (variant)
        list[count++] = variant;
    return compile ? compile(program, count, list) : 1;
}
