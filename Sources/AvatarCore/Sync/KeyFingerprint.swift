/// 128 bits of a text, which stand in for it in a table of contacts or requests. `FingerprintSet` is for whole lists.
///
/// Two keys with one fingerprint would leave one of the two images to the next sync. With a million keys that happens once
/// in 10²⁶ lists. No image is ever looked up by a fingerprint.
package struct KeyFingerprint: Hashable, Sendable {
    private let first: Int
    private let second: Int

    /// The fingerprint of the bytes of `text`. It differs from process to process.
    package init(_ text: String) {
        // Each process seeds the hasher, so a list cannot be written to make two keys collide.
        first = Self.hash(text, salt: 1)
        second = Self.hash(text, salt: 2)
    }

    private static func hash(_ text: String, salt: UInt8) -> Int {
        var hasher = Hasher()
        hasher.combine(salt)
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        return hasher.finalize()
    }
}
