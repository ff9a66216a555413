// Swift's tasks on a system without /proc.
//
// While work waits on a global queue of libdispatch, it looks once a second at the threads of that queue, in /proc/ID/stat, and
// ends the process if it cannot open one. Swift runs its tasks on those queues. The threads of libdispatch's "overcommit" queues
// are not looked at, so tasks run there instead. That may take more threads than there are processors.
#include "CAvatarSystem.h"

#ifdef __linux__
#include <stdint.h>
#include <time.h>

#if __has_attribute(swiftcall)
#define SWIFT_CALL __attribute__((swiftcall))

typedef SWIFT_CALL void (*original)(void *job);
typedef SWIFT_CALL void (*original_delay)(unsigned long long nanoseconds, void *job);
typedef SWIFT_CALL void (*original_deadline)(
    long long seconds, long long nanoseconds, long long tolerance_seconds, long long tolerance_nanoseconds, int clock, void *job
);

// Of Swift's runtime (swift/Runtime/Concurrency.h).
extern SWIFT_CALL void (*swift_task_enqueueGlobal_hook)(void *job, original);
extern SWIFT_CALL void (*swift_task_enqueueGlobalWithDelay_hook)(unsigned long long nanoseconds, void *job, original_delay);
extern SWIFT_CALL void (*swift_task_enqueueGlobalWithDeadline_hook)(
    long long seconds, long long nanoseconds, long long tolerance_seconds, long long tolerance_nanoseconds, int clock, void *job,
    original_deadline
);
extern SWIFT_CALL void swift_job_run(void *job, void *executor, uintptr_t implementation);

// Of libdispatch.
extern void *dispatch_get_global_queue(intptr_t identifier, uintptr_t flags);
extern void dispatch_async_f(void *queue, void *context, void (*work)(void *));
extern void dispatch_after_f(uint64_t time, void *queue, void *context, void (*work)(void *));
extern uint64_t dispatch_time(uint64_t time, int64_t nanoseconds);

static void *overcommit_queue(void) { return dispatch_get_global_queue(0, 2); }

static void run(void *job) { swift_job_run(job, NULL, 0); }

static SWIFT_CALL void enqueue(void *job, original unused) {
    (void)unused;
    dispatch_async_f(overcommit_queue(), job, run);
}

static SWIFT_CALL void enqueue_later(unsigned long long nanoseconds, void *job, original_delay unused) {
    (void)unused;
    int64_t delay = nanoseconds > INT64_MAX ? INT64_MAX : (int64_t)nanoseconds;
    dispatch_after_f(dispatch_time(0, delay), overcommit_queue(), job, run);
}

static SWIFT_CALL void enqueue_at(
    long long seconds, long long nanoseconds, long long tolerance_seconds, long long tolerance_nanoseconds, int clock, void *job,
    original_deadline unused
) {
    (void)tolerance_seconds;
    (void)tolerance_nanoseconds;
    (void)unused;
    // 1 is the continuous clock, 2 the suspending one.
    struct timespec now;
    clock_gettime(clock == 1 ? CLOCK_BOOTTIME : CLOCK_MONOTONIC, &now);
    double delay = (double)(seconds - now.tv_sec) * 1e9 + (double)(nanoseconds - now.tv_nsec);
    enqueue_later(delay <= 0 ? 0 : delay >= 9e18 ? INT64_MAX : (unsigned long long)delay, job, NULL);
}

void avatar_run_tasks_without_proc(void) {
    swift_task_enqueueGlobal_hook = enqueue;
    swift_task_enqueueGlobalWithDelay_hook = enqueue_later;
    swift_task_enqueueGlobalWithDeadline_hook = enqueue_at;
}
#else
void avatar_run_tasks_without_proc(void) {}
#endif
#else
void avatar_run_tasks_without_proc(void) {}
#endif
