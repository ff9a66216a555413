#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#include "CAvatarSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifdef F_OFD_SETLK
#define AVATAR_SET_LOCK F_OFD_SETLK
#else
// The lock then belongs to the process: two openings of the file in one process do not exclude each other, and closing
// either of them gives up the locks of both. Other processes are kept out as they should be.
#define AVATAR_SET_LOCK F_SETLK
#endif

int avatar_random_bytes(void *bytes, size_t count) { return getentropy(bytes, count); }

#if defined(__GLIBC__) || defined(__APPLE__)
static int argument_count;
static const char *const *argument_values;

// These systems hand the arguments to initializers too. Swift's runtime on Linux reads them from its stack, which it finds
// in /proc/self/maps: it has none where that file cannot be opened.
__attribute__((constructor)) static void keep_arguments(int count, char **values) {
    argument_count = count;
    argument_values = (const char *const *)values;
}

const char *avatar_argument(int index) {
    return index >= 0 && index < argument_count ? argument_values[index] : NULL;
}
#else
const char *avatar_argument(int index) {
    (void)index;
    return NULL;
}
#endif

static int signal_pipe = -1;

static void pass_on(int number) {
    int error = errno;
    unsigned char byte = (unsigned char)number;
    // A full pipe already holds enough signals.
    ssize_t written = write(signal_pipe, &byte, 1);
    (void)written;
    errno = error;
}

int avatar_catch_signals(const int *numbers, int count) {
    int ends[2];
    if (pipe(ends) != 0) return -1;
    for (int end = 0; end < 2; end++) {
        if (fcntl(ends[end], F_SETFD, FD_CLOEXEC) != 0 || fcntl(ends[end], F_SETFL, O_NONBLOCK) != 0) return -1;
    }
    signal_pipe = ends[1];
    struct sigaction action = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (int index = 0; index < count; index++) {
        if (sigaction(numbers[index], &action, NULL) != 0) return -1;
    }
    return ends[0];
}

static int set_lock(int fd, short type, int64_t offset) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1};
    int result;
    do {
        result = fcntl(fd, AVATAR_SET_LOCK, &lock);
    } while (result != 0 && errno == EINTR);
    return result;
}

int avatar_lock_byte(int fd, int64_t offset) {
    if (set_lock(fd, F_WRLCK, offset) == 0) return 1;
    return errno == EAGAIN || errno == EACCES ? 0 : -1;
}

int avatar_unlock_byte(int fd, int64_t offset) { return set_lock(fd, F_UNLCK, offset); }

int avatar_passing_flag(void) {
#ifdef O_PATH
    return O_PATH;
#else
    return O_RDONLY;
#endif
}

int avatar_open_beneath_by_parts(int directory, const char *path, int flags) {
    int parent = directory;
    int result = -1;
    for (;;) {
        const char *slash = strchr(path, '/');
        size_t length = slash ? (size_t)(slash - path) : strlen(path);
        char part[NAME_MAX + 1];
        if (length == 0 || (length == 1 && path[0] == '.') || (length == 2 && path[0] == '.' && path[1] == '.')) {
            errno = EXDEV;
            break;
        }
        if (length > NAME_MAX) {
            errno = ENAMETOOLONG;
            break;
        }
        memcpy(part, path, length);
        part[length] = 0;
        if (!slash) {
            result = openat(parent, part, flags | O_NOFOLLOW | O_CLOEXEC);
            break;
        }
        int next = openat(parent, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0) break;
        if (parent != directory) close(parent);
        parent = next;
        path = slash + 1;
    }
    int error = errno;
    if (parent != directory) close(parent);
    errno = error;
    return result;
}

#if defined(__linux__) && defined(__has_include)
#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#include <sys/syscall.h>
#endif
#endif

#ifdef SYS_openat2
#include <stdatomic.h>

int avatar_open_beneath(int directory, const char *path, int flags) {
    // Old kernels do not have the call, and some sandboxes refuse it.
    static atomic_bool is_missing;
    if (atomic_load_explicit(&is_missing, memory_order_relaxed)) {
        return avatar_open_beneath_by_parts(directory, path, flags);
    }
    struct open_how how = {
        .flags = (unsigned)(flags | O_NOFOLLOW | O_CLOEXEC), .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    long result = syscall(SYS_openat2, directory, path, &how, sizeof how);
    if (result >= 0 || (errno != ENOSYS && errno != EPERM)) return (int)result;
    int error = errno;
    int file = avatar_open_beneath_by_parts(directory, path, flags);
    if (file >= 0 || error == ENOSYS) atomic_store_explicit(&is_missing, 1, memory_order_relaxed);
    return file;
}
#else
int avatar_open_beneath(int directory, const char *path, int flags) {
    return avatar_open_beneath_by_parts(directory, path, flags);
}
#endif

#ifdef __linux__
#include <sys/vfs.h>

int avatar_is_on_network_file_system(int fd) {
    struct statfs information;
    if (fstatfs(fd, &information) != 0) return -1;
    switch ((unsigned long)information.f_type & 0xFFFFFFFFUL) {
    case 0x00006969: // NFS
    case 0x0000517B: // SMB
    case 0xFF534D42: // CIFS
    case 0xFE534D42: // SMB2
    case 0x5346414F: // AFS
    case 0x00C36400: // Ceph
    case 0x0000564C: // NCP
    case 0x73757245: // Coda
        return 1;
    default:
        return 0;
    }
}

int avatar_sync_file_system(int fd) { return syncfs(fd); }

// An error is reported by the synchronization that follows.
void avatar_start_writing(int fd) { (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE); }

// Linux wants the namespace in the name.
#define QUALIFIED(name)                                                                                                \
    char qualified[256];                                                                                               \
    if (snprintf(qualified, sizeof qualified, "user.%s", name) >= (int)sizeof qualified) {                             \
        errno = ERANGE;                                                                                                \
        return -1;                                                                                                     \
    }

int avatar_set_attribute(int fd, const char *name, const void *value, size_t size) {
    QUALIFIED(name)
    if (size > 0) return fsetxattr(fd, qualified, value, size, 0);
    return fremovexattr(fd, qualified) == 0 || errno == ENODATA ? 0 : -1;
}

long avatar_get_attribute(int fd, const char *name, void *value, size_t size) {
    QUALIFIED(name)
    return fgetxattr(fd, qualified, value, size);
}

#else
#include <sys/mount.h>
#include <sys/param.h>

int avatar_is_on_network_file_system(int fd) {
    struct statfs information;
    if (fstatfs(fd, &information) != 0) return -1;
    return (information.f_flags & MNT_LOCAL) ? 0 : 1;
}

int avatar_sync_file_system(int fd) {
    (void)fd;
    sync();
    return 0;
}

void avatar_start_writing(int fd) { (void)fd; }

int avatar_set_attribute(int fd, const char *name, const void *value, size_t size) {
    if (size > 0) return fsetxattr(fd, name, value, size, 0, 0);
    return fremovexattr(fd, name, 0) == 0 || errno == ENOATTR ? 0 : -1;
}

long avatar_get_attribute(int fd, const char *name, void *value, size_t size) {
    return fgetxattr(fd, name, value, size, 0, 0);
}
#endif
