// System calls that the platform module of Swift does not import on every platform.
#ifndef C_AVATAR_SYSTEM_H
#define C_AVATAR_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

/// The program's argument `index`, from 0 for its name; NULL behind the last one, and for each where the system does not
/// hand them to initializers.
const char *avatar_argument(int index);

/// 1: the open file `fd` lies on a network file system; 0: on a local one; -1: `errno` says why it is not known.
int avatar_is_on_network_file_system(int fd);

/// Fills `bytes` with `count` random bytes of the system, at most 256. 0, or -1 with `errno`.
int avatar_random_bytes(void *bytes, size_t count);

/// Makes every change to the file system that holds `fd` durable. 0, or -1 with `errno`.
int avatar_sync_file_system(int fd);

/// Begins to write the bytes of `fd` to its disk, without waiting: a hint, which does nothing on Apple platforms.
void avatar_start_writing(int fd);

/// Gives the open file `fd` the extended attribute `name` of the user's namespace, or takes it away if `size` is 0.
/// 0, or -1 with `errno`.
int avatar_set_attribute(int fd, const char *name, const void *value, size_t size);

/// Reads the extended attribute `name` of the open file `fd` into `value`. Its length, or -1 with `errno`.
long avatar_get_attribute(int fd, const char *name, void *value, size_t size);

/// Takes the byte at `offset` of the open file `fd`, whether the file is that long or not, for this opening of the file
/// alone. 1: taken; 0: another opening has it; -1: `errno` says why it cannot be taken.
int avatar_lock_byte(int fd, int64_t offset);

/// The flag of `open` for a directory that is only passed through, which need not be readable: O_PATH where the system has it.
int avatar_passing_flag(void);

/// Opens what lies at the relative `path` below the open directory `directory`, as `openat` with `flags`, which must not
/// make a file. No part of the path may be a symbolic link or lead upwards. The descriptor, or -1 with `errno`: ELOOP or
/// ENOTDIR for a symbolic link, EXDEV for a path that leads out of the directory.
int avatar_open_beneath(int directory, const char *path, int flags);

/// The same with a call for each part of the path, as for kernels that cannot do it in one.
int avatar_open_beneath_by_parts(int directory, const char *path, int flags);

/// Gives the byte at `offset` back. 0, or -1 with `errno`.
int avatar_unlock_byte(int fd, int64_t offset);

/// Catches the `count` signals `numbers` from now on. Each one writes its number, as one byte, to a pipe: a signal that
/// comes before the pipe is read is kept. Call it once. The end to read from, which does not block, or -1 with `errno`.
int avatar_catch_signals(const int *numbers, int count);

/// Starts the program at `path` with `arguments`, which begin with its name and end with NULL. It gets a socket as descriptor
/// 0, /dev/null as 1 and 2, and the environment LD_BIND_NOW=1 with the caller's LD_LIBRARY_PATH. On Linux a helper may ask to
/// die with the thread that started it. Returns the other end of the socket, or -1 with `errno`.
int avatar_start_helper(const char *path, char *const *arguments, int *pid);

/// Starts the program at `path` with one argument and this program's environment, and does not wait for it: it may outlive the
/// caller. It reads and writes /dev/null. 0, or -1 with `errno`.
int avatar_start_apart(const char *path, const char *argument);

/// Starts `/bin/sh -c command` with `environment`, in a process group of its own. `input` is the end to write its descriptor 0 to,
/// `output` the end to read its 1 and 2 from; neither blocks. Returns its process id, or -1 with `errno`.
int avatar_start_shell(const char *command, char *const *environment, int *input, int *output);

/// 1 if the child `pid` has ended, else 0. Its process id and that of its group stay taken until `avatar_end_helper`.
int avatar_has_ended(int pid);

/// Kills the helper `pid` unless it ends within `patience` milliseconds, and waits for its end. Returns how it ended by itself:
/// its exit code, or a signal as a negative number. Returns INT_MIN if it was killed here, or its end is not known.
int avatar_end_helper(int pid, int patience);

/// The processor time that the child `pid` has used so far, in nanoseconds; -1 if it is not known.
int64_t avatar_helper_time(int pid);

/// The number of cores that this process may use, at least 1.
int avatar_usable_cores(void);

/// Sends `count` bytes and a descriptor to `socket`, without blocking and without SIGPIPE. Returns the number of bytes sent, or
/// -1 with `errno`.
long avatar_send_descriptor(int socket, const void *bytes, size_t count, int descriptor);

/// Runs Swift's tasks from now on in a way that needs no /proc. Call it before the first task, and only without /proc, because it
/// may take more threads. Does nothing on systems other than Linux.
void avatar_run_tasks_without_proc(void);

/// Runs `body` on a new thread, which receives no signals. Returns 0 or an errno.
int avatar_start_thread(void (*body)(void *context), void *context);

#endif
