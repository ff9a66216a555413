public import AvatarCore
import AvatarDigest

extension AvatarChange {
    /// Whether the change says that the contact `id` was erased (`Kind.erased`).
    ///
    /// Then drop all that you have of that contact, its earlier images included. An image that another contact uses stays.
    public func erases(contact id: String) -> Bool { erased?.isContact(id) ?? false }
}

extension ErasedContact {
    /// The contact `id`, hashed with `salt`: 32 hexadecimal digits.
    package init(_ id: String, salt: String) {
        self.init(salt: salt, sha256: Self.hash(id, salt: salt))
    }

    /// The contact `id`, hashed with a salt that no other one has.
    package init(_ id: String) {
        self.init(id, salt: Self.newSalt())
    }

    /// Whether this is the contact `id`.
    package func isContact(_ id: String) -> Bool { Self.hash(id, salt: salt) == sha256 }

    /// A salt that no other erasure has.
    package static func newSalt() -> String {
        var generator = SystemRandomNumberGenerator()
        return Hexadecimal.text((0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    /// The SHA-256 of the digits of `salt` followed by `text`, in hexadecimal digits.
    package static func hash(_ text: String, salt: String) -> String {
        Hexadecimal.text(SHA256.hash(salt.utf8 + Array(text.utf8)))
    }
}
