/// Helpers that build and modify image bytes.
extension [UInt8] {
    /// The bytes of `value`, most significant first.
    static func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
        Swift.withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }

    /// The bytes of `value`, least significant first.
    static func littleEndian(_ value: some FixedWidthInteger) -> [UInt8] {
        bigEndian(value).reversed()
    }

    /// A box of the ISO base media format with a 32-bit length.
    static func box(_ name: String, _ content: [UInt8] = []) -> [UInt8] {
        bigEndian(UInt32(8 + content.count)) + Array(name.utf8) + content
    }

    /// A copy in which `bytes` overwrite those at `offset`.
    func writing(_ bytes: [UInt8], at offset: Int) -> [UInt8] {
        var copy = self
        copy.replaceSubrange(offset..<(offset + bytes.count), with: bytes)
        return copy
    }

    /// A copy with `bytes` inserted at `offset`.
    func inserting(_ bytes: [UInt8], at offset: Int) -> [UInt8] {
        var copy = self
        copy.insert(contentsOf: bytes, at: offset)
        return copy
    }

    /// All offsets at which `bytes` occur.
    func offsets(of bytes: [UInt8]) -> [Int] {
        indices.filter { self[$0...].starts(with: bytes) }
    }

    /// The first offset of `text`; `nil` if it does not occur.
    func offset(of text: String) -> Int? {
        offsets(of: Array(text.utf8)).first
    }
}
