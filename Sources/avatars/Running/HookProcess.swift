import AvatarStore
import CAvatarSystem
import AvatarFoundation

/// A running command line of `/bin/sh` that reads lines from this program. It has a process group of its own.
struct HookProcess: ~Copyable {
    /// The end of a command.
    struct End: Sendable {
        /// The exit code; 128 and the number of the signal that ended the command, as in shells.
        var exit: Int32
        /// The last line of its output that is not empty, cut to 500 bytes; `nil` without one.
        var lastLine: String?
        /// Whether it was ended here because it took too long.
        var isTimedOut: Bool
        /// Whether it was ended here because the program is to end.
        var isCancelled: Bool
        var duration: Duration
    }

    /// The time between SIGTERM and SIGKILL. Shorter than the five seconds within which a server ends.
    private static let grace = Duration.seconds(2)

    private let pid: Int32
    /// Where the command reads from; `nil` once it is closed.
    private var input: Int32?
    /// The output of the command; `nil` after its end.
    private var output: Int32?
    private var lines = LastLine()
    private let start = ContinuousClock.now

    /// Starts `command` with `environment`.
    ///
    /// - Throws: `storage` if the system cannot start a shell.
    init(_ command: String, _ environment: [String: String]) throws {
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") }
        defer { for variable in variables { free(variable) } }
        variables.append(nil)
        var (input, output): (Int32, Int32) = (-1, -1)
        pid = avatar_start_shell(command, variables, &input, &output)
        guard pid > 0 else {
            throw AvatarStoreError(.storage, "Cannot start /bin/sh: \(String(cString: strerror(errno))).")
        }
        (self.input, self.output) = (input, output)
    }

    deinit {
        if let input { close(input) }
        if let output { close(output) }
    }

    /// Writes the pieces that `next` returns to the command, until `next` returns `nil` or the command reads no more; reads its
    /// output; and waits for its end. Ends it after `time`, or once `isCancelled` returns true.
    ///
    /// - Throws: the error of `next`, after the command was ended.
    consuming func run(
        within time: Duration,
        isCancelled: () -> Bool,
        _ next: () throws -> [UInt8]?
    ) throws -> End {
        var piece: ArraySlice<UInt8> = []
        var reason: (isTimedOut: Bool, isCancelled: Bool) = (false, false)
        while avatar_has_ended(pid) == 0 {
            reason = (.now >= start + time, isCancelled())
            if reason.isTimedOut || reason.isCancelled { break }
            do {
                if input != nil, piece.isEmpty { piece = try next().map { $0[...] } ?? closeInput() }
            } catch {
                endGroup()
                _ = avatar_end_helper(pid, 0)
                throw error
            }
            wait(writing: !piece.isEmpty)
            read()
            write(&piece)
        }
        if reason.isTimedOut || reason.isCancelled { endGroup() }
        read()
        let status = avatar_end_helper(pid, 0)
        return End(
            // Killed by this program: after `endGroup` only if the grace was over.
            exit: status == .min ? 128 + SIGKILL : status < 0 ? 128 - status : status,
            lastLine: lines.text,
            isTimedOut: reason.isTimedOut,
            isCancelled: reason.isCancelled,
            duration: start.duration(to: .now)
        )
    }

    /// Asks the process group to end, and kills what is left of it after a grace period. Reads the output meanwhile, because a full
    /// pipe would keep the command from ending.
    private mutating func endGroup() {
        _ = closeInput()
        kill(-pid, SIGTERM)
        let end = ContinuousClock.now + Self.grace
        while avatar_has_ended(pid) == 0, .now < end {
            wait(writing: false)
            read()
        }
        // The id of the group stays taken until the shell is waited for.
        kill(-pid, SIGKILL)
    }

    private mutating func closeInput() -> ArraySlice<UInt8> {
        if let input { close(input) }
        input = nil
        return []
    }

    /// Waits until the command reads or writes, but not long: its end wakes nothing if another process has its output.
    private func wait(writing: Bool) {
        var descriptors: [pollfd] = []
        if let output { descriptors.append(pollfd(fd: output, events: Int16(POLLIN), revents: 0)) }
        if let input, writing { descriptors.append(pollfd(fd: input, events: Int16(POLLOUT), revents: 0)) }
        poll(&descriptors, nfds_t(descriptors.count), output == nil ? 2 : 20)
    }

    /// Reads the output that is there, up to 1 MiB.
    private mutating func read() {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        for _ in 0..<16 {
            guard let output else { return }
            let count = AvatarFoundation.read(output, &buffer, buffer.count)
            if count > 0 {
                lines.append(buffer[..<count])
            } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
                close(output)
                self.output = nil
            } else {
                return
            }
        }
    }

    /// Writes as much of `piece` as the command takes. A command that reads no more gets no more.
    private mutating func write(_ piece: inout ArraySlice<UInt8>) {
        guard let input, !piece.isEmpty else { return }
        let count = piece.withUnsafeBytes { AvatarFoundation.write(input, $0.baseAddress, $0.count) }
        if count > 0 {
            piece = piece.dropFirst(count)
        } else if count < 0, errno != EAGAIN, errno != EINTR {
            // The program ignores SIGPIPE.
            piece = closeInput()
        }
    }
}

/// The last line of a text that is not empty.
private struct LastLine {
    private static let limit = 500
    private var last: [UInt8] = []
    /// The begin of the line that has no end yet.
    private var current: [UInt8] = []

    /// Adds bytes to the text.
    mutating func append(_ bytes: ArraySlice<UInt8>) {
        for (number, part) in bytes.split(separator: 10, omittingEmptySubsequences: false).enumerated() {
            if number > 0 { endLine() }
            current += part.prefix(Self.limit - current.count)
        }
    }

    private mutating func endLine() {
        if !Self.isBlank(current) { last = current }
        current = []
    }

    /// The line; `nil` if the text has none.
    var text: String? {
        let line = Self.isBlank(current) ? last : current
        let text = String(decoding: line, as: UTF8.self).withoutWhiteSpace
        return text.isEmpty ? nil : text
    }

    private static func isBlank(_ line: [UInt8]) -> Bool { line.allSatisfy { $0 == 32 || $0 == 9 || $0 == 13 } }
}
