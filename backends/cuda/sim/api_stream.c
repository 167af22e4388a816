/* SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <stdlib.h>
#include <time.h>

/* Streams and events: work is done when it is asked for, so streams are always empty and events
 * have always happened. */

struct sim_stream {
    unsigned flags;
    int priority;
};

struct sim_event {
    double seconds;
    bool recorded;
};

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    if (!g)
        return r;
    struct sim_stream *s = stream ? calloc(1, sizeof *s) : NULL;
    if (!s)
        return gpu_leave(g, stream ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE);
    s->flags = flags;
    s->priority = priority;
    *stream = s;
    return gpu_leave(g, CUDA_SUCCESS);
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    return cuStreamCreateWithPriority(stream, flags, 0);
}

/* 0, 1 and 2 are the default streams. */
static bool stream_owned(CUstream s)
{
    return (uintptr_t)s > 2;
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    if (!stream_owned(stream))
        return CUDA_ERROR_INVALID_HANDLE;
    free(stream);
    return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    (void)stream;
    return cuCtxSynchronize();
}

CUresult cuStreamQuery(CUstream stream)
{
    (void)stream;
    return cuCtxSynchronize();
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    (void)stream, (void)flags;
    return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuStreamGetFlags(CUstream stream, unsigned *flags)
{
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = stream_owned(stream) ? stream->flags : 0;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetPriority(CUstream stream, int *priority)
{
    if (!priority)
        return CUDA_ERROR_INVALID_VALUE;
    *priority = stream_owned(stream) ? stream->priority : 0;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    (void)stream;
    return cuCtxGetCurrent(context);
}

CUresult cuStreamIsCapturing(CUstream stream, int *status)
{
    (void)stream;
    if (!status)
        return CUDA_ERROR_INVALID_VALUE;
    *status = 0;
    return CUDA_SUCCESS;
}

CUresult cuStreamAddCallback(CUstream stream, void (*callback)(CUstream, CUresult, void *),
                             void *data, unsigned flags)
{
    if (!callback || flags)
        return CUDA_ERROR_INVALID_VALUE;
    callback(stream, CUDA_SUCCESS, data);
    return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void *), void *data)
{
    (void)stream;
    if (!function)
        return CUDA_ERROR_INVALID_VALUE;
    function(data);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return CUDA_SUCCESS;
}

/* --- events ----------------------------------------------------------------------------------
 */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    (void)flags;
    if (!g)
        return r;
    struct sim_event *e = event ? calloc(1, sizeof *e) : NULL;
    if (e)
        *event = e;
    return gpu_leave(g, e       ? CUDA_SUCCESS
                        : event ? CUDA_ERROR_OUT_OF_MEMORY
                                : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuEventDestroy_v2(CUevent event)
{
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    free(event);
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    CUresult r;
    struct gpu *g = gpu_use(&r);
    (void)stream;
    if (!g)
        return r;
    if (event) {
        event->seconds = now();
        event->recorded = true;
    }
    return gpu_leave(g, event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags)
{
    (void)flags;
    return cuEventRecord(event, stream);
}

CUresult cuEventQuery(CUevent event)
{
    return event ? cuCtxSynchronize() : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuEventSynchronize(CUevent event)
{
    return event ? cuCtxSynchronize() : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end)
{
    if (!milliseconds || !start || !end || !start->recorded || !end->recorded)
        return milliseconds ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    *milliseconds = (float)(1e3 * (end->seconds - start->seconds));
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    return cuEventElapsedTime_v2(milliseconds, start, end);
}
