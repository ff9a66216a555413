import AvatarCore

/// Reads integers at any offset of an image through a buffered window. A small image costs one read of its source, and
/// a large one is never in memory as a whole.
///
/// Offsets and integers are `Int64`: every 32-bit field of a file fits. A 64-bit field that does not fit becomes
/// `Int64.max`, which lies beyond the end of any file and so fails the next bounds check.
struct ByteReader {
    /// The order in which a format stores the bytes of an integer.
    enum ByteOrder {
        /// Most significant byte first: PNG, JPEG, ISO media files.
        case bigEndian
        /// Least significant byte first: GIF, WebP, BMP, ICO.
        case littleEndian
    }

    /// Bytes fetched by the first read, and by a read that continues the previous one.
    private static let windowByteCount: Int64 = 64 * 1024
    /// Bytes fetched after a jump: enough for a header, yet cheap for a file with many jumps.
    private static let jumpByteCount: Int64 = 4 * 1024

    /// The length of the source in bytes.
    let byteCount: Int64
    /// The byte order of the integers read from now on. Parsers set it before their first read.
    var byteOrder = ByteOrder.bigEndian
    /// The format to name in messages; `nil` until the inspector has recognised it.
    var format: ImageFormat?

    /// The bytes of the image: a staged file, a stored file or an array.
    private let source: any ByteSource
    /// The bytes read last, from `windowStart` on.
    private var window: [UInt8] = []
    /// The offset of the first byte of `window` in the source.
    private var windowStart: Int64 = 0

    /// A reader of `source` that has read nothing yet.
    init(_ source: any ByteSource) {
        self.source = source
        byteCount = Int64(max(0, source.byteCount))
    }

    // MARK: Reading

    // Each of these throws an `ImageRejection` of kind `truncated` if the source ends first.

    /// The unsigned byte at `offset`.
    mutating func uint8(at offset: Int64) throws -> Int64 {
        try load(1, at: offset)
        return Int64(window[Int(offset - windowStart)])
    }

    /// The unsigned 16-bit integer at `offset`.
    mutating func uint16(at offset: Int64) throws -> Int64 {
        try integer(at: offset, byteCount: 2)
    }

    /// The unsigned 32-bit integer at `offset`.
    mutating func uint32(at offset: Int64) throws -> Int64 {
        try integer(at: offset, byteCount: 4)
    }

    /// The signed 32-bit integer at `offset`.
    mutating func int32(at offset: Int64) throws -> Int64 {
        Int64(Int32(truncatingIfNeeded: try integer(at: offset, byteCount: 4)))
    }

    /// The unsigned integer of 0 to 8 bytes at `offset`. Zero bytes read as 0.
    mutating func integer(at offset: Int64, byteCount count: Int) throws -> Int64 {
        try load(Int64(count), at: offset)
        let start = Int(offset - windowStart)
        var value: UInt64 = 0
        for index in 0..<count {
            value = value << 8 | UInt64(window[byteOrder == .bigEndian ? start + index : start + count - 1 - index])
        }
        return Int64(clamping: value)
    }

    /// The four-character code at `offset`. `byteOrder` does not apply to it.
    mutating func name(at offset: Int64) throws -> FourCharacterCode {
        try load(4, at: offset)
        let start = Int(offset - windowStart)
        return FourCharacterCode(rawValue: window[start..<(start + 4)].reduce(0) { $0 << 8 | Int64($1) })
    }

    /// Whether the file has `bytes` at `offset`; false if the file ends first. `bytes` must be short, like a signature.
    mutating func has(_ bytes: some Collection<UInt8>, at offset: Int64) throws -> Bool {
        let count = Int64(bytes.count)
        guard count <= byteCount - offset else { return false }
        try load(count, at: offset)
        return window[Int(offset - windowStart)...].starts(with: bytes)
    }

    /// The first offset of `byte` in `start..<end`, or `nil`. By default the search runs to the end of the file.
    ///
    /// The search reads one window after another, so it costs memory for one window only.
    mutating func offset(of byte: UInt8, from start: Int64, to end: Int64? = nil) throws -> Int64? {
        let end = min(end ?? byteCount, byteCount)
        var offset = start
        while offset < end {
            try load(1, at: offset)
            let first = Int(offset - windowStart)
            let last = Int(min(end - windowStart, Int64(window.count)))
            if let found = Self.index(of: byte, in: window, from: first, to: last) {
                return windowStart + Int64(found)
            }
            offset = windowStart + Int64(last)
        }
        return nil
    }

    /// The `count` bytes at `offset`, which must be few, like those of a header.
    mutating func bytes(_ count: Int64, at offset: Int64) throws -> [UInt8] {
        try load(count, at: offset)
        let start = Int(offset - windowStart)
        return Array(window[start..<(start + Int(count))])
    }

    /// The first `count` bytes, or the whole file if it is shorter.
    mutating func prefix(_ count: Int) throws -> [UInt8] {
        guard byteCount > 0 else { return [] }
        try load(1, at: 0)
        return Array(window.prefix(count))
    }

    // MARK: Refusing

    /// Throws an `ImageRejection` of kind `truncated` unless the file holds `count` bytes from `offset` on.
    func require(_ count: Int64, at offset: Int64) throws {
        guard count <= byteCount - offset else {
            throw truncated("it ends after \(byteCount) bytes, before the end of its image")
        }
    }

    /// The error for a file that ends too early. `reason` is a clause such as "its end marker is missing".
    func truncated(_ reason: String) -> ImageRejection {
        ImageRejection(kind: .truncated, message: "The \(formatName) is truncated: \(reason).")
    }

    /// The error for a file that breaks the rules of its format. `reason` is a clause such as "it has no image data".
    func notImage(_ reason: String) -> ImageRejection {
        ImageRejection(kind: .notImage, message: "The \(formatName) is invalid: \(reason).")
    }

    /// The subject of a message, such as "PNG image"; "image" before the format is known.
    private var formatName: String {
        format?.traits.map { "\($0.name) image" } ?? "image"
    }

    // MARK: The window

    /// Moves `window` so that it holds the `count` bytes from `offset` on. It does nothing if they are already there.
    ///
    /// A read that continues the window fetches 64 KiB, any other 4 KiB. So a walk over many short chunks costs few
    /// reads, and a jump over a long one reads little.
    ///
    /// - Throws: `ImageRejection` of kind `truncated` if the source ends first or returns too few bytes; any error that
    ///   the source throws.
    private mutating func load(_ count: Int64, at offset: Int64) throws {
        let windowEnd = windowStart + Int64(window.count)
        guard offset < windowStart || offset > windowEnd || count > windowEnd - offset else { return }
        try require(count, at: offset)
        let goesOn = offset >= windowStart && offset - windowEnd < Self.jumpByteCount
        let wanted = max(count, goesOn ? Self.windowByteCount : Self.jumpByteCount)
        window = try source.bytes(at: Int(offset), count: Int(min(wanted, byteCount - offset)))
        windowStart = offset
        guard window.count >= count else { throw truncated("the source returned fewer bytes than it has") }
    }

    /// A loop over raw memory, because searching for markers dominates the time to check a JPEG.
    private static func index(of byte: UInt8, in bytes: [UInt8], from start: Int, to end: Int) -> Int? {
        bytes.withUnsafeBufferPointer { buffer in
            var index = start
            while index < end {
                if buffer[index] == byte { return index }
                index += 1
            }
            return nil
        }
    }
}

/// The four-byte name of a chunk or box, for example `IHDR`.
struct FourCharacterCode: Hashable, ExpressibleByStringLiteral {
    /// The four bytes as a big-endian integer.
    let rawValue: Int64

    /// A code from four bytes that were read as one big-endian integer.
    init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// A code as it stands in the source. The literal must have four ASCII characters, such as `"jP "`.
    init(stringLiteral value: StaticString) {
        rawValue = value.withUTF8Buffer { $0.reduce(0) { $0 << 8 | Int64($1) } }
    }

    /// Whether the first byte is a letter in lower case: the mark of a chunk that PNG decoders may pass over.
    var isAncillary: Bool { rawValue >> 24 & 0x20 != 0 }

    /// Whether all four bytes are ASCII letters, as PNG requires (ISO 15948, 5.3).
    var isLetters: Bool {
        [24, 16, 8, 0].allSatisfy { shift in
            let lowercase = UInt8(truncatingIfNeeded: rawValue >> shift) | 0x20
            return (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(lowercase)
        }
    }
}
