/* SPDX-License-Identifier: Apache-2.0 */
#include "bytes.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum err bytes_append(struct bytes *b, const void *from, size_t size, struct errinfo *e)
{
    if (size == 0)
        return ERR_OK;
    if (size > SIZE_MAX / 4 - b->size)
        return err_set(e, ERR_NOMEM, "out of memory");
    if (b->size + size > b->room) {
        size_t room = (b->size + size) * 2;
        void *data = realloc(b->data, room);
        if (!data)
            return err_set(e, ERR_NOMEM, "out of memory: %zu bytes wanted", room);
        b->data = data;
        b->room = room;
    }
    memcpy((char *)b->data + b->size, from, size);
    b->size += size;
    return ERR_OK;
}

void bytes_release(struct bytes *b)
{
    free(b->data);
    *b = (struct bytes){0};
}
