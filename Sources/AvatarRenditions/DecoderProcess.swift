import AvatarCore
import AvatarFoundation
import AvatarProviders
import CAvatarSystem

/// A running helper. Only the thread that started it uses it: on Linux the helper dies with that thread.
///
/// Every read and write has a deadline. After any error the process is useless and must be ended.
struct DecoderProcess: ~Copyable {
    /// The path of the program, for messages.
    private let path: String
    private let pid: Int32
    private let socket: Int32

    /// Starts the helper and waits for its first message.
    ///
    /// - Throws: `unavailable`.
    init(_ program: DecoderProgram, within time: Duration) throws(RenditionError) {
        let path = program.path
        self.path = path
        var pid: Int32 = 0
        var arguments = [strdup(path)]
        if program.allowsUnsandboxed { arguments.append(strdup("--allow-unsandboxed")) }
        defer { for argument in arguments { free(argument) } }
        socket = avatar_start_helper(path, arguments + [nil], &pid)
        self.pid = pid
        guard socket >= 0 else {
            let error = errno
            // A missing /dev/null or a missing loader fails like a missing program.
            guard error != ENOENT || access(path, F_OK) == 0 else { throw .unavailable(program.missing) }
            throw .unavailable("The decoder \"\(path)\" cannot be started: \(String(cString: strerror(error))).")
        }
        do {
            try checkHello(by: Deadline(wall: time))
        } catch {
            _ = end(after: nil)
            throw error
        }
    }

    /// Waits for the first message and checks it.
    private borrowing func checkHello(by deadline: Deadline) throws(RenditionError) {
        let hello: (version: UInt32, sandbox: DecoderProtocol.Sandbox?)?
        do {
            hello = DecoderProtocol.hello(try read(DecoderProtocol.helloSize, by: deadline))
        } catch {
            let advice =
                error == .ended
                ? "Run it to see why; a library that it needs may be missing." : "Install avatars-decoder there."
            throw .unavailable("The decoder \"\(path)\" \(error.verb) before its first message. \(advice)")
        }
        guard let hello else {
            throw .unavailable("\"\(path)\" is not a decoder of AvatarStore. Install avatars-decoder there.")
        }
        guard hello.version == DecoderProtocol.version, let sandbox = hello.sandbox else {
            throw .unavailable(
                "The decoder \"\(path)\" has version \(hello.version); this program needs version"
                    + " \(DecoderProtocol.version). Install both from the same release."
            )
        }
        switch sandbox {
        case .entered, .allowedToLack: return
        case .refused:
            throw .unavailable(
                "The decoder \"\(path)\" has no sandbox here, because the system or its container forbids seccomp filters."
                    + " To decode without a sandbox, set `allowsUnsandboxed` or pass --decode-without-sandbox."
            )
        case .withoutDecoders:
            throw .unavailable(
                "The decoder \"\(path)\" was built without the package trait \"Renditions\". Build it with the trait."
            )
        }
    }

    /// Sends the image of `job` and waits for the response. Returns `nil` if the job was cancelled before.
    ///
    /// - Throws: `ConversationError`.
    borrowing func exchange(_ job: DecoderJob, within time: Duration) throws(ConversationError) -> (
        DecoderProtocol.Answer, [UInt8]
    )? {
        let deadline = Deadline(wall: time * 4, processor: time, of: pid)
        let socket = socket
        let sent = job.whileWaiting { descriptor in
            avatar_send_descriptor(socket, job.request, job.request.count, descriptor)
        }
        guard let sent else { return nil }
        // The socket has room for the few bytes of a request, unless the helper does not read.
        guard sent == job.request.count else { throw sent < 0 && errno == EPIPE ? .ended : .silent }
        guard let answer = DecoderProtocol.Answer(try read(DecoderProtocol.answerSize, by: deadline)) else {
            throw .garbage
        }
        guard answer.status == 0 else { return (answer, []) }
        return (answer, try read(answer.byteCount, by: deadline))
    }

    /// Reads exactly `count` bytes.
    private borrowing func read(
        _ count: Int,
        by deadline: Deadline
    ) throws(ConversationError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var received = 0
        while received < count {
            let result = bytes.withUnsafeMutableBytes { buffer in
                recv(socket, buffer.baseAddress.map { $0 + received }, count - received, Int32(MSG_DONTWAIT))
            }
            if result > 0 {
                received += result
            } else if result == 0 || (errno != EAGAIN && errno != EINTR) {
                throw .ended
            } else {
                guard let wait = deadline.wait(of: pid) else { throw .silent }
                var ready = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
                poll(&ready, 1, wait)
            }
        }
        return bytes
    }

    /// The end of a helper that this process did not end.
    struct End {
        /// The end as the verb of a sentence.
        let verb: String
        /// Whether another process or the system ended the helper, so that the image is not to blame.
        let isFromOutside: Bool
    }

    /// The signals of a fault in the helper, and of its own limits. Any other signal was sent by another process, or by the system
    /// for lack of memory.
    private static let faults: Set<Int32> = [
        SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGXCPU, SIGXFSZ,
    ]

    /// Ends the helper, and returns how it had ended before; `nil` if it still ran.
    ///
    /// - Parameter error: the failure to respond; `nil` without one.
    consuming func end(after error: ConversationError?) -> End? {
        close(socket)
        // A dying process closes its descriptors before it can be waited for.
        let end = avatar_end_helper(pid, error == .ended ? 200 : 0)
        switch end {
        case Int32.min: return nil
        case -SIGSYS: return End(verb: "made a system call that its sandbox forbids", isFromOutside: false)
        case ..<0: return End(verb: "was ended by signal \(-end)", isFromOutside: !Self.faults.contains(-end))
        default: return End(verb: "ended with exit code \(end)", isFromOutside: false)
        }
    }
}

/// A deadline of a helper, by the clock and in processor time.
private struct Deadline {
    private let wall: SuspendingClock.Instant
    /// The limit on the helper's processor time since its start, in nanoseconds; `nil` for no limit.
    private let processor: Int64?

    init(wall time: Duration) {
        wall = .now + time
        processor = nil
    }

    init(wall time: Duration, processor: Duration, of pid: Int32) {
        wall = .now + time
        let used = avatar_helper_time(pid)
        self.processor = used < 0 ? nil : used + Int64(processor / .nanoseconds(1))
    }

    /// The milliseconds to wait until the next check; `nil` after the deadline.
    func wait(of pid: Int32) -> Int32? {
        let left = SuspendingClock.now.duration(to: wall)
        guard left > .zero else { return nil }
        guard let processor else { return Int32(left / .milliseconds(1)) + 1 }
        let unused = processor - avatar_helper_time(pid)
        guard unused > 0 else { return nil }
        // No helper uses its processor time faster than the clock.
        return Int32(min(left / .milliseconds(1), Double(unused) / 1_000_000)) + 1
    }
}

/// The way in which a helper failed to respond.
enum ConversationError: Error {
    /// It closed the socket.
    case ended
    /// It did not respond in time.
    case silent
    /// It sent bytes that break the protocol.
    case garbage

    /// The failure as the verb of a sentence.
    var verb: String {
        switch self {
        case .ended: "ended"
        case .silent: "did not respond in time"
        case .garbage: "sent bytes that break the protocol"
        }
    }
}
