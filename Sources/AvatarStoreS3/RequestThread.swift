import AvatarCore
import CAvatarCurl
import CAvatarSystem

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The requests of one tier, on the thread that owns libcurl's handles. Nothing of it is touched by another thread.
///
/// One round: take jobs, let libcurl work, deliver the responses, start waiting jobs, and wait if nothing is left to do.
final class RequestThread {
    /// A handle of libcurl and the job that it serves.
    private struct Slot {
        let request: OpaquePointer
        var job: RequestJob?
    }

    private let sender: RequestSender
    private let client: OpaquePointer
    private var slots: [Slot] = []
    /// The places of slots without a job.
    private var free: [Int] = []
    private var waiting: ArraySlice<RequestJob> = []
    /// When the last job was there.
    private var lastBusy = ContinuousClock.now

    /// libcurl since this version signs the port of the host and all header fields.
    private static let oldestVersion: UInt32 = 0x07_57_00

    // MARK: Start

    /// Starts a thread for `sender`. Returns 0 or an errno.
    static func start(_ sender: RequestSender) -> CInt {
        let context = Unmanaged.passRetained(sender)
        let error = avatar_start_thread(
            { context in
                guard let context else { return }
                RequestThread.run(Unmanaged<RequestSender>.fromOpaque(context).takeRetainedValue())
            },
            context.toOpaque()
        )
        if error != 0 { context.release() }
        return error
    }

    /// The error for a thread or client that cannot be made.
    static func failure(_ error: CInt) -> SharedTierError {
        SharedTierError(
            .unavailable,
            "The client of the shared tier cannot start: \(String(cString: strerror(error))). The next request tries again."
        )
    }

    private static func run(_ sender: RequestSender) {
        if let error = libraryError() { return sender.abandon(error) }
        guard let client = sender.settings.makeClient() else { return sender.abandon(failure(errno)) }
        sender.begin(client)
        RequestThread(sender, client).run()
    }

    private static func libraryError() -> SharedTierError? {
        let error = avatar_curl_initialise()
        guard error != AVATAR_NO_LIBCURL else {
            return SharedTierError(
                .invalidConfiguration,
                "libcurl cannot be loaded. Install it (on Debian the package libcurl4) and start the program again."
            )
        }
        guard error == 0 else { return failure(error) }
        let version = avatar_curl_version()
        guard version < oldestVersion else { return nil }
        let number = "\(version >> 16).\(version >> 8 & 255).\(version & 255)"
        return SharedTierError(
            .invalidConfiguration,
            "libcurl \(number) cannot sign requests for all S3 services. Install libcurl 7.87 or later."
        )
    }

    private init(_ sender: RequestSender, _ client: OpaquePointer) {
        self.sender = sender
        self.client = client
    }

    deinit {
        for slot in slots { avatar_request_free(slot.request) }
        avatar_client_free(client)
    }

    // MARK: The round

    private func run() {
        while true {
            let inbox = sender.take()
            waiting += inbox.jobs
            for job in inbox.cancelled { stop(job) }
            let hasStarted = startWaiting()
            guard !sender.isClosed, avatar_client_perform(client) else { return endAll() }
            let hasEnded = deliver()
            if hasStarted || hasEnded || !sender.mayWait() { continue }
            avatar_client_wait(client, 1000)
            if free.count < slots.count { lastBusy = .now }
            let idle = ContinuousClock.now - lastBusy
            if idle >= .seconds(RequestSettings.keptSeconds), waiting.isEmpty, sender.mayEnd() { return }
        }
    }

    /// Starts waiting jobs as far as slots are free. Returns whether it started one.
    private func startWaiting() -> Bool {
        var hasStarted = false
        while let job = waiting.first {
            guard job.isEnded || !free.isEmpty || addSlot() else { break }
            waiting.removeFirst()
            if job.isEnded { continue }
            let place = free.removeLast()
            if start(job.request, on: slots[place].request) {
                slots[place].job = job
                hasStarted = true
            } else {
                free.append(place)
                job.end(.success(WireResponse(end: AVATAR_END_MEMORY)))
            }
        }
        // A slice keeps the places of removed elements until it is replaced.
        if waiting.isEmpty { waiting = [] }
        return hasStarted
    }

    /// Makes another slot. Without memory for the first one, its job fails.
    private func addSlot() -> Bool {
        guard slots.count < sender.settings.connections else { return false }
        guard let request = avatar_request_new(client, CInt(slots.count)) else {
            if slots.isEmpty { waiting.first?.end(.success(WireResponse(end: AVATAR_END_MEMORY))) }
            return false
        }
        free.append(slots.count)
        slots.append(Slot(request: request))
        return true
    }

    private func start(_ content: WireRequest, on request: OpaquePointer) -> Bool {
        content.method.rawValue.withCString { method in
            content.url.withCString { url in
                content.fields.withUnsafeBufferPointer { fields in
                    content.body.withUnsafeBufferPointer { body in
                        var content = avatar_request_content(
                            method: method,
                            url: url,
                            fields: fields.baseAddress,
                            fields_size: fields.count,
                            body: body.baseAddress,
                            body_size: body.count,
                            body_limit: content.bodyLimit,
                            needs_connection: content.needsConnection
                        )
                        return avatar_request_start(request, &content)
                    }
                }
            }
        }
    }

    /// Delivers the responses of requests that have ended. Returns whether there was one.
    private func deliver() -> Bool {
        var hasEnded = false
        while let request = avatar_client_next_ended(client) {
            let place = Int(avatar_request_place(request))
            slots[place].job?.end(.success(WireResponse(of: request)))
            release(place)
            hasEnded = true
        }
        return hasEnded
    }

    /// Drops a cancelled job. One that waits is skipped when its turn comes.
    private func stop(_ job: RequestJob) {
        guard let place = slots.firstIndex(where: { $0.job === job }) else { return }
        avatar_request_stop(slots[place].request)
        release(place)
    }

    private func release(_ place: Int) {
        slots[place].job = nil
        free.append(place)
        lastBusy = .now
    }

    /// Ends all jobs, because the tier was released or libcurl is broken.
    private func endAll() {
        let error = RequestSender.ended
        sender.abandon(error)
        for job in waiting + slots.compactMap(\.job) { job.end(.failure(error)) }
    }
}
