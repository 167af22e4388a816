/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIALS_H
#define TRIALS_H

#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

/* What the trials share. A trial fills arrays, launches its kernel and returns how many results
 * differ from what the processor computes. Data are such that the order of operations does not
 * matter, or the limit is the one the comment of the trial gives. */

template <typename T> struct Array {
    T *device;
    std::vector<T> host;
    explicit Array(size_t n, T value = T()) : device(nullptr), host(n, value)
    {
        check(hipMalloc((void **)&device, n * sizeof(T)));
    }
    ~Array() { check(hipFree(device)); }
    static void check(hipError_t e)
    {
        if (e != hipSuccess) {
            printf("    %s\n", hipGetErrorString(e));
            throw e;
        }
    }
    T *up()
    {
        check(hipMemcpy(device, host.data(), host.size() * sizeof(T), hipMemcpyHostToDevice));
        return device;
    }
    void down()
    {
        check(hipDeviceSynchronize());
        check(hipMemcpy(host.data(), device, host.size() * sizeof(T), hipMemcpyDeviceToHost));
    }
    T &operator[](size_t n) { return host[n]; }
    size_t size() const { return host.size(); }
};

static unsigned long long seed = 7;
static inline unsigned rnd()
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(seed >> 33);
}
template <typename T> void integers(Array<T> &a, int low, int high)
{
    for (auto &x : a.host)
        x = (T)(low + (int)(rnd() % (unsigned)(high - low + 1)));
}

template <typename T> int differ(const std::vector<T> &got, const std::vector<T> &want)
{
    int bad = 0;
    for (size_t n = 0; n < want.size(); n++)
        if (memcmp(&got[n], &want[n], sizeof(T)) && bad++ == 0)
            printf("    [%zu]: %g, expected %g\n", n, (double)got[n], (double)want[n]);
    return bad;
}
template <typename T> int far_off(const std::vector<T> &got, const std::vector<T> &want, double limit)
{
    int bad = 0;
    for (size_t n = 0; n < want.size(); n++) {
        const double error = std::fabs((double)got[n] - (double)want[n]);
        if (!(error <= limit * (1 + std::fabs((double)want[n]))) && bad++ == 0)
            printf("    [%zu]: %.9g, expected %.9g\n", n, (double)got[n], (double)want[n]);
    }
    return bad;
}

struct Trial {
    const char *name;
    int (*run)();
};
const std::vector<Trial> &integer_trials(), &sort_trials(), &call_trials(), &float_trials(),
    &norm_trials(), &memory_trials();

#define TID (int)(blockIdx.x * blockDim.x + threadIdx.x)
#define BLOCKS(n) dim3(((n) + 255) / 256), dim3(256), 0, 0

#endif
