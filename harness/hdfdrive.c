/* SPDX-License-Identifier: Apache-2.0 */
#include "hdfdrive.h"

#include <stdlib.h>
#include <sys/stat.h>

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#include "fileread.h"

struct drive {
    H5FD_t library; /* first: what the library keeps */
    int fd;
    haddr_t end, size;
    struct hdfdrive_note note;
};

/* The name is the number of the descriptor. */
static H5FD_t *drive_open(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    (void)flags, (void)access, (void)most;
    struct stat s;
    struct drive *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->fd = atoi(name);
    if (fstat(d->fd, &s)) {
        free(d);
        return NULL;
    }
    d->size = (haddr_t)s.st_size;
    return &d->library;
}

static herr_t drive_close(H5FD_t *file)
{
    free(file);
    return 0;
}

static herr_t drive_query(const H5FD_t *file, unsigned long *flags)
{
    (void)file;
    *flags = H5FD_FEAT_ACCUMULATE_METADATA;
    return 0;
}

static haddr_t drive_get_eoa(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const struct drive *)file)->end;
}

static herr_t drive_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t end)
{
    (void)type;
    ((struct drive *)file)->end = end;
    return 0;
}

static haddr_t drive_get_eof(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const struct drive *)file)->size;
}

static herr_t drive_handle(H5FD_t *file, hid_t access, void **ret_handle)
{
    (void)access;
    *ret_handle = &((struct drive *)file)->note;
    return 0;
}

static herr_t drive_read(H5FD_t *file, H5FD_mem_t type, hid_t how, haddr_t offset, size_t size,
                         void *to)
{
    (void)how;
    struct drive *d = (struct drive *)file;
    if (type == H5FD_MEM_DRAW && d->note.wanted) {
        d->note.reads++;
        d->note.offset = offset;
        d->note.size = size;
        return 0;
    }
    return fileread_at(d->fd, offset, to, size, NULL) ? -1 : 0;
}

static herr_t drive_write(H5FD_t *file, H5FD_mem_t type, hid_t how, haddr_t offset, size_t size,
                          const void *from)
{
    (void)file, (void)type, (void)how, (void)offset, (void)size, (void)from;
    return -1;
}

static const H5FD_class_t drive_class = {
#if H5_VERSION_GE(1, 13, 0)
    .version = H5FD_CLASS_VERSION,
    .value = 500, /* of those that are free for everybody's own drivers */
#endif
    .name = "gpuparity",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .open = drive_open,
    .close = drive_close,
    .query = drive_query,
    .get_eoa = drive_get_eoa,
    .set_eoa = drive_set_eoa,
    .get_eof = drive_get_eof,
    .get_handle = drive_handle,
    .read = drive_read,
    .write = drive_write,
    .fl_map = H5FD_FLMAP_SINGLE,
};

enum err hdfdrive_open(int fd, hid_t *ret_file, struct hdfdrive_note **ret_note,
                       struct errinfo *e)
{
    char name[16];
    void *note;
    snprintf(name, sizeof name, "%d", fd);
    hid_t driver = H5FDregister(&drive_class), access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_driver(access, driver, NULL);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    hid_t file = H5Fopen(name, H5F_ACC_RDONLY, access);
    H5Pclose(access);
    if (file < 0 || H5Fget_vfd_handle(file, H5P_DEFAULT, &note) < 0)
        return hdf_error(e, ERR_FORMAT, "a truncated or damaged HDF5 file");
    *ret_file = file;
    *ret_note = note;
    return ERR_OK;
}

/* The library believes that it reads the chunk: it never sees the bytes, so there need be none.
 */
enum err hdfdrive_find(hid_t dataset, struct hdfdrive_note *note, const struct chunkgrid *g,
                       int64_t i, struct chunkplace *ret_place, struct errinfo *e)
{
    hsize_t start[TENSOR_RANK_MAX] = {0}, size = 0;
    unsigned char nothing[1];
    struct chunkplace p = {0};
    for (int k = g->rank - 1; k >= 0; k--) {
        start[k] = (hsize_t)(i % g->grid[k] * g->chunk[k]);
        i /= g->grid[k];
    }
    if (H5Dget_chunk_storage_size(dataset, start, &size) < 0) {
        H5Eclear2(H5E_DEFAULT); /* how some versions say that there is none */
        size = 0;
    }
    if (size) {
        *note = (struct hdfdrive_note){.wanted = true};
        herr_t status = H5Dread_chunk(dataset, H5P_DEFAULT, start, &p.mask, nothing);
        note->wanted = false;
        if (status < 0 || note->reads != 1 || note->size != size)
            return hdf_error(e, ERR_FORMAT, "a chunk cannot be found");
        p.offset = note->offset;
        p.size = size;
    }
    *ret_place = p;
    return ERR_OK;
}
