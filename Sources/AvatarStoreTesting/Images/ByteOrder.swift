extension [UInt8] {
    /// Appends the most significant byte first, as PNG and zlib do.
    mutating func appendBigEndian(_ value: UInt32) {
        for shift: UInt32 in [24, 16, 8, 0] {
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    /// Appends the least significant byte first, as deflate, GIF and BMP do.
    mutating func appendLittleEndian<Integer: FixedWidthInteger>(_ value: Integer) {
        var rest = value
        for _ in 0..<(Integer.bitWidth / 8) {
            append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
    }
}
