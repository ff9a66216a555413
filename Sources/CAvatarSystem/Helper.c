// Helper processes: starts them with a socket, passes descriptors to them, ends them. Also starts threads to serve them.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "CAvatarSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __APPLE__
#include <TargetConditionals.h>
#endif

#if defined(__APPLE__) && !TARGET_OS_OSX
int avatar_start_helper(const char *path, char *const *arguments, int *pid) {
    (void)path;
    (void)arguments;
    (void)pid;
    errno = ENOTSUP;
    return -1;
}

int avatar_start_apart(const char *path, const char *argument) {
    (void)path;
    (void)argument;
    errno = ENOTSUP;
    return -1;
}

int avatar_start_shell(const char *command, char *const *environment, int *input, int *output) {
    (void)command, (void)environment, (void)input, (void)output;
    errno = ENOTSUP;
    return -1;
}
#else
#include <spawn.h>

static int make_sockets(int sockets[2]) {
#ifdef SOCK_CLOEXEC
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets);
#else
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return -1;
    int on = 1;
    for (int i = 0; i < 2; i++) fcntl(sockets[i], F_SETFD, FD_CLOEXEC);
    setsockopt(sockets[0], SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
    return 0;
#endif
}

// Starts a program with `input` as its descriptor 0 and `output` as 1 and 2; an `output` of -1 stands for /dev/null.
static int spawn(
    const char *path, char *const *arguments, char *const *environment, int input, int output, pid_t *pid
) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    error = posix_spawnattr_init(&attributes);
    if (error) {
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    // A process group of its own: an interrupt from the terminal must end neither a helper, which is still needed, nor a browser.
    posix_spawnattr_setpgroup(&attributes, 0);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP;
#ifdef POSIX_SPAWN_CLOEXEC_DEFAULT
    flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#endif
    posix_spawnattr_setflags(&attributes, flags);
    error = posix_spawn_file_actions_adddup2(&actions, input, 0);
    if (!error) {
        error = output < 0 ? posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_RDWR, 0)
                           : posix_spawn_file_actions_adddup2(&actions, output, 1);
    }
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, 1, 2);
    // The program's sockets and files stay its own: a client would wait for the end of a connection that a child has too.
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    if (!error) error = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
#endif
    if (!error) error = posix_spawn(pid, path, &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

int avatar_start_helper(const char *path, char *const *arguments, int *pid) {
    int sockets[2];
    if (make_sockets(sockets) != 0) return -1;
    // The environment of the helper has only the search path of libraries, and binds their symbols before the sandbox.
    const char *libraries = getenv("LD_LIBRARY_PATH");
    char places[4096];
    char *environment[] = {(char *)"LD_BIND_NOW=1", NULL, NULL};
    int length = libraries ? snprintf(places, sizeof places, "LD_LIBRARY_PATH=%s", libraries) : 0;
    if (length > 0 && (size_t)length < sizeof places) environment[1] = places;
    int error = spawn(path, arguments, environment, sockets[1], -1, pid);
    close(sockets[1]);
    if (!error) return sockets[0];
    close(sockets[0]);
    errno = error;
    return -1;
}

int avatar_start_apart(const char *path, const char *argument) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) return -1;
    // The shell starts it in the background and ends. So the system's first process becomes its parent, and it leaves no zombie
    // here when it ends.
    pid_t pid;
    char *arguments[] = {"sh", "-c", "\"$0\" \"$1\" &", (char *)path, (char *)argument, NULL};
    int status = 0, error = spawn("/bin/sh", arguments, environ, null, -1, &pid);
    close(null);
    if (!error) {
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    }
    errno = error ? error : EINVAL;
    return error || status ? -1 : 0;
}

// A pipe whose ends no other program inherits. They are above 2, so that neither is overwritten when a program is started.
static int make_pipe(int ends[2]) {
    int made[2];
    if (pipe(made) != 0) return -1;
    int error = 0;
    for (int end = 0; end < 2; end++) {
        ends[end] = fcntl(made[end], F_DUPFD_CLOEXEC, 3);
        if (ends[end] < 0) error = errno;
        close(made[end]);
    }
    if (!error) return 0;
    for (int end = 0; end < 2; end++) {
        if (ends[end] >= 0) close(ends[end]);
    }
    errno = error;
    return -1;
}

int avatar_start_shell(const char *command, char *const *environment, int *input, int *output) {
    int to[2], from[2];
    if (make_pipe(to) != 0) return -1;
    if (make_pipe(from) != 0) {
        int error = errno;
        close(to[0]);
        close(to[1]);
        errno = error;
        return -1;
    }
    pid_t pid = -1;
    char *arguments[] = {"sh", "-c", (char *)command, NULL};
    int error = spawn("/bin/sh", arguments, environment, to[0], from[1], &pid);
    close(to[0]);
    close(from[1]);
    if (!error && (fcntl(to[1], F_SETFL, O_NONBLOCK) != 0 || fcntl(from[0], F_SETFL, O_NONBLOCK) != 0)) {
        error = errno;
        avatar_end_helper(pid, 0);
    }
    if (error) {
        close(to[1]);
        close(from[0]);
        errno = error;
        return -1;
    }
    *input = to[1];
    *output = from[0];
    return pid;
}
#endif

int avatar_has_ended(int pid) {
    siginfo_t information;
    memset(&information, 0, sizeof information);
    int result;
    do result = waitid(P_PID, (id_t)pid, &information, WEXITED | WNOHANG | WNOWAIT);
    while (result != 0 && errno == EINTR);
    return result != 0 || information.si_pid == pid;
}

int avatar_end_helper(int pid, int patience) {
    int status = 0;
    pid_t ended;
    for (int waited = 0;; waited++) {
        ended = waitpid(pid, &status, WNOHANG);
        if (ended != 0 || waited >= patience) break;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    bool is_killed = ended == 0;
    if (is_killed) {
        // The child was not waited for, so its process id is not reused.
        kill(pid, SIGKILL);
        do ended = waitpid(pid, &status, 0);
        while (ended < 0 && errno == EINTR);
    }
    if (ended != pid || (is_killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) return INT_MIN;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int64_t avatar_helper_time(int pid) {
    clockid_t clock;
    struct timespec used;
#ifdef __linux__
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return -1;
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
#else
    (void)pid, (void)clock, (void)used;
    return -1;
#endif
}

int avatar_usable_cores(void) {
#ifdef __linux__
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) > 0) return CPU_COUNT(&cores);
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

long avatar_send_descriptor(int socket, const void *bytes, size_t count, int descriptor) {
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    struct iovec part = {(void *)bytes, count};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control,
    };
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof descriptor);
    memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
    int flags = MSG_DONTWAIT;
#ifdef MSG_NOSIGNAL
    flags |= MSG_NOSIGNAL;
#endif
    ssize_t sent;
    do sent = sendmsg(socket, &message, flags);
    while (sent < 0 && errno == EINTR);
    return sent;
}

struct start {
    void (*body)(void *context);
    void *context;
};

static void *run(void *argument) {
    struct start start = *(struct start *)argument;
    free(argument);
    start.body(start.context);
    return NULL;
}

int avatar_start_thread(void (*body)(void *context), void *context) {
    struct start *start = malloc(sizeof *start);
    if (!start) return ENOMEM;
    start->body = body;
    start->context = context;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    // The new thread inherits the mask. A TLS library may write to a closed socket, and SIGPIPE would end the process.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_t thread;
    int error = pthread_create(&thread, &attributes, run, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error) free(start);
    return error;
}
