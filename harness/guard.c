/* SPDX-License-Identifier: Apache-2.0 */
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GUARD_LIMITS_MEMORY 0 /* the sanitizers map terabytes */
#else
#define GUARD_LIMITS_MEMORY 1
#endif

static const uint64_t guard_magic = 0x6472617567796172;

/* What the child sends first; `size` bytes follow. */
struct guard_answer {
    uint64_t magic;
    enum err code;
    struct errinfo info;
    size_t size;
};

bool guard_send(int fd, const void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, (const char *)data + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

bool guard_receive(int fd, void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = read(fd, (char *)data + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static size_t memory_in_use(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f) {
        if (fscanf(f, "%ld", &pages) != 1)
            pages = 0;
        fclose(f);
    }
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void child_limit(const struct guard *g)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (!GUARD_LIMITS_MEMORY || g->memory == 0)
        return;
    struct rlimit now;
    size_t most = memory_in_use() + g->memory;
    if (getrlimit(RLIMIT_AS, &now) == 0 &&
        (now.rlim_cur == RLIM_INFINITY || most < now.rlim_cur))
        setrlimit(RLIMIT_AS, &(struct rlimit){most, now.rlim_max});
}

static void child_signals(const struct guard *g)
{
    static const int standard[] = {SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPIPE};
    static const int ignored[] = {SIGINT, SIGXFSZ};
    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
        signal(standard[i], SIG_DFL);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(g->seconds);
}

static void child_begin(const struct guard *g, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null >= 0)
        dup2(null, STDERR_FILENO);
    child_signals(g);
    child_limit(g);
}

static _Noreturn void child_main(const struct guard *g, guard_work *work, void *context,
                                 pid_t parent, int answer_fd)
{
    child_begin(g, parent);
    struct bytes out = {0};
    struct guard_answer answer = {.magic = guard_magic};
    answer.code = work(context, &out, &answer.info);
    answer.size = answer.code ? 0 : out.size;
    bool sent = guard_send(answer_fd, &answer, sizeof answer) &&
                guard_send(answer_fd, out.data, answer.size);
    _exit(sent ? 0 : 1);
}

/* True when a whole answer came. */
static bool receive(int fd, struct guard_answer *answer, struct bytes *out)
{
    if (!guard_receive(fd, answer, sizeof *answer) || answer->magic != guard_magic)
        return false;
    char piece[1 << 16];
    for (size_t left = answer->size; left > 0;) {
        size_t n = left < sizeof piece ? left : sizeof piece;
        if (!guard_receive(fd, piece, n) || bytes_append(out, piece, n, NULL))
            return false;
        left -= n;
    }
    answer->info.text[sizeof answer->info.text - 1] = '\0';
    return true;
}

static enum err describe_death(const struct guard *g, int status, struct errinfo *e)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        return err_set(e, g->crash, "%s took longer than %u s and was stopped", g->what,
                       g->seconds);
    if (WIFSIGNALED(status))
        return err_set(e, g->crash, "%s crashed (%s)", g->what, strsignal(WTERMSIG(status)));
    return err_set(e, g->crash, "%s ended its process (exit status %d)", g->what,
                   WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

enum err guard_run(const struct guard *g, guard_work *work, void *context,
                   struct bytes *ret_out, struct errinfo *e)
{
    int fd[2];
    if (pipe2(fd, O_CLOEXEC))
        return err_set(e, ERR_IO, "cannot make a pipe: %s", strerror(errno));
    pid_t parent = getpid();
    pid_t child = fork();
    if (child < 0) {
        enum err err = err_set(e, ERR_IO, "cannot make a process: %s", strerror(errno));
        close(fd[0]);
        close(fd[1]);
        return err;
    }
    if (child == 0)
        child_main(g, work, context, parent, fd[1]);
    close(fd[1]);

    struct guard_answer answer;
    struct bytes out = {0};
    bool whole = receive(fd[0], &answer, &out);
    close(fd[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (whole && !answer.code && ret_out) {
        *ret_out = out;
        return ERR_OK;
    }
    bytes_release(&out);
    if (!whole)
        return describe_death(g, status, e);
    return answer.code ? err_set(e, answer.code, "%s", answer.info.text) : ERR_OK;
}

enum err guard_start(const struct guard *g, guard_serve *serve, void *context,
                     struct guard_server *ret_server, struct errinfo *e)
{
    int fd[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
        return err_set(e, ERR_IO, "cannot make a socket: %s", strerror(errno));
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        close(fd[0]);
        child_begin(g, parent);
        serve(context, fd[1]);
        _exit(0);
    }
    close(fd[1]);
    if (child < 0) {
        close(fd[0]);
        return err_set(e, ERR_IO, "cannot make a process: %s", strerror(errno));
    }
    *ret_server = (struct guard_server){child, fd[0]};
    return ERR_OK;
}

/* The child ends by itself when its socket closes; one that hangs is killed. */
static int server_end(struct guard_server *s, bool at_once)
{
    int status = 0;
    close(s->fd);
    if (at_once)
        kill(s->pid, SIGKILL);
    while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    *s = (struct guard_server){0};
    return status;
}

void guard_stop(struct guard_server *s)
{
    if (s->pid)
        server_end(s, true);
}

enum err guard_died(const struct guard *g, struct guard_server *s, struct errinfo *e)
{
    return describe_death(g, server_end(s, false), e);
}
