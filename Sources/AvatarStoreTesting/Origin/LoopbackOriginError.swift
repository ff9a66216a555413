/// Why a `LoopbackOrigin` could not start.
public struct LoopbackOriginError: Error, Sendable, CustomStringConvertible {
    /// A full sentence that names the address.
    public let message: String
    /// The error of the system, if it was the system that refused.
    public let underlying: (any Error)?

    init(_ message: String, underlying: (any Error)? = nil) {
        self.message = message
        self.underlying = underlying
    }

    /// The message, with the system's reason if there is one.
    public var description: String {
        guard let underlying else { return message }
        return "\(message) \(underlying)"
    }
}
