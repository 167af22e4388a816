/* SPDX-License-Identifier: Apache-2.0 */
#include "translate.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static enum err start(const char *program, const char *path, int out, pid_t *ret_pid,
                      struct errinfo *e)
{
    char *const argv[] = {(char *)(uintptr_t)program, (char *)(uintptr_t)path, NULL};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    int failed = posix_spawnp(ret_pid, program, &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    return failed ? err_set(e, ERR_MISSING, "cannot run %s: %s", program, strerror(failed))
                  : ERR_OK;
}

static enum err read_all(int fd, struct bytes *text, struct errinfo *e)
{
    char part[4096];
    ssize_t n;
    while ((n = read(fd, part, sizeof part)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(e, ERR_IO, "cannot read a translation: %s", strerror(errno));
        TRY(bytes_append(text, part, (size_t)n, e));
    }
    return bytes_append(text, "", 1, e);
}

enum err translate_file(const char *program, const char *path, struct bytes *ret_text,
                        struct errinfo *e)
{
    int fd[2], status = 0;
    pid_t pid = 0;
    struct bytes text = {0};
    if (pipe2(fd, O_CLOEXEC))
        return err_set(e, ERR_IO, "cannot make a pipe: %s", strerror(errno));
    enum err err = start(program, path, fd[1], &pid, e);
    close(fd[1]);
    if (!err)
        err = read_all(fd[0], &text, e);
    close(fd[0]);
    if (pid && waitpid(pid, &status, 0) == pid && !err &&
        (!WIFEXITED(status) || WEXITSTATUS(status)))
        err = err_set(e, ERR_FORMAT, "%s does not translate %.200s", program, path);
    if (err)
        bytes_release(&text);
    else
        *ret_text = text;
    return err;
}
