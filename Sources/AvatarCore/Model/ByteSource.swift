/// Random access to a sequence of bytes, such as a file that has just been written.
///
/// Image parsers read through it, so that a large file never has to be in memory as a whole.
package protocol ByteSource {
    /// The total number of bytes. It must not change while a parser reads.
    var byteCount: Int { get }

    /// Reads `count` bytes from `offset` on, and returns fewer only at the end of the source.
    ///
    /// - Throws: the error of the read, for example `SystemCallError` for a file.
    func bytes(at offset: Int, count: Int) throws -> [UInt8]
}

/// A byte source in memory.
package struct ByteArraySource: ByteSource {
    private let bytes: [UInt8]

    /// A source that serves `bytes`.
    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    package var byteCount: Int { bytes.count }

    package func bytes(at offset: Int, count: Int) -> [UInt8] {
        guard offset >= 0, offset < bytes.count, count > 0 else { return [] }
        return Array(bytes[offset..<(offset + min(count, bytes.count - offset))])
    }
}
