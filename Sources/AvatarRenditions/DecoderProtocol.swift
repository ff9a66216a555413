import AvatarCore
import AvatarProviders

/// The messages between this library and the helper. Integers are little-endian; the C side is in `CAvatarDecoder/Run.c`.
///
/// All bytes from the helper are untrusted: an image may have taken over its decoder.
enum DecoderProtocol {
    /// The version of the protocol and of the decoders. The helper must have the same.
    static let version: UInt32 = 1
    /// The length of the helper's first message in bytes.
    static let helloSize = 12
    /// The length of the head of a response in bytes. The file follows.
    static let answerSize = 64
    /// The limit on the length of a rendition in bytes, 8 MiB: more than any image of 512 by 512 pixels needs.
    static let mostBytes = 8 << 20
    /// The limit on the length of a ThumbHash in bytes.
    static let mostHashBytes = 25

    /// The state of the helper's sandbox, in its first message.
    enum Sandbox: UInt32 {
        case entered = 1
        case allowedToLack = 2
        case refused = 3
        case withoutDecoders = 4
    }

    /// Reads the first message: the version and the state of the sandbox. Returns `nil` for other bytes.
    static func hello(_ bytes: [UInt8]) -> (version: UInt32, sandbox: Sandbox?)? {
        guard bytes.count == helloSize, bytes.starts(with: "AVDC".utf8) else { return nil }
        return (integer(bytes, at: 4), Sandbox(rawValue: integer(bytes, at: 8)))
    }

    /// The request for `rendition`; `nil` for the format `original`, which the caller must resolve.
    static func request(_ rendition: Rendition) -> [UInt8]? {
        let format: UInt32
        switch rendition.format {
        case .jpeg: format = 1
        case .png: format = 2
        case .webp: format = 3
        case .original: return nil
        }
        var bytes = Array("AVRQ".utf8)
        for value in [UInt32(rendition.size), format, rendition.fit == .square ? 1 : 0] { append(value, to: &bytes) }
        let most = UInt64(rendition.maxBytes ?? 0)
        append(UInt32(truncatingIfNeeded: most), to: &bytes)
        append(UInt32(truncatingIfNeeded: most >> 32), to: &bytes)
        return bytes
    }

    /// The head of a response.
    struct Answer {
        var status: UInt32
        var width: Int
        var height: Int
        var thumbHash: [UInt8]
        /// The length of the file in bytes. If no file fits the limit, the length of the smallest one.
        var byteCount: Int

        /// Reads the head of a response. Returns `nil` for other bytes.
        init?(_ bytes: [UInt8]) {
            guard bytes.count == answerSize, bytes.starts(with: "AVAN".utf8) else { return nil }
            status = integer(bytes, at: 4)
            width = Int(integer(bytes, at: 8))
            height = Int(integer(bytes, at: 12))
            let hashSize = Int(integer(bytes, at: 20))
            byteCount = Int(integer(bytes, at: 24))
            guard hashSize <= mostHashBytes, byteCount <= mostBytes else { return nil }
            thumbHash = Array(bytes[32..<(32 + hashSize)])
        }

        /// The reason why the rendition was not made; `nil` if it was made.
        var refusal: RenditionError? {
            switch status {
            case 0: nil
            case 1:
                .cannotDecode("The format of the image is not supported. It must be JPEG, PNG, WebP or GIF.")
            case 2: .cannotDecode("The image is truncated.")
            case 3: .cannotDecode("The image is damaged.")
            case 4:
                .cannotDecode(
                    "The image has \(width) x \(height) pixels; the limits are 50 million pixels, and 65,500 on a side."
                )
            case 5:
                .cannotDecode(
                    "The decoder does not support this variant of the format, such as JPEG with 12 bits or arithmetic coding."
                )
            case 6: .cannotDecode("The file is larger than 64 MiB, the limit for decoding.")
            // Another process may use the memory, so the store tries again a few times.
            case 7:
                .decoderDied(
                    "The decoder has too little memory: it needs more than its limit of 640 MiB, or the system has no more."
                )
            case 8: .unavailable("The decoder cannot read the file of the image.")
            case 9: .tooManyBytes(byteCount)
            default: .decoderDied("The decoder sent the unknown status \(status).")
            }
        }
    }

    private static func append(_ value: UInt32, to bytes: inout [UInt8]) {
        for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: value >> UInt32(shift))) }
    }

    private static func integer(_ bytes: [UInt8], at offset: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(bytes[offset + $1]) << UInt32(8 * $1) }
    }
}
