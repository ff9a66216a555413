/// The id of an erased contact as the change feed and a receipt tell it: hashed with a salt of its own.
///
/// Who knows the id of a contact can tell whether it is the erased one; the feed tells its name, its images and its id to no one. An
/// id that can be guessed can be found by trying.
public struct ErasedContact: Hashable, Sendable {
    /// Random, for this erasure alone: 32 hexadecimal digits.
    public let salt: String
    /// The SHA-256 of the digits of `salt` followed by the id in UTF-8: 64 hexadecimal digits in lower case.
    public let sha256: String

    /// An id with this hash.
    package init(salt: String, sha256: String) {
        (self.salt, self.sha256) = (salt, sha256)
    }

    /// The key that the feed has in place of one. No image can have it, because of its first character.
    package static let keyPrefix = "\u{1}erased:"
}
