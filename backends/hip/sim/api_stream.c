/* SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <stdlib.h>
#include <time.h>

#include "runtime.h"

/* Handles only: everything has happened when the call that asked for it returns. */

struct stream {
    unsigned flags;
    int priority;
};

struct event {
    struct timespec time;
    int recorded;
};

hip_error hipStreamCreateWithPriority(hip_stream *stream, unsigned flags, int priority)
{
    struct stream *s = stream ? malloc(sizeof *s) : NULL;
    if (!s)
        return runtime_result(stream ? hipErrorOutOfMemory : hipErrorInvalidValue);
    *s = (struct stream){flags, priority};
    *stream = s;
    return hipSuccess;
}

hip_error hipStreamCreateWithFlags(hip_stream *stream, unsigned flags)
{
    return hipStreamCreateWithPriority(stream, flags, 0);
}

hip_error hipStreamCreate(hip_stream *stream)
{
    return hipStreamCreateWithPriority(stream, 0, 0);
}

/* 0, 1 and 2 are the names of the default streams. */
static struct stream *stream_of(hip_stream stream)
{
    return (uintptr_t)stream <= 2 ? NULL : stream;
}

hip_error hipStreamDestroy(hip_stream stream)
{
    if (!stream_of(stream))
        return runtime_result(hipErrorInvalidHandle);
    free(stream);
    return hipSuccess;
}

hip_error hipStreamSynchronize(hip_stream stream)
{
    (void)stream;
    return hipDeviceSynchronize();
}

hip_error hipStreamQuery(hip_stream stream)
{
    (void)stream;
    return hipSuccess;
}

hip_error hipStreamWaitEvent(hip_stream stream, hip_event event, unsigned flags)
{
    (void)stream, (void)flags;
    return runtime_result(event ? hipSuccess : hipErrorInvalidHandle);
}

hip_error hipStreamGetFlags(hip_stream stream, unsigned *flags)
{
    if (!flags)
        return runtime_result(hipErrorInvalidValue);
    *flags = stream_of(stream) ? stream_of(stream)->flags : 0;
    return hipSuccess;
}

hip_error hipStreamGetPriority(hip_stream stream, int *priority)
{
    if (!priority)
        return runtime_result(hipErrorInvalidValue);
    *priority = stream_of(stream) ? stream_of(stream)->priority : 0;
    return hipSuccess;
}

hip_error hipStreamGetDevice(hip_stream stream, int *device)
{
    (void)stream;
    return hipGetDevice(device);
}

hip_error hipStreamIsCapturing(hip_stream stream, int *status)
{
    (void)stream;
    if (!status)
        return runtime_result(hipErrorInvalidValue);
    *status = 0;
    return hipSuccess;
}

hip_error hipStreamAddCallback(hip_stream stream,
                               void (*callback)(hip_stream, hip_error, void *), void *user,
                               unsigned flags)
{
    (void)flags;
    if (!callback)
        return runtime_result(hipErrorInvalidValue);
    callback(stream, hipSuccess, user);
    return hipSuccess;
}

hip_error hipLaunchHostFunc(hip_stream stream, void (*function)(void *), void *user)
{
    (void)stream;
    if (!function)
        return runtime_result(hipErrorInvalidValue);
    function(user);
    return hipSuccess;
}

hip_error hipEventCreateWithFlags(hip_event *event, unsigned flags)
{
    (void)flags;
    struct event *e = event ? calloc(1, sizeof *e) : NULL;
    if (!e)
        return runtime_result(event ? hipErrorOutOfMemory : hipErrorInvalidValue);
    *event = e;
    return hipSuccess;
}

hip_error hipEventCreate(hip_event *event)
{
    return hipEventCreateWithFlags(event, 0);
}

hip_error hipEventDestroy(hip_event event)
{
    if (!event)
        return runtime_result(hipErrorInvalidHandle);
    free(event);
    return hipSuccess;
}

hip_error hipEventRecord(hip_event event, hip_stream stream)
{
    struct event *e = event;
    (void)stream;
    if (!e)
        return runtime_result(hipErrorInvalidHandle);
    clock_gettime(CLOCK_MONOTONIC, &e->time);
    e->recorded = 1;
    return hipSuccess;
}

hip_error hipEventSynchronize(hip_event event)
{
    return runtime_result(event ? hipSuccess : hipErrorInvalidHandle);
}

hip_error hipEventQuery(hip_event event)
{
    return runtime_result(event ? hipSuccess : hipErrorInvalidHandle);
}

hip_error hipEventElapsedTime(float *milliseconds, hip_event from, hip_event to)
{
    const struct event *a = from, *b = to;
    if (!milliseconds || !a || !b || !a->recorded || !b->recorded)
        return runtime_result(hipErrorInvalidHandle);
    *milliseconds = (float)((double)(b->time.tv_sec - a->time.tv_sec) * 1e3 +
                            (double)(b->time.tv_nsec - a->time.tv_nsec) * 1e-6);
    return hipSuccess;
}
