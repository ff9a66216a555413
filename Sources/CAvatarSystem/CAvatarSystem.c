#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "CAvatarSystem.h"

#include <unistd.h>

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
#endif
