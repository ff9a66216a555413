import AvatarCore

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The bytes of an open file, read at any place without moving its position.
package struct FileSource: ByteSource {
    let descriptor: Int32
    package let byteCount: Int
    private let path: String

    init(_ descriptor: Int32, byteCount: Int, path: String) {
        self.descriptor = descriptor
        self.byteCount = byteCount
        self.path = path
    }

    package func bytes(at offset: Int, count: Int) throws -> [UInt8] {
        var failure: SystemCallError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let read = pread(descriptor, buffer.baseAddress, count, off_t(offset))
            if read < 0 { failure = SystemCallError("read", path) }
            initialized = max(0, read)
        }
        if let failure { throw failure.storeError }
        return bytes
    }
}
