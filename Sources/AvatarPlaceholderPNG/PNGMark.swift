#if PlaceholderPNG
/// Says inside the file that it is a placeholder: a `tEXt` chunk behind the header (PNG, third edition, section 11.3.3.3).
enum PNGMark {
    /// The signature, and the chunk `IHDR`, which has one length.
    private static let headerLength = 8 + 25

    static func marked(_ png: [UInt8]) -> [UInt8] {
        png.prefix(headerLength) + chunk("tEXt", Array("Placeholder\0true".utf8)) + png.dropFirst(headerLength)
    }

    private static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
        let content = Array(type.utf8) + data
        return bytes(UInt32(data.count)) + content + bytes(checksum(content))
    }

    private static func bytes(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    /// CRC-32 as PNG has it (annex D).
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(UInt32.max) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in sum & 1 == 1 ? 0xEDB8_8320 ^ (sum >> 1) : sum >> 1 }
        }
    }
}
#endif
