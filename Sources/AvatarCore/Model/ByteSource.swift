/// Bytes that can be read at any place, such as a file that has just been written.
package protocol ByteSource {
    /// How many bytes there are. It must not change while the bytes are looked at.
    var byteCount: Int { get }

    /// The `count` bytes from `offset` on; fewer only where the bytes end.
    func bytes(at offset: Int, count: Int) throws -> [UInt8]
}

/// Bytes that are in memory already.
package struct ByteArraySource: ByteSource {
    private let bytes: [UInt8]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    package var byteCount: Int { bytes.count }

    package func bytes(at offset: Int, count: Int) -> [UInt8] {
        guard offset >= 0, offset < bytes.count, count > 0 else { return [] }
        return Array(bytes[offset..<(offset + min(count, bytes.count - offset))])
    }
}
