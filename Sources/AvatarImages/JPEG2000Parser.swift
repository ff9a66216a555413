/// JPEG 2000 (ITU-T T.800): a codestream, either bare or in a box of a JP2 file.
struct JPEG2000Parser: ImageParser {
    /// The boxes that decoders need to show the image.
    private static let shownBoxes: Set<FourCharacterCode> = ["jP  ", "ftyp", "jp2h", "jp2c"]

    /// Whether the file has other boxes, or its codestream a comment.
    private(set) var hasMetadata = false
    /// Reads the file. `JPEG2000Codestream` takes it as `inout`, so that both share one window.
    private var reader: ByteReader

    /// Boxes and codestreams are big-endian, which is the default of the reader.
    init(_ reader: ByteReader) {
        self.reader = reader
    }

    /// Finds the codestream and checks it. A JP2 file holds it in the box `jp2c` (T.800, annex I); its header box
    /// `jp2h` is not read.
    ///
    /// - Throws: `truncated` if the codestream or its end marker is missing; `notImage` if its segments break the
    ///   format.
    mutating func pixelSize() throws -> PixelSize {
        guard try !reader.has([0xFF, 0x4F], at: 0) else { return try codestreamSize(in: 0..<reader.byteCount) }
        let boxes = try reader.fileBoxes()
        guard let codestream = boxes.first(where: { $0.name == "jp2c" }) else {
            throw reader.truncated("it has no codestream")
        }
        if boxes.contains(where: { !Self.shownBoxes.contains($0.name) }) { hasMetadata = true }
        if let last = boxes.last, last.content.upperBound < reader.byteCount { hasMetadata = true }
        return try codestreamSize(in: codestream.content)
    }

    /// Checks the codestream in `range` and returns its size.
    private mutating func codestreamSize(in range: Range<Int64>) throws -> PixelSize {
        var codestream = JPEG2000Codestream(range: range)
        defer { if codestream.hasComment { hasMetadata = true } }
        return try codestream.pixelSize(in: &reader)
    }
}

/// A JPEG 2000 codestream (ITU-T T.800, annex A): a main header with the size, tile-parts with their length, and an end
/// marker.
private struct JPEG2000Codestream {
    /// The markers that the parser needs: SOC, SIZ, SOT and EOC.
    private enum Marker {
        /// COM, a comment (A.9.2).
        static let comment: Int64 = 0xFF64
        /// SOC, start of codestream (A.4.1).
        static let start: Int64 = 0xFF4F
        /// SIZ, image and tile size (A.5.1). It follows SOC directly.
        static let size: Int64 = 0xFF51
        /// SOT, start of tile-part (A.4.2). It states the length of the tile-part, its own header included.
        static let tilePart: Int64 = 0xFF90
        /// EOC, end of codestream (A.4.4).
        static let end: Int64 = 0xFFD9
    }

    /// The bytes that hold the codestream.
    private var range: Range<Int64>
    /// Whether the main header has a comment.
    private(set) var hasComment = false

    /// A codestream at the start of `range`. Other bytes may follow it there.
    init(range: Range<Int64>) {
        self.range = range
    }

    /// Checks that the codestream is complete and returns the size that it states.
    mutating func pixelSize(in reader: inout ByteReader) throws -> PixelSize {
        let start = range.lowerBound
        guard try reader.uint16(at: start) == Marker.start, try reader.uint16(at: start + 2) == Marker.size else {
            throw reader.notImage("its codestream does not start with a size segment")
        }
        let size = try self.size(at: start + 4, in: &reader)
        let tiles = try firstTilePart(from: start + 2, in: &reader)
        try requireEnd(from: tiles, in: &reader)
        return size
    }

    /// The size of the image: that of the reference grid minus the offset of the image in it.
    ///
    /// `segment` is the offset of the length field of the SIZ segment (A.5.1).
    private func size(at segment: Int64, in reader: inout ByteReader) throws -> PixelSize {
        try PixelSize(
            width: reader.uint32(at: segment + 4) - reader.uint32(at: segment + 12),
            height: reader.uint32(at: segment + 8) - reader.uint32(at: segment + 16)
        )
    }

    /// The offset of the first tile-part, behind the segments of the main header.
    private mutating func firstTilePart(from start: Int64, in reader: inout ByteReader) throws -> Int64 {
        var offset = start
        while case let marker = try marker(at: offset, in: &reader), marker != Marker.tilePart {
            if marker == Marker.comment { hasComment = true }
            let length = try reader.uint16(at: offset + 2)
            guard length >= 2 else { throw reader.notImage("a segment is shorter than its own length field") }
            offset += 2 + length
        }
        return offset
    }

    /// Skips the tile-parts up to the end marker. The last one may state no length (0): then the parser searches for
    /// the marker, which cannot occur in the data.
    private func requireEnd(from start: Int64, in reader: inout ByteReader) throws {
        var offset = start
        while try marker(at: offset, in: &reader) != Marker.end {
            guard try reader.uint16(at: offset) == Marker.tilePart else {
                throw reader.notImage("a marker other than a tile-part follows a tile-part")
            }
            let length = try reader.uint32(at: offset + 6)
            guard length > 0 else { return try requireEndMarker(from: offset + 12, in: &reader) }
            guard length >= 12 else { throw reader.notImage("a tile-part is shorter than its own header") }
            offset += length
        }
    }

    /// Searches for the end marker from `start` on.
    private func requireEndMarker(from start: Int64, in reader: inout ByteReader) throws {
        var offset = start
        while let prefix = try reader.offset(of: 0xFF, from: offset, to: range.upperBound - 1) {
            if try reader.uint16(at: prefix) == Marker.end { return }
            offset = prefix + 1
        }
        throw reader.truncated("its end marker is missing")
    }

    /// The marker at `offset`, which is at least 0xFF00.
    ///
    /// - Throws: `ImageRejection` of kind `truncated` at the end of the range, `notImage` if the two bytes are not a
    ///   marker.
    private func marker(at offset: Int64, in reader: inout ByteReader) throws -> Int64 {
        guard offset <= range.upperBound - 2 else { throw reader.truncated("its end marker is missing") }
        let marker = try reader.uint16(at: offset)
        guard marker >= 0xFF00 else { throw reader.notImage("a marker is missing before a segment") }
        return marker
    }
}
