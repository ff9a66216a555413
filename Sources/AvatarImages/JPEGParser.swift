/// JPEG (ITU-T T.81, annex B): markers, most of them followed by a segment with its length; behind a scan's header
/// the coded picture runs to the next marker.
///
/// A thumbnail is a JPEG of its own inside a segment. Segments are stepped over as a whole, so that its end marker
/// is never taken for the end of the picture.
struct JPEGParser: ImageParser {
    private enum Marker {
        static let startOfImage: Int64 = 0xD8
        static let endOfImage: Int64 = 0xD9
        static let startOfScan: Int64 = 0xDA
        /// Stand alone or inside coded data: a stuffed zero, TEM, and the restart markers.
        static func isSkipped(_ code: Int64) -> Bool { code <= 0x01 || (0xD0...0xD7).contains(code) }
        /// SOF0 to SOF15, among which DHT, JPG and DAC have their codes too.
        static func isFrame(_ code: Int64) -> Bool {
            (0xC0...0xCF).contains(code) && ![0xC4, 0xC8, 0xCC].contains(code)
        }
        static func isReserved(_ code: Int64) -> Bool { (0x02...0xBF).contains(code) }
    }

    private var reader: ByteReader
    private var size: PixelSize?
    private var hasScan = false

    init(_ reader: ByteReader) {
        self.reader = reader
    }

    mutating func pixelSize() throws -> PixelSize {
        var offset: Int64 = 2
        while true {
            let (code, segment) = try marker(from: offset)
            if code == Marker.endOfImage { break }
            try note(code, segment: segment)
            offset = segment + (try reader.uint16(at: segment))
        }
        guard let size, hasScan else { throw reader.notImage("it ends without a picture") }
        return size
    }

    /// The next marker that matters, and where the bytes behind it begin.
    ///
    /// Bytes that are no marker are passed over: behind a scan's header they are the picture, and elsewhere decoders
    /// pass over them too.
    private mutating func marker(from start: Int64) throws -> (code: Int64, end: Int64) {
        var offset = start
        while let prefix = try reader.offset(of: 0xFF, from: offset) {
            let code = try reader.uint8(at: prefix + 1)
            // Of several fill bytes, the last one belongs to the marker.
            offset = prefix + (code == 0xFF ? 1 : 2)
            if code != 0xFF && !Marker.isSkipped(code) { return (code, offset) }
        }
        throw reader.truncated("its end marker is missing")
    }

    private mutating func note(_ code: Int64, segment: Int64) throws {
        guard code != Marker.startOfImage else { throw reader.truncated("another image begins before its end") }
        guard !Marker.isReserved(code) else { throw reader.notImage("it has a marker that is reserved") }
        let length = try reader.uint16(at: segment)
        guard length >= 2 else { throw reader.notImage("a segment is shorter than its own length field") }
        try reader.require(length, at: segment)
        if Marker.isFrame(code) { try noteFrame(at: segment, length: length) }
        if code == Marker.startOfScan {
            guard size != nil else { throw reader.notImage("its picture begins before its frame header") }
            hasScan = true
        }
    }

    private mutating func noteFrame(at segment: Int64, length: Int64) throws {
        guard size == nil else { throw reader.notImage("it has two frame headers") }
        guard length >= 8 else { throw reader.notImage("its frame header is too short") }
        size = try PixelSize(width: reader.uint16(at: segment + 5), height: reader.uint16(at: segment + 3))
    }
}
