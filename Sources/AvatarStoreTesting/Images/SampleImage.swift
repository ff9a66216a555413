/// Makes real pictures for tests, demonstrations and measurements. Different seeds give different bytes, and the same
/// seed gives the same bytes on every machine.
///
/// Nothing is compressed, so the makers are fast and need no library: PNG and GIF both allow data that is only framed.
public enum SampleImage {
    /// A seed as the 16 hexadecimal digits that a PNG or GIF carries as a comment.
    static func hexadecimal(_ seed: UInt64) -> String {
        let digits = String(seed, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
