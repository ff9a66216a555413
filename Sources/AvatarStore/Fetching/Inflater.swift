import CZlib

/// Decodes one content coding, gzip or deflate (RFC 9110 section 8.4.1), in chunks and with bounded memory.
final class Inflater {
    /// The name of the coding in the response.
    let coding: String

    /// The state of zlib. zlib keeps a pointer to it, so it must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    /// Bytes received but not yet decoded.
    private var input: ArraySlice<UInt8> = []
    /// Whether the last call filled its output, so that zlib may have more output without further input.
    private var isFull = false
    /// Whether zlib was initialised.
    private var hasBegun = false
    /// Whether the coded body is complete.
    private(set) var isAtEnd = false

    /// The maximum number of bytes that `next` returns.
    private static let pieceBytes = 65_536

    /// An inflater for `coding`, a name in lower case; `nil` if it is neither gzip nor deflate.
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

    /// The next decoded bytes; `nil` at the end, or if more coded bytes have to be added first.
    ///
    /// - Throws: `BadCoding` if the bytes are not in the coding that the response names.
    func next() throws -> [UInt8]? {
        while !isAtEnd, isFull || !input.isEmpty {
            let piece = try inflate()
            if !piece.isEmpty { return piece }
        }
        return nil
    }

    /// The body is not in the coding that the response names.
    struct BadCoding: Error {}

    /// Initialises zlib. The first two bytes tell gzip (RFC 1952), zlib (RFC 1950) and raw deflate (RFC 1951) apart,
    /// because origins send all three as `deflate`.
    private func begin() throws {
        let bytes = Array(input.prefix(2))
        let isZlib = bytes.count == 2 && bytes[0] & 0x0F == 8 && (Int(bytes[0]) << 8 | Int(bytes[1])) % 31 == 0
        let isPlain = coding == "deflate" && !isZlib && bytes != [0x1F, 0x8B]
        // With 32 added, zlib detects itself whether the header is gzip's or its own. A negative value means no header.
        let window = isPlain ? -MAX_WBITS : MAX_WBITS + 32
        let status = inflateInit2_(stream, window, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
        guard status == Z_OK else { throw BadCoding() }
        hasBegun = true
    }

    /// Decodes as much of `input` as fits into one chunk.
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

    /// Continues with the next member of a gzip body (RFC 1952 section 2.2). Any other bytes after the end are ignored.
    private func endMember() throws {
        isFull = false
        guard input.first == 0x1F, coding != "deflate" else {
            isAtEnd = true
            return
        }
        guard inflateReset(stream) == Z_OK else { throw BadCoding() }
    }
}
