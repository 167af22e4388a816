/* SPDX-License-Identifier: Apache-2.0 */
#include "trials.h"

/* trials [NAME]: runs all trials or one; one line each, exit status 1 if one is wrong. */
int main(int argc, char **argv)
{
    int count = 0, wrong = 0;
    for (auto *list : {&integer_trials(), &sort_trials(), &call_trials(), &float_trials(),
                       &norm_trials(), &memory_trials()})
        for (const Trial &t : *list) {
            if (argc > 1 && strcmp(argv[1], t.name))
                continue;
            int bad = 1;
            try {
                bad = t.run();
            } catch (hipError_t) {
            }
            count++;
            wrong += bad != 0;
            if (bad)
                printf("  WRONG %s (%d)\n", t.name, bad);
        }
    printf("%d of %d right\n", count - wrong, count);
    return wrong != 0 || !count;
}
