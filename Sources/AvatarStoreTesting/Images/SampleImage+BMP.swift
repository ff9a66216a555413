extension SampleImage {
    /// A BMP of 16 by 16 pixels of noise, 24 bits each, 822 bytes long.
    ///
    /// - Parameter seed: What the pixels are drawn from.
    public static func bmp(seed: UInt64) -> [UInt8] {
        let side = 16
        let headerLength = 54
        var noise = SplitMix64(seed: seed)
        let pixels = noise.bytes(count: side * side * 3)  // A row is 48 bytes, already a multiple of four.
        var bytes = Array("BM".utf8)
        bytes.appendLittleEndian(UInt32(headerLength + pixels.count))
        bytes.appendLittleEndian(UInt32(0))
        bytes.appendLittleEndian(UInt32(headerLength))
        bytes.appendLittleEndian(UInt32(40))
        bytes.appendLittleEndian(Int32(side))
        bytes.appendLittleEndian(Int32(side))
        bytes.appendLittleEndian(UInt16(1))
        bytes.appendLittleEndian(UInt16(24))
        bytes.appendLittleEndian(UInt32(0))
        bytes.appendLittleEndian(UInt32(pixels.count))
        bytes.appendLittleEndian(Int32(2835))  // 72 dots per inch, in dots per metre.
        bytes.appendLittleEndian(Int32(2835))
        bytes.appendLittleEndian(UInt32(0))
        bytes.appendLittleEndian(UInt32(0))
        return bytes + pixels
    }
}
