import CZlib

/// Undoes one content coding, gzip or deflate (RFC 9110 section 8.4.1), piece by piece with bounded memory.
final class Inflater {
    /// The name of the coding in the response.
    let coding: String

    /// zlib keeps a pointer to it, so it must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    /// Bytes received but not yet decoded.
    private var input: ArraySlice<UInt8> = []
    /// Whether zlib may have more to give without further input.
    private var isFull = false
    private var hasBegun = false
    /// Whether the coded body is complete.
    private(set) var isAtEnd = false

    /// The most bytes that `next` gives.
    private static let pieceBytes = 65_536

    /// An inflater for `coding`; `nil` for one that cannot be undone.
    init?(_ coding: String) {
        guard ["gzip", "x-gzip", "deflate"].contains(coding) else { return nil }
        self.coding = coding
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
    }

    deinit {
        if hasBegun { inflateEnd(stream) }
        stream.deallocate()
    }

    /// Adds coded bytes.
    func add(_ bytes: [UInt8]) {
        input = input.isEmpty ? bytes[...] : input + bytes
    }

    /// The next piece of what was coded; `nil` if more has to be added first.
    ///
    /// - Throws: `BadCoding`.
    func next() throws -> [UInt8]? {
        while !isAtEnd, isFull || !input.isEmpty {
            let piece = try inflate()
            if !piece.isEmpty { return piece }
        }
        return nil
    }

    /// The body is not coded as its origin says.
    struct BadCoding: Error {}

    /// The first bytes tell gzip, zlib and plain deflate apart: origins send all of them as `deflate`.
    private func begin() throws {
        let bytes = Array(input.prefix(2))
        let isZlib = bytes.count == 2 && bytes[0] & 0x0F == 8 && (Int(bytes[0]) << 8 | Int(bytes[1])) % 31 == 0
        let isPlain = coding == "deflate" && !isZlib && bytes != [0x1F, 0x8B]
        // 32 more: zlib finds out itself which of the two headers it is.
        let window = isPlain ? -MAX_WBITS : MAX_WBITS + 32
        let status = inflateInit2_(stream, window, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
        guard status == Z_OK else { throw BadCoding() }
        hasBegun = true
    }

    private func inflate() throws -> [UInt8] {
        if !hasBegun { try begin() }
        var status = Z_OK
        let available = input.count
        let piece = input.withUnsafeBufferPointer { source in
            [UInt8](unsafeUninitializedCapacity: Self.pieceBytes) { target, count in
                stream.pointee.next_in = UnsafeMutablePointer(mutating: source.baseAddress)
                stream.pointee.avail_in = UInt32(clamping: source.count)
                stream.pointee.next_out = target.baseAddress
                stream.pointee.avail_out = UInt32(Self.pieceBytes)
                status = CZlib.inflate(stream, Z_NO_FLUSH)
                count = Self.pieceBytes - Int(stream.pointee.avail_out)
            }
        }
        input = input.dropFirst(available - Int(stream.pointee.avail_in))
        isFull = stream.pointee.avail_out == 0
        switch status {
        case Z_OK, Z_BUF_ERROR: break
        case Z_STREAM_END: try endMember()
        default: throw BadCoding()
        }
        return piece
    }

    /// A gzip body may have several members (RFC 1952 section 2.2). Whatever else follows the end is left alone.
    private func endMember() throws {
        isFull = false
        guard input.first == 0x1F, coding != "deflate" else {
            isAtEnd = true
            return
        }
        guard inflateReset(stream) == Z_OK else { throw BadCoding() }
    }
}
