/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

/* While a kernel runs, the other stream writes 2 GiB: that takes a few milliseconds, holds
 * multiprocessors and the memory's bandwidth, and so moves the times at which blocks begin and
 * end. How much is a choice; a simulated device computes everything in one order of its own. */
enum { BUSY_FILLS = 32, BUSY_MIB = 64 };

static bool stream_make(struct device *d, vendor_stream *stream)
{
    if (!*stream && d->api.stream_create && d->api.stream_destroy &&
        d->api.stream_create(stream, VENDOR_STREAM_FLAGS))
        *stream = 0;
    return *stream != 0;
}

static bool busy_make(struct device *d)
{
    if (d->sim_stats || !d->api.fill)
        return false;
    if (!d->streams.busy && d->api.alloc(&d->streams.busy, (size_t)BUSY_MIB << 20))
        d->streams.busy = 0;
    return d->streams.busy != 0 && stream_make(d, &d->streams.other);
}

void VN(stream_vary)(struct device *d, enum launch_way way)
{
    bool own = way != LAUNCH_DEFAULT && stream_make(d, &d->streams.own);
    bool contended = own && way == LAUNCH_CONTENDED && busy_make(d);
    d->streams.way = contended ? LAUNCH_CONTENDED : own ? LAUNCH_STREAM : LAUNCH_DEFAULT;
}

enum backend_status VN(stream_next)(struct device *d, vendor_stream *ret_stream,
                                    struct backend_error *e)
{
    *ret_stream = 0;
    if (d->streams.way == LAUNCH_DEFAULT)
        return BACKEND_OK;
    /* Copies to the device may still be on their way in the default stream. */
    enum backend_status s =
        VN(driver_check)(d, RUNTIME_synchronize, d->api.synchronize(), e);
    for (int i = 0; i < BUSY_FILLS && d->streams.way == LAUNCH_CONTENDED && !s; i++)
        s = VN(driver_check)(d, RUNTIME_fill,
                             d->api.fill(d->streams.busy, (unsigned char)i,
                                         (size_t)BUSY_MIB << 20, d->streams.other),
                             e);
    if (!s)
        *ret_stream = d->streams.own;
    return s;
}

void VN(stream_release)(struct device *d)
{
    if (d->streams.busy)
        d->api.free(d->streams.busy);
    if (d->streams.own)
        d->api.stream_destroy(d->streams.own);
    if (d->streams.other)
        d->api.stream_destroy(d->streams.other);
}
