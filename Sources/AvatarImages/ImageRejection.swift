package import AvatarCore

/// The reason why the inspector refuses a file.
package struct ImageRejection: Error, Hashable, Sendable, CustomStringConvertible {
    /// `notImage`, `truncated` or `tooManyPixels`.
    package let kind: FailureKind
    /// A full sentence for users. It quotes no text of the file, which may be hostile.
    package let message: String

    /// A rejection of `kind`, explained by `message`.
    package init(kind: FailureKind, message: String) {
        self.kind = kind
        self.message = message
    }

    /// The message.
    package var description: String { message }
}
