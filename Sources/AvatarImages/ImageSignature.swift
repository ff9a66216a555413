/// Recognises the format of an image by its first bytes. SVG is text, so `XMLScanner` recognises it by its root
/// element.
enum ImageSignature {
    /// The result of comparing the first bytes of a file with all signatures.
    enum Verdict: Hashable {
        /// The bytes start with the signature of this format.
        case format(ImageFormat)
        /// The bytes are the start of a signature; more bytes are needed.
        case undecided
        /// The bytes match no signature. They may still be an SVG.
        case unknown
    }

    /// The number of bytes that suffice for every verdict.
    static let longestPrefix = 512

    /// Compares `prefix`, up to the first `longestPrefix` bytes of a file, with all signatures.
    static func verdict(on prefix: [UInt8]) -> Verdict {
        var verdict = Verdict.unknown
        for signature in table where zip(prefix, signature.bytes).allSatisfy({ $1 == nil || $0 == $1 }) {
            if prefix.count >= signature.bytes.count { return .format(signature.format) }
            verdict = .undecided
        }
        return verdict == .unknown ? MediaBrands.verdict(on: prefix) : verdict
    }

    /// The first bytes of a format. A format may have several signatures.
    private struct Signature {
        /// The format of a file that starts with `bytes`.
        let format: ImageFormat
        /// The expected bytes; `nil` matches any byte.
        let bytes: [UInt8?]
    }

    /// All signatures that stand at offset 0, except those of HEIF files, which `MediaBrands` recognises. A TIFF starts
    /// with its byte order and 42, a BigTIFF with 43 and the width of its offsets (8).
    private static let table: [Signature] =
        [
            Signature(format: .png, bytes: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]),
            Signature(format: .jpeg, bytes: [0xFF, 0xD8, 0xFF]),
            Signature(format: .gif, bytes: Array("GIF87a".utf8)),
            Signature(format: .gif, bytes: Array("GIF89a".utf8)),
            Signature(format: .webp, bytes: Array("RIFF".utf8) + [nil, nil, nil, nil] + Array("WEBP".utf8)),
            Signature(format: .ico, bytes: [0, 0, 1, 0]),
            Signature(format: .tiff, bytes: [0x49, 0x49, 42, 0]),
            Signature(format: .tiff, bytes: [0x4D, 0x4D, 0, 42]),
            Signature(format: .tiff, bytes: [0x49, 0x49, 43, 0, 8, 0, 0, 0]),
            Signature(format: .tiff, bytes: [0x4D, 0x4D, 0, 43, 0, 8, 0, 0]),
            Signature(format: .jpeg2000, bytes: [0, 0, 0, 12, 0x6A, 0x50, 0x20, 0x20, 0x0D, 0x0A, 0x87, 0x0A]),
            Signature(format: .jpeg2000, bytes: [0xFF, 0x4F, 0xFF, 0x51]),
        ] + BMPParser.headerSizes.map(bitmap)

    /// Many texts start with "BM", so the signature includes the size of the second header.
    private static func bitmap(headerSize: UInt8) -> Signature {
        let skipped = [UInt8?](repeating: nil, count: 12)
        return Signature(format: .bmp, bytes: Array("BM".utf8) + skipped + [headerSize, 0, 0, 0])
    }
}
