import Logging

/// The log of `--verbose` on standard error. What a host or a list says stands in it, so that it is made safe for a terminal.
struct TerminalLog: LogHandler {
    private var stream: StreamLogHandler

    init(label: String) {
        stream = StreamLogHandler.standardError(label: label)
    }

    var logLevel: Logger.Level {
        get { stream.logLevel }
        set { stream.logLevel = newValue }
    }

    var metadata: Logger.Metadata {
        get { stream.metadata }
        set { stream.metadata = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { stream[metadataKey: key] }
        set { stream[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) {
        var event = event
        event.message = "\(TerminalText.oneLine(event.message.description))"
        event.metadata = event.metadata?.mapValues { .string(TerminalText.oneLine("\($0)")) }
        stream.log(event: event)
    }
}
