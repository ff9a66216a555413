/// Bytes that can be read at any place, such as a file that has just been written.
package protocol ByteSource {
    /// How many bytes there are. It must not change while the bytes are looked at.
    var byteCount: Int { get }

    /// The `count` bytes from `offset` on; fewer only where the bytes end.
    func bytes(at offset: Int, count: Int) throws -> [UInt8]
}
