// System calls that the platform module of Swift does not import on every platform.
#ifndef C_AVATAR_SYSTEM_H
#define C_AVATAR_SYSTEM_H

/// 1: the open file `fd` lies on a network file system; 0: on a local one; -1: `errno` says why it is not known.
int avatar_is_on_network_file_system(int fd);

/// Makes every change to the file system that holds `fd` durable. 0, or -1 with `errno`.
int avatar_sync_file_system(int fd);

#endif
