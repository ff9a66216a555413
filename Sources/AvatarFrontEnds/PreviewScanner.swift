import AvatarStore

/// Finds out, while an image arrives, which of its beginnings can be drawn as a coarser picture of the whole: after each
/// scan of a progressive JPEG, and each time an interlaced PNG or GIF has twice as much as before.
///
/// Only what is new is looked at. Of an image in another format, or one that comes from top to bottom, nothing is read
/// beyond its head.
struct PreviewScanner: Sendable {
    private enum Format {
        case unknown
        case jpeg(JPEGScans)
        case png(InterlacedPNG)
        case gif(InterlacedGIF)
        /// There are no previews.
        case plain
    }

    private var format = Format.unknown

    /// Looks at what has come, and gives the length of the longest beginning that can be drawn, if it is longer than
    /// the last one that was given.
    ///
    /// - Parameter total: the bytes of the whole image, if they are known. The whole is no preview.
    mutating func advance(_ source: any ByteSource, total: Int?) throws -> Int? {
        if case .unknown = format { format = try Self.format(of: source) }
        let length: Int?
        switch format {
        case .unknown, .plain:
            return nil
        case .jpeg(var scans):
            length = try scans.advance(source)
            format = scans.isPlain ? .plain : .jpeg(scans)
        case .png(var picture):
            length = try picture.advance(source, total: total)
            format = .png(picture)
        case .gif(var picture):
            length = try picture.advance(source, total: total)
            format = picture.isPlain ? .plain : .gif(picture)
        }
        return length
    }

    /// Unknown as long as the head is not there.
    private static func format(of source: any ByteSource) throws -> Format {
        guard source.byteCount >= 33 else { return .unknown }
        let head = try source.bytes(at: 0, count: 33)
        if head.starts(with: [0xFF, 0xD8, 0xFF]) { return .jpeg(JPEGScans()) }
        if head.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            // The last byte of IHDR: Adam7.
            return head[28] == 1 ? .png(InterlacedPNG()) : .plain
        }
        if head.starts(with: Array("GIF8".utf8)) { return .gif(InterlacedGIF(head)) }
        return .plain
    }
}

/// Tells when an interlaced picture has twice as much data as at the last preview, which is when its next pass is about
/// to be complete: each pass holds as many pixels as all before it.
private struct Doubling {
    private var next: Int

    /// - Parameter first: the data that the first preview needs at least.
    init(first: Int) {
        next = first
    }

    /// Whether `count` bytes of data are enough for another preview.
    mutating func reached(_ count: Int, of total: Int?, parts: Int) -> Bool {
        let least = max(next, (total ?? 0) / parts)
        guard count >= least else { return false }
        next = count * 2
        return true
    }
}

/// Walks the markers of a JPEG (ITU-T T.81, annex B) as it arrives. A progressive one can be drawn after each scan.
private struct JPEGScans {
    /// Whether it comes from top to bottom.
    private(set) var isPlain = false
    /// The next byte to look at: a marker or, inside a scan, its data.
    private var position = 2
    private var isInScan = false
    private var isProgressive = false

    /// The length up to the end of the last scan that has ended since the last call.
    mutating func advance(_ source: any ByteSource) throws -> Int? {
        var preview: Int?
        while !isPlain {
            if isInScan {
                guard try skipData(source) else { break }
                isInScan = false
                preview = position
            } else {
                guard try skipSegment(source) else { break }
            }
        }
        return preview
    }

    /// Goes to the marker that ends the data of a scan; false if it has not come.
    private mutating func skipData(_ source: any ByteSource) throws -> Bool {
        while position + 1 < source.byteCount {
            let bytes = try source.bytes(at: position, count: min(1 << 16, source.byteCount - position))
            guard bytes.count > 1 else { return false }
            for index in 0..<(bytes.count - 1) where bytes[index] == 0xFF && Self.endsScan(bytes[index + 1]) {
                position += index
                return true
            }
            // The last byte may be the first half of a marker.
            position += bytes.count - 1
        }
        return false
    }

    /// Not a stuffed zero, a fill byte, or a restart marker.
    private static func endsScan(_ code: UInt8) -> Bool {
        code != 0 && code != 0xFF && !(0xD0...0xD7).contains(code)
    }

    /// Goes behind the next segment; false if it has not come, or nothing more is of interest.
    private mutating func skipSegment(_ source: any ByteSource) throws -> Bool {
        guard position + 4 <= source.byteCount else { return false }
        let head = try source.bytes(at: position, count: 4)
        guard head.count == 4, head[0] == 0xFF else { return stop() }
        let code = head[1]
        if code == 0xFF {
            position += 1
            return true
        }
        if code == 0xD9 { return stop() }
        let end = position + 2 + Int(head[2]) << 8 + Int(head[3])
        guard end <= source.byteCount else { return false }
        switch code {
        case 0xC2, 0xC6, 0xCA, 0xCE:
            isProgressive = true
        case 0xDA:
            guard isProgressive else { return stop() }
            isInScan = true
        default:
            break
        }
        position = end
        return true
    }

    private mutating func stop() -> Bool {
        isPlain = true
        return false
    }
}

/// Watches the data of an Adam7 PNG grow. Its first pass holds a 64th of the pixels.
private struct InterlacedPNG {
    private var doubling = Doubling(first: 256)

    /// A decoder draws a PNG from any number of its bytes.
    mutating func advance(_ source: any ByteSource, total: Int?) throws -> Int? {
        let count = source.byteCount
        if let total, count >= total { return nil }
        return doubling.reached(count, of: total, parts: 32) ? count : nil
    }
}

/// Walks the blocks of a GIF up to its first picture, and watches its data grow if it is interlaced. The first pass
/// holds an eighth of the rows.
private struct InterlacedGIF {
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
