import AvatarCore

/// Reads numbers at any place of an image through a window, so that a small image costs one read of its source and
/// a large one never lies in memory as a whole.
///
/// Offsets and numbers are `Int64`: every 32-bit field of a file fits, and a 64-bit field that does not becomes the
/// largest number, which lies beyond the end of any file.
struct ByteReader {
    enum ByteOrder {
        case bigEndian
        case littleEndian
    }

    /// Read in one go where reading goes on, and on the first read.
    private static let windowByteCount: Int64 = 64 * 1024
    /// Read in one go after a jump: enough for a header, little enough for a file that makes us jump often.
    private static let jumpByteCount: Int64 = 4 * 1024

    let byteCount: Int64
    /// Of the numbers that are read from now on.
    var byteOrder = ByteOrder.bigEndian
    /// Named in messages.
    var format: ImageFormat?

    private let source: any ByteSource
    private var window: [UInt8] = []
    private var windowStart: Int64 = 0

    init(_ source: any ByteSource) {
        self.source = source
        byteCount = Int64(max(0, source.byteCount))
    }

    // MARK: Reading

    mutating func uint8(at offset: Int64) throws -> Int64 {
        try load(1, at: offset)
        return Int64(window[Int(offset - windowStart)])
    }

    mutating func uint16(at offset: Int64) throws -> Int64 {
        try integer(at: offset, byteCount: 2)
    }

    mutating func uint32(at offset: Int64) throws -> Int64 {
        try integer(at: offset, byteCount: 4)
    }

    mutating func int32(at offset: Int64) throws -> Int64 {
        Int64(Int32(truncatingIfNeeded: try integer(at: offset, byteCount: 4)))
    }

    /// The unsigned number in up to eight bytes at `offset`; 0 for no bytes.
    mutating func integer(at offset: Int64, byteCount count: Int) throws -> Int64 {
        try load(Int64(count), at: offset)
        let start = Int(offset - windowStart)
        var value: UInt64 = 0
        for index in 0..<count {
            value = value << 8 | UInt64(window[byteOrder == .bigEndian ? start + index : start + count - 1 - index])
        }
        return Int64(clamping: value)
    }

    /// The name at `offset`, whatever the byte order of the numbers is.
    mutating func name(at offset: Int64) throws -> FourCharacterCode {
        try load(4, at: offset)
        let start = Int(offset - windowStart)
        return FourCharacterCode(rawValue: window[start..<(start + 4)].reduce(0) { $0 << 8 | Int64($1) })
    }

    /// Whether `bytes`, which may not be longer than a jump reads, are at `offset`; false where the file ends first.
    mutating func has(_ bytes: some Collection<UInt8>, at offset: Int64) throws -> Bool {
        let count = Int64(bytes.count)
        guard count <= byteCount - offset else { return false }
        try load(count, at: offset)
        return window[Int(offset - windowStart)...].starts(with: bytes)
    }

    /// Where `byte` is next, at or behind `start` and before `end`; `nil` if it is not there.
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

    /// The first `count` bytes, or all if there are fewer.
    mutating func prefix(_ count: Int) throws -> [UInt8] {
        guard byteCount > 0 else { return [] }
        try load(1, at: 0)
        return Array(window.prefix(count))
    }

    // MARK: Refusing

    /// Refuses the image as cut short unless `count` bytes are there from `offset` on.
    func require(_ count: Int64, at offset: Int64) throws {
        guard count <= byteCount - offset else {
            throw truncated("its \(byteCount) bytes end before the picture does")
        }
    }

    func truncated(_ reason: String) -> ImageRejection {
        ImageRejection(kind: .truncated, message: "The \(formatName) is cut short: \(reason).")
    }

    func notImage(_ reason: String) -> ImageRejection {
        ImageRejection(kind: .notImage, message: "The bytes begin like a \(formatName) but are none: \(reason).")
    }

    private var formatName: String {
        format?.traits.map { "\($0.name) image" } ?? "image"
    }

    // MARK: The window

    /// Makes `window` hold the `count` bytes from `offset` on.
    private mutating func load(_ count: Int64, at offset: Int64) throws {
        let windowEnd = windowStart + Int64(window.count)
        guard offset < windowStart || offset > windowEnd || count > windowEnd - offset else { return }
        try require(count, at: offset)
        let goesOn = offset >= windowStart && offset - windowEnd < Self.jumpByteCount
        let wanted = max(count, goesOn ? Self.windowByteCount : Self.jumpByteCount)
        window = try source.bytes(at: Int(offset), count: Int(min(wanted, byteCount - offset)))
        windowStart = offset
        guard window.count >= count else { throw truncated("its source ended before its stated length") }
    }

    /// A loop over raw memory: this is where the time of a JPEG goes.
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

/// The four bytes that name a chunk or a box, for example `IHDR`.
struct FourCharacterCode: Hashable, ExpressibleByStringLiteral {
    let rawValue: Int64

    init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    init(stringLiteral value: String) {
        rawValue = value.utf8.reduce(0) { $0 << 8 | Int64($1) }
    }

    /// Whether all four are ASCII letters, as PNG wants it (ISO 15948, 5.3).
    var isLetters: Bool {
        [24, 16, 8, 0].allSatisfy { shift in
            let lowercase = UInt8(truncatingIfNeeded: rawValue >> shift) | 0x20
            return (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(lowercase)
        }
    }
}
