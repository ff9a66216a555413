/// The id of an erased contact as the change feed and a receipt tell it: hashed with a salt of its own.
///
/// A reader that knows the id of a contact can tell whether it is the erased one. The feed has neither its name nor its images, and the
/// id cannot be read from the hash; but a reader that can guess ids can try them.
package struct ErasedContact: Hashable, Sendable {
    /// Random, for this erasure alone: 32 hexadecimal digits.
    package let salt: String
    /// The SHA-256 of the digits of `salt` followed by the id in UTF-8: 64 hexadecimal digits in lower case.
    package let sha256: String

    /// An id with this hash.
    package init(salt: String, sha256: String) {
        (self.salt, self.sha256) = (salt, sha256)
    }

    /// The key that the feed has in place of one. No image can have it, because of its first character.
    package static let keyPrefix = "\u{1}erased:"
}
