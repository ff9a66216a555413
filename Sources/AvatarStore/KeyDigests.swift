import AvatarCore
import AvatarDigest
import AvatarIndex

/// Digests of whole keys, which tell apart two keys that look the same without their queries.
///
/// They are keyed by the id of the store, so that a reader cannot test guesses of a query, and the digests of two stores cannot be
/// compared. A backup keeps the id and so the digests.
package struct KeyDigests: Sendable {
    private static let digestBytes = 16
    private let secret: [UInt8]

    fileprivate init(storeID: String) {
        secret = Array("avatars key digest ".utf8) + Array(storeID.utf8)
    }

    /// The digest of `key`: 32 hexadecimal digits.
    package subscript(key: AvatarKey) -> String {
        let code = SHA256.authenticationCode(of: key.rawValue.utf8, key: secret)
        return Hexadecimal.text(code.prefix(Self.digestBytes))
    }
}

extension AvatarStore {
    /// The digests of keys in this store.
    ///
    /// - Throws: `damagedIndex` if the index has lost the id of the store; an error of the index.
    package func keyDigests() throws -> KeyDigests {
        KeyDigests(storeID: try parts.index.storeID())
    }
}
