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
struct Doubling {
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
