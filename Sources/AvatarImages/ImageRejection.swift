package import AvatarCore

/// Why bytes are not taken as an image.
package struct ImageRejection: Error, Hashable, Sendable, CustomStringConvertible {
    /// `notImage`, `truncated` or `tooManyPixels`.
    package let kind: FailureKind
    /// A full sentence for a person. It quotes nothing of the bytes.
    package let message: String

    package init(kind: FailureKind, message: String) {
        self.kind = kind
        self.message = message
    }

    /// The message.
    package var description: String { message }
}
