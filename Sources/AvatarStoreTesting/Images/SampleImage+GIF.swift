extension SampleImage {
    /// A GIF of 32 by 32 pixels of noise in 128 colours, about 1.5 kB long.
    ///
    /// - Parameter seed: What the colours and pixels are drawn from.
    public static func gif(seed: UInt64) -> [UInt8] {
        var noise = SplitMix64(seed: seed)
        var bytes = Array("GIF89a".utf8)
        bytes.appendLittleEndian(UInt16(gifSide))
        bytes.appendLittleEndian(UInt16(gifSide))
        bytes += [0b1111_0110, 0, 0]  // A global table of 2^(6 + 1) colours.
        bytes += noise.bytes(count: 128 * 3)
        bytes += [0x21, 0xFE, 16]
        bytes += hexadecimal(seed).utf8
        bytes += [0, 0x2C, 0, 0, 0, 0]
        bytes.appendLittleEndian(UInt16(gifSide))
        bytes.appendLittleEndian(UInt16(gifSide))
        bytes += [0, 7]
        appendCodes(noise.bytes(count: gifSide * gifSide).map { $0 & 0x7F }, to: &bytes)
        bytes.append(0x3B)
        return bytes
    }

    private static let gifSide = 32

    /// Appends `pixels` (below 128) as LZW codes that compress nothing (GIF89a, appendix F).
    ///
    /// Codes are 8 bits wide until the decoder's table is full at 256 entries. A clear code in front of each sub-block
    /// of 120 pixels keeps it from ever getting there, so one code is one byte.
    private static func appendCodes(_ pixels: [UInt8], to bytes: inout [UInt8]) {
        let clear: UInt8 = 128
        let endOfInformation: UInt8 = 129
        for start in stride(from: 0, to: pixels.count, by: 120) {
            let block = pixels[start..<min(start + 120, pixels.count)]
            bytes += [UInt8(block.count + 1), clear]
            bytes += block
        }
        bytes += [1, endOfInformation, 0]
    }
}
