/// JPEG (ITU-T T.81, annex B): a sequence of markers. Most are followed by a segment that states its length. After the
/// header of a scan, coded data runs to the next marker.
///
/// A thumbnail is a complete JPEG inside a segment. The parser skips segments as a whole, so it never mistakes the end
/// marker of a thumbnail for the end of the picture.
struct JPEGParser: ImageParser {
    /// The second byte of the markers that the parser needs. The first byte is always 0xFF.
    private enum Marker {
        /// SOI. A second one before the end marker starts another image, so the first is truncated.
        static let startOfImage: Int64 = 0xD8
        /// EOI. Bytes after it are ignored.
        static let endOfImage: Int64 = 0xD9
        /// SOS. Coded data follows its segment (B.2.3).
        static let startOfScan: Int64 = 0xDA
        /// Codes without a segment, alone or inside coded data: a stuffed zero, TEM and the restart markers.
        static func isSkipped(_ code: Int64) -> Bool { code <= 0x01 || (0xD0...0xD7).contains(code) }
        /// SOF0 to SOF15. DHT, JPG and DAC use codes in the same range.
        static func isFrame(_ code: Int64) -> Bool {
            (0xC0...0xCF).contains(code) && ![0xC4, 0xC8, 0xCC].contains(code)
        }
        /// Codes that the standard reserves.
        static func isReserved(_ code: Int64) -> Bool { (0x02...0xBF).contains(code) }
    }

    /// Reads the file. The search for 0xFF in coded data takes most of the time of a check.
    private var reader: ByteReader
    /// The size in the frame header; `nil` before it.
    private var size: PixelSize?
    /// Whether the header of a scan was found.
    private var hasScan = false

    /// Integers are big-endian, which is the default of the reader.
    init(_ reader: ByteReader) {
        self.reader = reader
    }

    /// Walks all markers up to the end marker and returns the size in the frame header.
    ///
    /// - Throws: `truncated` without an end marker; `notImage` without a frame header or a scan, with two frame
    ///   headers, or with a reserved marker.
    mutating func pixelSize() throws -> PixelSize {
        var offset: Int64 = 2
        while true {
            let (code, segment) = try marker(from: offset)
            if code == Marker.endOfImage { break }
            try note(code, segment: segment)
            offset = segment + (try reader.uint16(at: segment))
        }
        guard let size, hasScan else { throw reader.notImage("it has no frame header or no scan") }
        return size
    }

    /// The code of the next relevant marker at or after `start`, and the offset behind it.
    ///
    /// Bytes that are not a marker are skipped. After the header of a scan they are coded data; decoders skip them
    /// elsewhere too.
    private mutating func marker(from start: Int64) throws -> (code: Int64, end: Int64) {
        var offset = start
        while let prefix = try reader.offset(of: 0xFF, from: offset) {
            let code = try reader.uint8(at: prefix + 1)
            // Fill bytes may precede a marker; the last 0xFF belongs to it.
            offset = prefix + (code == 0xFF ? 1 : 2)
            if code != 0xFF && !Marker.isSkipped(code) { return (code, offset) }
        }
        throw reader.truncated("its end marker is missing")
    }

    /// Checks the segment of a marker, and records a frame header or a scan.
    private mutating func note(_ code: Int64, segment: Int64) throws {
        guard code != Marker.startOfImage else { throw reader.truncated("another image starts before its end marker") }
        guard !Marker.isReserved(code) else { throw reader.notImage("it has a reserved marker") }
        let length = try reader.uint16(at: segment)
        guard length >= 2 else { throw reader.notImage("a segment is shorter than its own length field") }
        try reader.require(length, at: segment)
        if Marker.isFrame(code) { try noteFrame(at: segment, length: length) }
        if code == Marker.startOfScan {
            guard size != nil else { throw reader.notImage("a scan comes before the frame header") }
            hasScan = true
        }
    }

    /// Records the size in a frame header (SOF, B.2.2): after length and precision, two bytes each for height and
    /// width.
    ///
    /// A height of 0, which a DNL segment would state after the first scan (B.2.5), is left to the inspector, which
    /// refuses it.
    private mutating func noteFrame(at segment: Int64, length: Int64) throws {
        guard size == nil else { throw reader.notImage("it has two frame headers") }
        guard length >= 8 else { throw reader.notImage("its frame header is too short") }
        size = try PixelSize(width: reader.uint16(at: segment + 5), height: reader.uint16(at: segment + 3))
    }
}
