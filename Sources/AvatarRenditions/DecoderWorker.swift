import AvatarCore
import AvatarFoundation
import AvatarProviders
import CAvatarSystem
import Dispatch

/// A thread that runs one helper at a time.
final class DecoderWorker: Sendable {
    private let workers: DecoderWorkers
    /// The next job, until the thread takes it.
    private let job: Locked<DecoderJob?>
    private let alarm = DispatchSemaphore(value: 0)

    /// A thread that begins with `job`.
    init(_ workers: DecoderWorkers, first job: DecoderJob) {
        self.workers = workers
        self.job = Locked(job)
    }

    /// Starts the thread. Returns 0 or an errno.
    func start() -> CInt {
        let context = Unmanaged.passRetained(self)
        let error = avatar_start_thread(
            { context in
                guard let context else { return }
                Unmanaged<DecoderWorker>.fromOpaque(context).takeRetainedValue().run()
            },
            context.toOpaque()
        )
        if error != 0 { context.release() }
        return error
    }

    /// Wakes the sleeping thread for `job`, or ends it if `job` is `nil`.
    func wake(with job: DecoderJob?) {
        self.job.withLock { $0 = job }
        alarm.signal()
    }

    /// Sleeps until the thread is woken, and returns its job; `nil` if it must end.
    ///
    /// - Parameter leave: called after `time`. Returns whether the thread may end; if not, another thread has just woken it.
    func sleep(for time: DispatchTimeInterval, orElse leave: () -> Bool) -> DecoderJob? {
        while alarm.wait(timeout: .now() + time) == .timedOut {
            if leave() { return nil }
        }
        return takeJob()
    }

    private func takeJob() -> DecoderJob? {
        job.withLock { job in
            defer { job = nil }
            return job
        }
    }

    /// The body of the thread.
    private func run() {
        var next = takeJob()
        while let job = next {
            // A helper that fails is ended, and the next job starts another one.
            next = serve(from: job)
        }
    }

    /// Serves jobs with one helper, from `first` on, until the helper fails, reaches its limit of images, or no job is left.
    /// Returns the next job, for another helper.
    private func serve(from first: DecoderJob) -> DecoderJob? {
        let process: DecoderProcess
        do {
            process = try DecoderProcess(workers.program(), within: workers.limits.start)
        } catch {
            first.finish(.failure(error))
            return workers.next(for: self)
        }
        var next: DecoderJob? = first
        var left = workers.limits.images
        while let job = next {
            do {
                if let (answer, bytes) = try process.exchange(job, within: workers.limits.image) {
                    job.finish(try RenditionCheck.result(answer, bytes, of: job.rendition))
                }
            } catch {
                if error == .ended {
                    let end = process.end(after: error)
                    fail(job, end?.verb ?? error.verb, isFromOutside: end?.isFromOutside ?? false)
                } else {
                    // Finish the job first: a process that waits for a dead disk cannot be killed.
                    fail(job, error.verb)
                    _ = process.end(after: error)
                }
                return workers.next(for: self)
            }
            left -= 1
            if left == 0 {
                // End the helper now rather than after the idle time.
                _ = process.end(after: nil)
                return workers.next(for: self)
            }
            next = workers.next(for: self)
        }
        _ = process.end(after: nil)
        return nil
    }

    /// - Parameter isFromOutside: whether the helper was ended from outside. That does not count against the image.
    private func fail(_ job: DecoderJob, _ failure: String, isFromOutside: Bool = false) {
        let sentence = "The decoder \(failure) while it decoded the image."
        let advice = " Another process ended it, or the system for lack of memory. Try again."
        let error: RenditionError = isFromOutside ? .unavailable(sentence + advice) : .decoderDied(sentence)
        job.finish(.failure(error))
    }
}
