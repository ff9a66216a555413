import AvatarStore

/// Finds previews in an arriving image: prefixes of the file that a decoder can draw as a coarse version of the whole.
///
/// A progressive JPEG has a preview after each scan. An interlaced PNG or GIF has one each time its data has doubled.
/// The scanner reads only the new bytes, and only the header of other formats and of files that are drawn top to
/// bottom.
struct PreviewScanner: Sendable {
    private enum Format {
        /// The header is not complete yet.
        case unknown
        case jpeg(JPEGScans)
        case png(InterlacedPNG)
        case gif(InterlacedGIF)
        /// The file has no previews, or no further ones.
        case plain
    }

    private var format = Format.unknown

    /// Scans the bytes that have arrived since the last call, and returns the length of a new preview, if there is one.
    ///
    /// - Parameters:
    ///   - source: all bytes received so far.
    ///   - total: the length of the complete file in bytes, if it is known. The complete file is not a preview.
    /// - Returns: the length of the longest prefix that can be drawn; `nil` if it is not longer than the last preview.
    /// - Throws: the errors of `source`.
    mutating func advance(_ source: any ByteSource, total: Int?) throws -> Int? {
        if case .unknown = format { format = try Self.format(of: source) }
        let length: Int?
        switch format {
        case .unknown, .plain:
            return nil
        case .jpeg(var scans):
            length = try scans.advance(source)
            format = scans.isPlain ? .plain : .jpeg(scans)
        case .png(var image):
            length = try image.advance(source, total: total)
            format = .png(image)
        case .gif(var image):
            length = try image.advance(source, total: total)
            format = image.isPlain ? .plain : .gif(image)
        }
        return length
    }

    /// Recognises the format, once the first 33 bytes are there.
    private static func format(of source: any ByteSource) throws -> Format {
        guard source.byteCount >= 33 else { return .unknown }
        let head = try source.bytes(at: 0, count: 33)
        if head.starts(with: [0xFF, 0xD8, 0xFF]) { return .jpeg(JPEGScans()) }
        if head.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            // The last byte of IHDR is the interlace method; 1 means Adam7.
            return head[28] == 1 ? .png(InterlacedPNG()) : .plain
        }
        if head.starts(with: Array("GIF8".utf8)) { return .gif(InterlacedGIF(head)) }
        return .plain
    }
}

/// Decides when an interlaced image has enough data for the next preview: twice as much as for the last one. Each
/// pass has as many pixels as all earlier ones together, so about then the next pass is complete.
private struct Doubling {
    /// The amount of data in bytes for the next preview.
    private var next: Int

    /// - Parameter first: the minimum amount of data in bytes for the first preview.
    init(first: Int) {
        next = first
    }

    /// Whether `count` bytes of data suffice for another preview.
    ///
    /// - Parameters:
    ///   - count: the amount of data so far.
    ///   - total: the length of the complete file in bytes, if it is known.
    ///   - parts: a preview needs at least `total / parts` bytes.
    mutating func reached(_ count: Int, of total: Int?, parts: Int) -> Bool {
        let least = max(next, (total ?? 0) / parts)
        guard count >= least else { return false }
        next = count * 2
        return true
    }
}

/// Walks the markers of an arriving JPEG (ITU-T T.81, annex B). A progressive JPEG can be drawn after each scan.
private struct JPEGScans {
    /// Whether the file has no further previews, because it is drawn top to bottom or complete.
    private(set) var isPlain = false
    /// The offset of the next byte to scan: a marker or, inside a scan, its data.
    private var position = 2
    private var isInScan = false
    private var isProgressive = false

    /// The offset behind the last scan that has ended since the last call.
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

    /// Moves to the marker that ends the data of a scan. Returns false if it has not arrived.
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

    /// Whether `code` ends a scan: it is not a stuffed zero, a fill byte or a restart marker.
    private static func endsScan(_ code: UInt8) -> Bool {
        code != 0 && code != 0xFF && !(0xD0...0xD7).contains(code)
    }

    /// Moves behind the next segment. Returns false if it has not arrived, or the file has no further previews.
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

/// Follows the growing data of an Adam7 PNG. Its first pass has 1/64 of the pixels.
private struct InterlacedPNG {
    private var doubling = Doubling(first: 256)

    /// The length of the data so far, if there is enough more of it. A decoder can draw a PNG from any prefix.
    mutating func advance(_ source: any ByteSource, total: Int?) throws -> Int? {
        let count = source.byteCount
        if let total, count >= total { return nil }
        return doubling.reached(count, of: total, parts: 32) ? count : nil
    }
}

/// Walks the blocks of an arriving GIF up to its first image and, if that is interlaced, follows its growing data.
/// The first pass has 1/8 of the rows.
private struct InterlacedGIF {
    /// Whether the file has no further previews, because it is drawn top to bottom or complete.
    private(set) var isPlain = false
    /// The offset of the next block or sub-block to scan.
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

    /// The offset behind the last complete sub-block of the image, if there is enough more data.
    mutating func advance(_ source: any ByteSource, total: Int?) throws -> Int? {
        while !isPlain, try step(source) {}
        guard isInData, !isPlain else { return nil }
        return doubling.reached(position, of: total, parts: 6) ? position : nil
    }

    /// Moves behind the next block or sub-block. Returns false if it has not arrived, or there are no previews.
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

    /// Moves behind a sub-block of `length` bytes of data. Returns false if it has not arrived, or the image ends.
    private mutating func skipPart(of length: Int, _ source: any ByteSource) -> Bool {
        if length == 0 {
            // An empty sub-block ends the image, or an extension before it.
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
