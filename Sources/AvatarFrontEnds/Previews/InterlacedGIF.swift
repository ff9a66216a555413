import AvatarStore

/// Walks the blocks of a GIF up to its first picture, and watches its data grow if it is interlaced. The first pass
/// holds an eighth of the rows.
struct InterlacedGIF {
    /// Whether it comes from top to bottom.
    private(set) var isPlain = false
    /// The next block, or the next part of one, to look at.
    private var position: Int
    private var isInData = false
    private var isInExtension = false
    private var doubling = Doubling(first: 128)

    init(_ head: [UInt8]) {
        let flags = head[10]
        position = 13 + Self.colourTable(flags)
    }

    private static func colourTable(_ flags: UInt8) -> Int {
        flags & 0x80 == 0 ? 0 : 3 << (Int(flags & 7) + 1)
    }

    /// The length up to the end of the last whole part of the data, if there is enough more of it.
    mutating func advance(_ source: any ByteSource, total: Int?) throws -> Int? {
        while !isPlain, try step(source) {}
        guard isInData, !isPlain else { return nil }
        return doubling.reached(position, of: total, parts: 6) ? position : nil
    }

    /// False if nothing more can be known now.
    private mutating func step(_ source: any ByteSource) throws -> Bool {
        guard position < source.byteCount, let first = try source.bytes(at: position, count: 1).first else {
            return false
        }
        if isInData || isInExtension { return skipPart(of: Int(first), source) }
        switch first {
        case 0x21:
            guard position + 2 <= source.byteCount else { return false }
            position += 2
            isInExtension = true
        case 0x2C:
            guard position + 11 <= source.byteCount else { return false }
            let flags = try source.bytes(at: position + 9, count: 1)
            guard let flags = flags.first, flags & 0x40 != 0 else { return stop() }
            let data = position + 11 + Self.colourTable(flags)
            guard data <= source.byteCount else { return false }
            position = data
            isInData = true
        default:
            return stop()
        }
        return true
    }

    private mutating func skipPart(of length: Int, _ source: any ByteSource) -> Bool {
        if length == 0 {
            // The end of the picture, or of an extension in front of it.
            if isInData { return stop() }
            position += 1
            isInExtension = false
            return true
        }
        guard position + 1 + length <= source.byteCount else { return false }
        position += 1 + length
        return true
    }

    private mutating func stop() -> Bool {
        isPlain = true
        return false
    }
}
