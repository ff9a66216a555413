/// Why bytes are not taken as an image.
public struct ImageRejection: Error, Hashable, Sendable, CustomStringConvertible {
    /// `notImage`, `truncated` or `tooManyPixels`.
    public let kind: FailureKind
    /// A full sentence for a person. It quotes nothing of the bytes.
    public let message: String

    package init(kind: FailureKind, message: String) {
        self.kind = kind
        self.message = message
    }

    /// The message.
    public var description: String { message }
}
