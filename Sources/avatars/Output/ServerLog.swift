import AvatarFoundation
import Logging

/// Prints warnings and errors of the server as messages of the program. A message that repeats within a minute is left out:
/// a store that cannot be read would print it for each request.
struct ServerLog: LogHandler {
    private static let quietTime = Duration.seconds(60)
    /// The number of messages that are remembered.
    private static let mostMessages = 100

    var logLevel = Logger.Level.warning
    var metadata = Logger.Metadata()

    private let printed = Printed()

    /// A logger that prints with this handler.
    static var logger: Logger { Logger(label: "avatars") { _ in ServerLog() } }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let details = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.value)" }
        let text = (["\(event.message)"] + details).joined(separator: " ")
            .replacing("\n", with: "; ")
        guard printed.isDue(text) else { return }
        if event.level == .warning { Message.warning(text) } else { Message.error(text) }
    }

    /// The messages printed last.
    private final class Printed: Sendable {
        private let times = Locked<[String: ContinuousClock.Instant]>([:])

        /// Whether `text` was not printed for a minute; notes that it is printed now.
        func isDue(_ text: String) -> Bool {
            let now = ContinuousClock.now
            return times.withLock { times in
                if let last = times[text], now - last < ServerLog.quietTime { return false }
                if times.count >= ServerLog.mostMessages { times.removeAll() }
                times[text] = now
                return true
            }
        }
    }
}
