import AvatarCore

/// 128 bits of a key, for telling in 16 bytes whether a list named it before.
///
/// Two keys with one fingerprint would leave one of the two images for the next sync (with a million keys, once in 10²⁶
/// lists); no image is ever found by it.
struct KeyFingerprint: Hashable {
    private let first: Int
    private let second: Int

    init(_ text: String) {
        // The hasher is seeded anew in each process, so nobody can prepare two keys that meet.
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
