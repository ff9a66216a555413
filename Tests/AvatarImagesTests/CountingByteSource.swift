import AvatarCore

/// A byte source that counts the reads and the bytes read.
final class CountingByteSource: ByteSource {
    private let bytes: [UInt8]
    private(set) var reads = 0
    private(set) var bytesRead = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var byteCount: Int { bytes.count }

    func bytes(at offset: Int, count: Int) -> [UInt8] {
        reads += 1
        let result = ByteArraySource(bytes).bytes(at: offset, count: count)
        bytesRead += result.count
        return result
    }
}
