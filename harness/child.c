/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

double child_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* In the new process: nothing of the parent's terminal or signal handling remains. */
static void child_settle(int output, pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    int input = open("/dev/null", O_RDONLY);
    if (input >= 0)
        dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    static const int reset[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGCHLD,
                                SIGSEGV, SIGBUS,  SIGFPE, SIGILL,  SIGABRT};
    for (size_t i = 0; i < sizeof reset / sizeof *reset; i++)
        signal(reset[i], SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

enum err child_start(struct child *c, int (*work)(void *), void *context, struct errinfo *e)
{
    int fd[2];
    memset(c, 0, sizeof *c);
    if (pipe2(fd, O_CLOEXEC))
        return err_set(e, ERR_IO, "cannot make a pipe: %s", strerror(errno));
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        close(fd[0]);
        close(fd[1]);
        return err_set(e, ERR_IO, "cannot start a process: %s", strerror(errno));
    }
    if (pid == 0) {
        child_settle(fd[1], parent);
        _exit(work(context));
    }
    setpgid(pid, pid);
    close(fd[1]);
    fcntl(fd[0], F_SETFL, O_NONBLOCK);
    c->pid = pid;
    c->output = fd[0];
    return ERR_OK;
}

/* Appends, keeping the end. */
static void tail_add(struct child *c, const char *text, size_t n)
{
    size_t room = sizeof c->tail - 1;
    if (n > room) {
        text += n - room;
        n = room;
    }
    if (c->tail_size + n > room) {
        size_t drop = c->tail_size + n - room;
        memmove(c->tail, c->tail + drop, c->tail_size - drop);
        c->tail_size -= drop;
    }
    memcpy(c->tail + c->tail_size, text, n);
    c->tail_size += n;
    c->tail[c->tail_size] = 0;
}

static void output_close(struct child *c)
{
    if (c->output >= 0)
        close(c->output);
    c->output = -1;
}

bool child_listen(struct child *c)
{
    char text[4096];
    if (c->output < 0)
        return false;
    /* A bounded number of rounds: one that prints without end must not hold us. */
    for (int round = 0; round < 64; round++) {
        ssize_t n = read(c->output, text, sizeof text);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        if (n == 0) {
            output_close(c);
            return false;
        }
        tail_add(c, text, (size_t)n);
    }
    return true;
}

bool child_ended(struct child *c, int *ret_status)
{
    if (!c->pid || waitpid(c->pid, ret_status, WNOHANG) != c->pid)
        return false;
    child_listen(c);
    kill(-c->pid, SIGKILL);
    output_close(c);
    c->pid = 0;
    return true;
}

void child_kill(struct child *c)
{
    if (!c->pid)
        return;
    kill(-c->pid, SIGKILL);
    kill(c->pid, SIGKILL);
    while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    child_listen(c);
    output_close(c);
    c->pid = 0;
}

/* The last line that is not empty, printable. */
static void tail_line(const struct child *c, char *ret_line, size_t size)
{
    size_t end = c->tail_size, n = 0;
    while (end && (unsigned char)c->tail[end - 1] <= ' ')
        end--;
    size_t start = end;
    while (start && c->tail[start - 1] != '\n')
        start--;
    for (size_t i = start; i < end && n + 1 < size; i++)
        ret_line[n++] = (unsigned char)c->tail[i] < ' ' ? ' ' : c->tail[i];
    ret_line[n] = 0;
}

void child_explain(const struct child *c, int status, char *ret_text, size_t size)
{
    char line[300];
    int used;
    if (WIFSIGNALED(status))
        used = snprintf(ret_text, size, "killed by signal %d (%s)", WTERMSIG(status),
                        strsignal(WTERMSIG(status)));
    else
        used = snprintf(ret_text, size, "ended with exit status %d", WEXITSTATUS(status));
    tail_line(c, line, sizeof line);
    if (line[0] && used > 0 && (size_t)used < size)
        snprintf(ret_text + used, size - (size_t)used, "; its last words: \"%s\"", line);
}

/* --- a call ----------------------------------------------------------------------------------
 */

struct call {
    void (*work)(void *context, void *result);
    void *context;
    void *result; /* shared with the child */
    bool *done;
};

static int call_work(void *context)
{
    struct call *c = context;
    c->work(c->context, c->result);
    *c->done = true;
    return 0;
}

/* True when it ended in time. */
static bool call_wait(struct child *c, double seconds, int *ret_status)
{
    double deadline = child_clock() + seconds;
    bool open = true;
    while (!child_ended(c, ret_status)) {
        double left = deadline - child_clock();
        if (left <= 0)
            return false;
        int wait = open && left > 0.05 ? 50 : 1;
        struct pollfd p = {.fd = open ? c->output : -1, .events = POLLIN};
        if (poll(&p, 1, wait) > 0)
            open = child_listen(c);
    }
    return true;
}

static bool call_run(struct call *call, double seconds, char *ret_reason, size_t reason_size)
{
    struct child c;
    struct errinfo e;
    int status = 0;
    if (child_start(&c, call_work, call, &e)) {
        snprintf(ret_reason, reason_size, "%s", e.text);
        return false;
    }
    if (!call_wait(&c, seconds, &status)) {
        child_kill(&c);
        snprintf(ret_reason, reason_size, "no answer within %g s", seconds);
        return false;
    }
    if (!*call->done)
        child_explain(&c, status, ret_reason, reason_size);
    return *call->done;
}

bool child_call(void (*work)(void *context, void *result), void *context, void *result,
                size_t size, double seconds, char *ret_reason, size_t reason_size)
{
    /* The flag lies before the result, on its own line. */
    enum { HEAD = 64 };
    char *shared =
        mmap(NULL, HEAD + size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        snprintf(ret_reason, reason_size, "out of memory");
        return false;
    }
    struct call call = {work, context, shared + HEAD, (bool *)shared};
    memcpy(call.result, result, size);
    bool done = call_run(&call, seconds, ret_reason, reason_size);
    if (done)
        memcpy(result, call.result, size);
    munmap(shared, HEAD + size);
    return done;
}
