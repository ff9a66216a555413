/// Small words for making and changing image bytes in tests.
extension [UInt8] {
    /// The bytes of `value` in big-endian order; turn them around for the other order.
    static func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
        Swift.withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }

    static func littleEndian(_ value: some FixedWidthInteger) -> [UInt8] {
        bigEndian(value).reversed()
    }

    /// A box of the ISO base media format.
    static func box(_ name: String, _ content: [UInt8] = []) -> [UInt8] {
        bigEndian(UInt32(8 + content.count)) + Array(name.utf8) + content
    }

    /// The bytes with `bytes` written over those at `offset`.
    func writing(_ bytes: [UInt8], at offset: Int) -> [UInt8] {
        var copy = self
        copy.replaceSubrange(offset..<(offset + bytes.count), with: bytes)
        return copy
    }

    func inserting(_ bytes: [UInt8], at offset: Int) -> [UInt8] {
        var copy = self
        copy.insert(contentsOf: bytes, at: offset)
        return copy
    }

    /// Where `bytes` are, each place.
    func offsets(of bytes: [UInt8]) -> [Int] {
        indices.filter { self[$0...].starts(with: bytes) }
    }

    /// Where `text` first is.
    func offset(of text: String) -> Int? {
        offsets(of: Array(text.utf8)).first
    }
}
