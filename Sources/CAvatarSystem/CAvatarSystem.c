#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#include "CAvatarSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifdef F_OFD_SETLK
#define AVATAR_SET_LOCK F_OFD_SETLK
#else
// The lock then belongs to the process: two openings of the file in one process do not exclude each other, and closing
// either of them gives up the locks of both. Other processes are kept out as they should be.
#define AVATAR_SET_LOCK F_SETLK
#endif

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

int avatar_set_attribute(int fd, const char *name, const void *value, size_t size) {
    if (size > 0) return fsetxattr(fd, name, value, size, 0, 0);
    return fremovexattr(fd, name, 0) == 0 || errno == ENOATTR ? 0 : -1;
}

long avatar_get_attribute(int fd, const char *name, void *value, size_t size) {
    return fgetxattr(fd, name, value, size, 0, 0);
}
#endif
