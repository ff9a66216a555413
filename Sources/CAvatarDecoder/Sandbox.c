// Drops all rights that decoding does not need: sets limits on the process, then a filter of system calls (seccomp).
//
// On Linux (x86-64 and arm64) the process may afterwards call only
//   pread64         read an original by the descriptor that came with the request
//   recvmsg         receive a request, from descriptor 0 alone and without flags
//   sendto          send the response, to descriptor 0 alone, to no address, and with no flag but MSG_NOSIGNAL
//   close           close an original
//   brk, munmap, mremap, mmap, madvise   allocate; mmap of private anonymous memory that is never executable, and no advice
//                   but MADV_DONTNEED
//   clock_gettime   read the clock where the vDSO cannot
//   exit, exit_group
// Any other call, and any call of another architecture, kills it.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "Internal.h"

#ifdef AVATAR_RENDITIONS
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/// The limit on address space, 640 MiB. An interlaced image of 50 million pixels with alpha needs 190 MiB, a WebP twice that.
#define MOST_ADDRESSES (640UL << 20)

static void limit(int resource, rlim_t most) {
    struct rlimit value = {most, most};
    // Setting a limit fails only if it is lower already.
    setrlimit(resource, &value);
}

static void close_others(void) {
#ifdef __linux__
#include <sys/syscall.h>
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 1U, ~0U, 0U) == 0) return;
#endif
#endif
    struct rlimit files;
    int most = getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < 65536 ? (int)files.rlim_cur : 65536;
    for (int fd = 1; fd < most; fd++) close(fd);
}

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#ifdef __x86_64__
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define FIELD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
// The lower half of an argument: both architectures are little-endian.
#define ARGUMENT(index) FIELD(args[index])
#define UPPER(index) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[index]) + 4)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
// Each continues with the next line if it holds; otherwise it skips `count` lines or kills.
#define UNLESS_SKIP(value, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (count))
#define MUST_BE(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 1, 0), KILL
#define MUST_LACK(bits) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 0, 1), KILL
#define MAY(call) UNLESS_SKIP((call), 1), ALLOW

static bool filter_calls(void) {
    struct sock_filter filter[] = {
        FIELD(arch), MUST_BE(OWN_ARCHITECTURE),
        FIELD(nr),
        MAY(SYS_pread64), MAY(SYS_close), MAY(SYS_brk), MAY(SYS_munmap), MAY(SYS_mremap),
        MAY(SYS_clock_gettime), MAY(SYS_exit), MAY(SYS_exit_group),
        UNLESS_SKIP(SYS_madvise, 4), ARGUMENT(2), MUST_BE(MADV_DONTNEED), ALLOW,
        UNLESS_SKIP(SYS_recvmsg, 7), ARGUMENT(0), MUST_BE(0), ARGUMENT(2), MUST_BE(0), ALLOW,
        UNLESS_SKIP(SYS_sendto, 13), ARGUMENT(0), MUST_BE(0), ARGUMENT(3), MUST_BE(MSG_NOSIGNAL),
        ARGUMENT(4), MUST_BE(0), UPPER(4), MUST_BE(0), ALLOW,
        UNLESS_SKIP(SYS_mmap, 7), ARGUMENT(2), MUST_LACK(PROT_EXEC), ARGUMENT(3), MUST_BE(MAP_PRIVATE | MAP_ANONYMOUS),
        ALLOW,
        KILL,
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool seal(void) {
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && filter_calls();
}

static void die_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); }
#else
static bool seal(void) { return false; }
static void die_with_parent(void) {}
#endif

/// Removes signal handlers of libraries. They would make forbidden calls, and hide how the process died.
static void drop_handlers(void) {
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
}

#ifdef __linux__
/// Asks the kernel to kill this process first when memory runs out, rather than the program that started it.
static void offer_to_end(void) {
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    // If the write fails, the kernel kills the largest process, which is often this one.
    ssize_t written = write(file, "1000", 4);
    (void)written;
    close(file);
}
#else
static void offer_to_end(void) {}
#endif

int avatar_enter_sandbox(void) {
    die_with_parent();
    offer_to_end();
    drop_handlers();
    close_others();
#ifdef __linux__
    limit(RLIMIT_AS, MOST_ADDRESSES);
#endif
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    // Standard input, an original, and one spare descriptor.
    limit(RLIMIT_NOFILE, 3);
    return seal() ? 1 : 0;
}

int avatar_attempt(const char *name) {
    char byte = 0;
    char *const arguments[] = {(char *)"true", NULL};
    struct sockaddr address = {.sa_family = AF_UNIX};
    bool is_known = true;
    if (strcmp(name, "nothing") == 0) return 0;
    if (strcmp(name, "open") == 0) open("/etc/passwd", O_RDONLY);
    else if (strcmp(name, "socket") == 0) socket(AF_INET, SOCK_STREAM, 0);
    else if (strcmp(name, "execve") == 0) execv("/bin/true", arguments);
    else if (strcmp(name, "fork") == 0) (void)(fork() == 0);
    else if (strcmp(name, "kill") == 0) kill(getppid(), 0);
    else if (strcmp(name, "write") == 0) (void)(write(0, &byte, 1) == 1);
    else if (strcmp(name, "send-elsewhere") == 0) send(1, &byte, 1, NO_SIGNAL);
    else if (strcmp(name, "send-out-of-band") == 0) send(0, &byte, 1, NO_SIGNAL | MSG_OOB);
    else if (strcmp(name, "send-to-address") == 0) sendto(0, &byte, 1, NO_SIGNAL, &address, sizeof address);
    else if (strcmp(name, "receive-elsewhere") == 0) recvmsg(1, &(struct msghdr){0}, 0);
    else if (strcmp(name, "receive-out-of-band") == 0) recvmsg(0, &(struct msghdr){0}, MSG_OOB);
    else if (strcmp(name, "advise") == 0) madvise(NULL, 0, MADV_WILLNEED);
    else if (strcmp(name, "map-code") == 0) mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANON, -1, 0);
    else if (strcmp(name, "map-file") == 0) mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 0, 0);
    else if (strcmp(name, "protect") == 0) mprotect((void *)((uintptr_t)&byte & ~(uintptr_t)4095), 4096, PROT_READ | PROT_EXEC);
#ifdef __linux__
    else if (strcmp(name, "ptrace") == 0) syscall(SYS_ptrace, 0, 0, 0, 0);
#endif
#ifdef __x86_64__
    else if (strcmp(name, "other-architecture") == 0) {
        // The 32-bit call getpid.
        long number = 20;
        __asm__ volatile("int $0x80" : "+a"(number) : : "memory");
    }
#endif
    else is_known = false;
    return is_known ? 1 : -1;
}
#endif
