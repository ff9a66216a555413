// Swift's tasks on a system without /proc.
//
// While work waits on a global queue of libdispatch, it looks once a second at the threads of that queue, in /proc/ID/stat, and
// ends the process if it cannot open one. Swift runs its tasks on those queues. The threads of libdispatch's "overcommit" queues
// are not looked at, so tasks run there instead. That may take more threads than there are processors.
//
// The hook is not asked by `Task.sleep` (since Swift 6.3), whose timer fires on such a queue of the runtime's own. So the modules of
// the program sleep by `Deadlines`.
#include "CAvatarSystem.h"

#ifdef __linux__
#include <stdint.h>

#if __has_attribute(swiftcall)
#define SWIFT_CALL __attribute__((swiftcall))

typedef SWIFT_CALL void (*original)(void *job);

// Of Swift's runtime (swift/Runtime/Concurrency.h).
extern SWIFT_CALL void (*swift_task_enqueueGlobal_hook)(void *job, original);
extern SWIFT_CALL void swift_job_run(void *job, void *executor, uintptr_t implementation);

// Of libdispatch.
extern void *dispatch_get_global_queue(intptr_t identifier, uintptr_t flags);
extern void dispatch_async_f(void *queue, void *context, void (*work)(void *));

static void *overcommit_queue(void) { return dispatch_get_global_queue(0, 2); }

static void run(void *job) { swift_job_run(job, NULL, 0); }

static SWIFT_CALL void enqueue(void *job, original unused) {
    (void)unused;
    dispatch_async_f(overcommit_queue(), job, run);
}

void avatar_run_tasks_without_proc(void) {
    swift_task_enqueueGlobal_hook = enqueue;
}
#else
void avatar_run_tasks_without_proc(void) {}
#endif
#else
void avatar_run_tasks_without_proc(void) {}
#endif
