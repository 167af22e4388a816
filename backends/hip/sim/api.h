/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_API_H
#define GPUPARITY_HIP_SIM_API_H

#include <stddef.h>
#include <stdint.h>

/* The HIP runtime functions this library exports: the names, argument registers and return
 * values are those of libamdhip64 of ROCm 5.7 and 6. Enums travel as int. Streams and events
 * are opaque; all work is done when a call returns, so they order nothing. */
#define HIP_API __attribute__((visibility("default")))

typedef int hip_error;
typedef struct ihipModule_t *hip_module;
typedef struct ihipModuleSymbol_t *hip_function;
typedef void *hip_stream;
typedef void *hip_event;
struct hip_dim3 {
    uint32_t x, y, z;
};

/* device and errors */
HIP_API hip_error hipInit(unsigned flags);
HIP_API hip_error hipDriverGetVersion(int *version);
HIP_API hip_error hipRuntimeGetVersion(int *version);
HIP_API hip_error hipGetDeviceCount(int *count);
HIP_API hip_error hipDeviceGet(int *device, int ordinal);
HIP_API hip_error hipGetDevice(int *device);
HIP_API hip_error hipSetDevice(int device);
HIP_API hip_error hipDeviceGetName(char *name, int size, int device);
HIP_API hip_error hipDeviceTotalMem(size_t *bytes, int device);
HIP_API hip_error hipDeviceComputeCapability(int *major, int *minor, int device);
HIP_API hip_error hipDeviceGetPCIBusId(char *text, int size, int device);
HIP_API hip_error hipDeviceGetUuid(void *uuid, int device);
HIP_API hip_error hipDeviceGetAttribute(int *value, int attribute, int device);
HIP_API hip_error hipGetDeviceProperties(void *properties, int device);
HIP_API hip_error hipGetDevicePropertiesR0600(void *properties, int device);
HIP_API hip_error hipDeviceSynchronize(void);
HIP_API hip_error hipDeviceReset(void);
HIP_API hip_error hipSetDeviceFlags(unsigned flags);
HIP_API hip_error hipGetDeviceFlags(unsigned *flags);
HIP_API hip_error hipDeviceGetLimit(size_t *value, int limit);
HIP_API hip_error hipDeviceSetLimit(int limit, size_t value);
HIP_API hip_error hipDeviceGetStreamPriorityRange(int *least, int *greatest);
HIP_API hip_error hipDeviceCanAccessPeer(int *can, int device, int peer);
HIP_API hip_error hipDeviceEnablePeerAccess(int peer, unsigned flags);
HIP_API hip_error hipDeviceDisablePeerAccess(int peer);
HIP_API const char *hipGetErrorName(hip_error error);
HIP_API const char *hipGetErrorString(hip_error error);
HIP_API hip_error hipGetLastError(void);
HIP_API hip_error hipPeekAtLastError(void);

/* memory */
HIP_API hip_error hipMalloc(void **address, size_t size);
HIP_API hip_error hipExtMallocWithFlags(void **address, size_t size, unsigned flags);
HIP_API hip_error hipMallocManaged(void **address, size_t size, unsigned flags);
HIP_API hip_error hipMallocAsync(void **address, size_t size, hip_stream stream);
HIP_API hip_error hipMallocPitch(void **address, size_t *pitch, size_t width, size_t height);
HIP_API hip_error hipHostMalloc(void **address, size_t size, unsigned flags);
HIP_API hip_error hipHostAlloc(void **address, size_t size, unsigned flags);
HIP_API hip_error hipMallocHost(void **address, size_t size);
HIP_API hip_error hipFree(void *address);
HIP_API hip_error hipFreeAsync(void *address, hip_stream stream);
HIP_API hip_error hipHostFree(void *address);
HIP_API hip_error hipFreeHost(void *address);
HIP_API hip_error hipHostGetDevicePointer(void **device, void *host, unsigned flags);
HIP_API hip_error hipHostRegister(void *address, size_t size, unsigned flags);
HIP_API hip_error hipHostUnregister(void *address);
HIP_API hip_error hipMemGetInfo(size_t *free, size_t *total);
HIP_API hip_error hipMemGetAddressRange(void **base, size_t *size, void *address);
HIP_API hip_error hipMemPtrGetInfo(void *address, size_t *size);
HIP_API hip_error hipPointerGetAttributes(void *attributes, const void *address);
HIP_API hip_error hipMemcpy(void *to, const void *from, size_t size, int kind);
HIP_API hip_error hipMemcpyAsync(void *to, const void *from, size_t size, int kind,
                                 hip_stream stream);
HIP_API hip_error hipMemcpyWithStream(void *to, const void *from, size_t size, int kind,
                                      hip_stream stream);
HIP_API hip_error hipMemcpyHtoD(void *to, void *from, size_t size);
HIP_API hip_error hipMemcpyDtoH(void *to, void *from, size_t size);
HIP_API hip_error hipMemcpyDtoD(void *to, void *from, size_t size);
HIP_API hip_error hipMemcpyHtoDAsync(void *to, void *from, size_t size, hip_stream stream);
HIP_API hip_error hipMemcpyDtoHAsync(void *to, void *from, size_t size, hip_stream stream);
HIP_API hip_error hipMemcpyDtoDAsync(void *to, void *from, size_t size, hip_stream stream);
HIP_API hip_error hipMemcpyPeer(void *to, int device, const void *from, int source,
                                size_t size);
HIP_API hip_error hipMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, int kind);
HIP_API hip_error hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                                   size_t from_pitch, size_t width, size_t height, int kind,
                                   hip_stream stream);
HIP_API hip_error hipMemset(void *to, int value, size_t size);
HIP_API hip_error hipMemsetAsync(void *to, int value, size_t size, hip_stream stream);
HIP_API hip_error hipMemset2D(void *to, size_t pitch, int value, size_t width, size_t height);
HIP_API hip_error hipMemsetD8(void *to, unsigned char value, size_t count);
HIP_API hip_error hipMemsetD16(void *to, unsigned short value, size_t count);
HIP_API hip_error hipMemsetD32(void *to, int value, size_t count);
HIP_API hip_error hipMemsetD8Async(void *to, unsigned char value, size_t count,
                                   hip_stream stream);
HIP_API hip_error hipMemsetD32Async(void *to, int value, size_t count, hip_stream stream);
HIP_API hip_error hipDeviceGetDefaultMemPool(void **pool, int device);
HIP_API hip_error hipMemPoolTrimTo(void *pool, size_t keep);
HIP_API hip_error hipMemPrefetchAsync(const void *address, size_t size, int device,
                                      hip_stream stream);
HIP_API hip_error hipMemAdvise(const void *address, size_t size, int advice, int device);

/* streams and events */
HIP_API hip_error hipStreamCreate(hip_stream *stream);
HIP_API hip_error hipStreamCreateWithFlags(hip_stream *stream, unsigned flags);
HIP_API hip_error hipStreamCreateWithPriority(hip_stream *stream, unsigned flags, int priority);
HIP_API hip_error hipStreamDestroy(hip_stream stream);
HIP_API hip_error hipStreamSynchronize(hip_stream stream);
HIP_API hip_error hipStreamQuery(hip_stream stream);
HIP_API hip_error hipStreamWaitEvent(hip_stream stream, hip_event event, unsigned flags);
HIP_API hip_error hipStreamGetFlags(hip_stream stream, unsigned *flags);
HIP_API hip_error hipStreamGetPriority(hip_stream stream, int *priority);
HIP_API hip_error hipStreamGetDevice(hip_stream stream, int *device);
HIP_API hip_error hipStreamIsCapturing(hip_stream stream, int *status);
HIP_API hip_error hipStreamAddCallback(hip_stream stream,
                                       void (*callback)(hip_stream, hip_error, void *),
                                       void *user, unsigned flags);
HIP_API hip_error hipLaunchHostFunc(hip_stream stream, void (*function)(void *), void *user);
HIP_API hip_error hipEventCreate(hip_event *event);
HIP_API hip_error hipEventCreateWithFlags(hip_event *event, unsigned flags);
HIP_API hip_error hipEventDestroy(hip_event event);
HIP_API hip_error hipEventRecord(hip_event event, hip_stream stream);
HIP_API hip_error hipEventSynchronize(hip_event event);
HIP_API hip_error hipEventQuery(hip_event event);
HIP_API hip_error hipEventElapsedTime(float *milliseconds, hip_event from, hip_event to);

/* modules and launches */
HIP_API hip_error hipModuleLoad(hip_module *module, const char *path);
HIP_API hip_error hipModuleLoadData(hip_module *module, const void *image);
HIP_API hip_error hipModuleLoadDataEx(hip_module *module, const void *image, unsigned count,
                                      int *options, void **values);
HIP_API hip_error hipModuleUnload(hip_module module);
HIP_API hip_error hipModuleGetFunction(hip_function *function, hip_module module,
                                       const char *name);
HIP_API hip_error hipModuleGetGlobal(void **address, size_t *size, hip_module module,
                                     const char *name);
HIP_API hip_error hipModuleLaunchKernel(hip_function function, unsigned grid_x, unsigned grid_y,
                                        unsigned grid_z, unsigned block_x, unsigned block_y,
                                        unsigned block_z, unsigned shared, hip_stream stream,
                                        void **params, void **extra);
HIP_API hip_error hipExtModuleLaunchKernel(hip_function function, uint32_t threads_x,
                                           uint32_t threads_y, uint32_t threads_z,
                                           uint32_t block_x, uint32_t block_y, uint32_t block_z,
                                           size_t shared, hip_stream stream, void **params,
                                           void **extra, hip_event start, hip_event stop,
                                           uint32_t flags);
/* hipExtModuleLaunchKernel as C++ callers such as rocBLAS name it. */
HIP_API hip_error
_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(
    hip_function function, uint32_t threads_x, uint32_t threads_y, uint32_t threads_z,
    uint32_t block_x, uint32_t block_y, uint32_t block_z, size_t shared, hip_stream stream,
    void **params, void **extra, hip_event start, hip_event stop, uint32_t flags);
HIP_API hip_error hipFuncGetAttribute(int *value, int attribute, hip_function function);
HIP_API hip_error hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                                     hip_function function,
                                                                     int threads,
                                                                     size_t shared);
HIP_API hip_error hipModuleOccupancyMaxPotentialBlockSize(int *grid, int *block,
                                                          hip_function function, size_t shared,
                                                          int limit);

/* programs made by hipcc */
HIP_API void **__hipRegisterFatBinary(const void *wrapper);
HIP_API void __hipUnregisterFatBinary(void **binary);
HIP_API void __hipRegisterFunction(void **binary, const void *host, char *device_name,
                                   const char *name, unsigned threads, void *tid, void *bid,
                                   void *block, void *grid, int *warp);
HIP_API void __hipRegisterVar(void **binary, void *host, char *host_name, char *name,
                              int is_extern, size_t size, int is_constant, int is_global);
HIP_API void __hipRegisterManagedVar(void *binary, void **pointer, void *initial,
                                     const char *name, size_t size, unsigned alignment);
HIP_API hip_error __hipPushCallConfiguration(struct hip_dim3 grid, struct hip_dim3 block,
                                             size_t shared, hip_stream stream);
HIP_API hip_error __hipPopCallConfiguration(struct hip_dim3 *grid, struct hip_dim3 *block,
                                            size_t *shared, hip_stream *stream);
HIP_API hip_error hipLaunchKernel(const void *function, struct hip_dim3 grid,
                                  struct hip_dim3 block, void **values, size_t shared,
                                  hip_stream stream);
HIP_API hip_error hipExtLaunchKernel(const void *function, struct hip_dim3 grid,
                                     struct hip_dim3 block, void **values, size_t shared,
                                     hip_stream stream, hip_event start, hip_event stop,
                                     int flags);
HIP_API hip_error hipGetSymbolAddress(void **address, const void *symbol);
HIP_API hip_error hipGetSymbolSize(size_t *size, const void *symbol);
HIP_API hip_error hipMemcpyToSymbol(const void *symbol, const void *from, size_t size,
                                    size_t offset, int kind);
HIP_API hip_error hipMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset,
                                      int kind);
HIP_API hip_error hipMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size,
                                         size_t offset, int kind, hip_stream stream);
HIP_API hip_error hipFuncGetAttributes(void *attributes, const void *function);
HIP_API hip_error hipFuncSetAttribute(const void *function, int attribute, int value);
HIP_API hip_error hipFuncSetCacheConfig(const void *function, int config);
HIP_API hip_error hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                               const void *function,
                                                               int threads, size_t shared);
HIP_API hip_error hipOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *function,
                                                    size_t shared, int limit);
HIP_API hip_error hipGetFuncBySymbol(hip_function *function, const void *symbol);

/* what a simulator can tell */
struct device_stats;
HIP_API void gpuparity_sim_stats(struct device_stats *ret);
HIP_API void gpuparity_sim_stats_reset(void);
HIP_API const char *gpuparity_sim_last_fault(void);

#endif
