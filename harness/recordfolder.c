/* SPDX-License-Identifier: Apache-2.0 */
#include "recordfolder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "recordfile.h"

void folder_origin(const struct record_case *c, char *ret_hex)
{
    char both[sizeof c->case_digest + sizeof c->source_digest] = "";
    snprintf(both, sizeof both, "%s/%s", c->case_digest, c->source_digest);
    recordfile_digest(both, strlen(both), ret_hex);
}

uint64_t folder_hash(const char *id)
{
    return XXH3_64bits(id, strlen(id));
}

void folder_name(const struct folder *f, int run, int64_t ordinal, const char *id,
                 char *ret_name)
{
    snprintf(ret_name, 96, "%d-%" PRId64 "-%016" PRIx64 ".h5", f->run[run].number, ordinal,
             folder_hash(id));
}

void folder_new_name(char *ret_name)
{
    snprintf(ret_name, 96, "new-%ld", (long)getpid());
}

/* --- the list --- */

int64_t folder_find(const struct folder *f, int run, const char *id)
{
    uint64_t hash = folder_hash(id);
    for (int64_t i = 0; i < f->count; i++)
        if (f->cases[i].hash == hash && f->cases[i].run == run && !strcmp(f->cases[i].id, id))
            return i;
    return -1;
}

static void case_release(struct folder_case *c)
{
    free(c->id);
    free(c->file);
}

static enum err make_room(struct folder *f, struct errinfo *e)
{
    if (f->count < f->room)
        return ERR_OK;
    int64_t room = f->room ? 2 * f->room : 64;
    struct folder_case *cases = realloc(f->cases, (size_t)room * sizeof *cases);
    if (!cases)
        return err_set(e, ERR_NOMEM, "out of memory");
    f->cases = cases;
    f->room = room;
    return ERR_OK;
}

enum err folder_add(struct folder *f, struct folder_case *c, struct errinfo *e)
{
    int64_t old = c->id ? folder_find(f, c->run, c->id) : -1;
    if (!c->id || (old < 0 && make_room(f, e))) {
        case_release(c);
        return err_set(e, ERR_NOMEM, "out of memory");
    }
    if (old < 0) {
        f->cases[f->count++] = *c;
        return ERR_OK;
    }
    struct folder_case *o = &f->cases[old];
    if (o->file && c->file && strcmp(o->file, c->file) != 0)
        unlinkat(f->folder_fd, o->file, 0);
    case_release(o);
    *o = *c;
    return ERR_OK;
}

/* --- making and locking --- */

static enum err refuse_path(const char *path, bool resume, bool replace, struct errinfo *e)
{
    struct stat s;
    size_t length = strlen(path);
    if (length == 0)
        return err_set(e, ERR_USAGE, "the record's path is empty");
    if (path[length - 1] == '/')
        return err_set(e, ERR_USAGE, "%s: a record is a file; give a file name", path);
    if (lstat(path, &s))
        return ERR_OK;
    if (!S_ISREG(s.st_mode) && !(S_ISLNK(s.st_mode) && !stat(path, &s) && S_ISREG(s.st_mode)))
        return err_set(e, ERR_USAGE, "%s exists and is not a file; choose another path", path);
    if (!resume && !replace)
        return err_set(e, ERR_USAGE,
                       "%s exists; choose another path, --replace it, or add to it with "
                       "--resume",
                       path);
    return ERR_OK;
}

/* A folder of its own per record and no other process in it. The lock is the process's, not the
 * descriptor's: children that outlive a killed writer do not hold it. */
static enum err lock_once(struct folder *f, bool *ret_again, struct errinfo *e)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat ours, there;
    f->lock_fd = openat(f->folder_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (f->lock_fd < 0)
        return err_set(e, ERR_IO, "cannot write in %s: %s", f->folder, strerror(errno));
    if (fcntl(f->lock_fd, F_SETLK, &lock)) {
        lock.l_pid = 0;
        fcntl(f->lock_fd, F_GETLK, &lock);
        return err_set(e, ERR_USAGE, "%s is being written by process %ld; choose another path",
                       f->path, (long)lock.l_pid);
    }
    /* The last writer may have removed the folder between our open and our lock. */
    *ret_again = fstat(f->lock_fd, &ours) || fstatat(AT_FDCWD, f->folder, &there, 0) ||
                 fstatat(f->folder_fd, "lock", &there, 0) || ours.st_ino != there.st_ino;
    return ERR_OK;
}

static enum err sync_parent(const char *path, struct errinfo *e)
{
    const char *slash = strrchr(path, '/');
    char *parent = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!parent)
        return err_set(e, ERR_NOMEM, "out of memory");
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool fine = fd >= 0 && fsync(fd) == 0;
    enum err err =
        fine ? ERR_OK : err_set(e, ERR_IO, "cannot store %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(parent);
    return err;
}

static enum err open_folder(struct folder *f, struct errinfo *e)
{
    bool made = mkdir(f->folder, 0777) == 0;
    if (!made && errno != EEXIST)
        return err_set(e, ERR_IO, "cannot make %s: %s", f->folder, strerror(errno));
    f->folder_fd = open(f->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->folder_fd < 0)
        return err_set(e, ERR_IO, "cannot open %s: %s", f->folder, strerror(errno));
    bool again = false;
    if (made)
        TRY(sync_parent(f->folder, e));
    TRY(lock_once(f, &again, e));
    if (again) {
        close(f->lock_fd);
        close(f->folder_fd);
        f->lock_fd = f->folder_fd = -1;
        return open_folder(f, e);
    }
    return ERR_OK;
}

static bool is_ours(const char *name)
{
    static const char digits[] = "0123456789", hex[] = "0123456789abcdef";
    if (!strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, "lock"))
        return true;
    if (!strncmp(name, "new-", 4))
        return name[4] && !name[4 + strspn(name + 4, digits)];
    size_t n = strspn(name, digits);
    if (n == 0 || n > 4 || name[n] != '-')
        return false;
    name += n + 1;
    n = strspn(name, digits);
    if (n == 0 || n > 18 || name[n] != '-')
        return false;
    name += n + 1;
    return strspn(name, hex) == 16 && !strcmp(name + 16, ".h5");
}

/* Removes what a crash left half-written; refuses a folder that holds somebody's files. */
static enum err clean_folder(struct folder *f, struct errinfo *e)
{
    int64_t n_case = 0;
    enum err err = ERR_OK;
    int fd = openat(f->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return err_set(e, ERR_IO, "cannot read %s: %s", f->folder, strerror(errno));
    for (struct dirent *entry; !err && (entry = readdir(d));) {
        if (!is_ours(entry->d_name))
            err = err_set(e, ERR_USAGE, "%s holds '%s', which is not gpuparity's: move it away",
                          f->folder, entry->d_name);
        else if (!strncmp(entry->d_name, "new-", 4))
            unlinkat(f->folder_fd, entry->d_name, 0);
        else
            n_case += entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
    }
    closedir(d);
    f->empty = !err && n_case == 0;
    return err;
}

enum err folder_open(struct folder *f, const char *path, bool resume, bool replace,
                     struct errinfo *e)
{
    f->folder_fd = f->lock_fd = f->base_fd = -1;
    f->replace = resume || replace;
    TRY(refuse_path(path, resume, replace, e));
    f->path = strdup(path);
    if (!f->path || asprintf(&f->folder, "%s.partial", path) < 0) {
        f->folder = NULL;
        return err_set(e, ERR_NOMEM, "out of memory");
    }
    TRY(open_folder(f, e));
    TRY(clean_folder(f, e));
    if (!resume && !f->empty)
        return err_set(e, ERR_USAGE,
                       "%s is left from an interrupted run: continue it with --resume, or "
                       "delete that folder",
                       f->folder);
    if (resume)
        f->base_fd = open(path, O_RDONLY | O_CLOEXEC);
    return ERR_OK;
}

static void remove_empty(const struct folder *f)
{
    if (!f->empty || f->count > 0 || f->lock_fd < 0)
        return;
    unlinkat(f->folder_fd, "lock", 0);
    rmdir(f->folder);
}

void folder_close(struct folder *f)
{
    remove_empty(f);
    for (int64_t i = 0; i < f->count; i++)
        case_release(&f->cases[i]);
    free(f->cases);
    free(f->path);
    free(f->folder);
    if (f->base_fd >= 0)
        close(f->base_fd);
    if (f->lock_fd >= 0)
        close(f->lock_fd);
    if (f->folder_fd >= 0)
        close(f->folder_fd);
    *f = (struct folder){0};
}

/* --- writing --- */

enum err folder_make_new(struct folder *f, guard_work *work, void *context, const char **path,
                         struct errinfo *e)
{
    static const struct guard writer = {.what = "writing with the HDF5 library",
                                        .crash = ERR_IO};
    char name[96], *full;
    folder_new_name(name);
    if (asprintf(&full, "%s/%s", f->folder, name) < 0)
        return err_set(e, ERR_NOMEM, "out of memory");
    unlinkat(f->folder_fd, name, 0);
    *path = full;
    enum err err = guard_run(&writer, work, context, NULL, e);
    if (err)
        unlinkat(f->folder_fd, name, 0);
    *path = NULL;
    free(full);
    return err;
}

enum err folder_commit(struct folder *f, const char *name, struct errinfo *e)
{
    char new_name[96];
    folder_new_name(new_name);
    if (renameat(f->folder_fd, new_name, f->folder_fd, name) || fsync(f->folder_fd))
        return err_set(e, ERR_IO, "cannot store %s/%s: %s", f->folder, name, strerror(errno));
    return ERR_OK;
}

enum err folder_finish(struct folder *f, struct errinfo *e)
{
    char new_name[96];
    folder_new_name(new_name);
    unsigned how = f->replace ? 0 : RENAME_NOREPLACE;
    int failed = renameat2(f->folder_fd, new_name, AT_FDCWD, f->path, how);
    if (failed && how && errno == EINVAL) /* a file system that knows no such promise */
        failed = renameat(f->folder_fd, new_name, AT_FDCWD, f->path);
    if (failed)
        return err_set(e, ERR_IO, "cannot store %s: %s; every case is still in %s", f->path,
                       strerror(errno), f->folder);
    TRY(sync_parent(f->path, e));
    for (int64_t i = 0; i < f->count; i++)
        if (f->cases[i].file)
            unlinkat(f->folder_fd, f->cases[i].file, 0);
    unlinkat(f->folder_fd, "lock", 0);
    f->empty = false;
    if (rmdir(f->folder))
        return err_set(e, ERR_IO, "%s is complete, but %s cannot be removed: %s", f->path,
                       f->folder, strerror(errno));
    return ERR_OK;
}
