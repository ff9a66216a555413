/// JPEG (ITU-T T.81, annex B): a sequence of markers. Most are followed by a segment that states its length. After the
/// header of a scan, coded data runs to the next marker.
///
/// A thumbnail is a complete JPEG inside a segment. The parser skips segments as a whole, so it never mistakes the end
/// marker of a thumbnail for the end of the image.
struct JPEGParser: ImagePartsParser {
    /// The second byte of the markers that the parser needs. The first byte is always 0xFF.
    private enum Marker {
        /// SOI. A second one before the end marker starts another image, so the first is truncated.
        static let startOfImage: Int64 = 0xD8
        /// EOI. Bytes after it are ignored.
        static let endOfImage: Int64 = 0xD9
        /// SOS. Coded data follows its segment (B.2.3).
        static let startOfScan: Int64 = 0xDA
        /// APP0, the place of JFIF (ITU-T T.871).
        static let jfif: Int64 = 0xE0
        /// APP1, the place of EXIF and XMP.
        static let exif: Int64 = 0xE1
        /// APP2, the place of the colour profile (ICC.1, annex B.4) and of lists of further images (MPF).
        static let profile: Int64 = 0xE2
        /// APP14, the place of Adobe's colour transform (ITU-T T.872, 6.5.3).
        static let adobe: Int64 = 0xEE
        /// APP0 to APP15, the extensions JPG0 to JPG13, and COM: decoders do not need those without a name above.
        static func isApplication(_ code: Int64) -> Bool { (0xE0...0xFE).contains(code) }
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
    /// Whether the parser is in the coded data behind the header of a scan.
    private var isInScan = false
    /// Whether a segment of JFIF was found. Only the first one stays.
    private var hasJFIF = false
    /// Whether a block of EXIF was found. Only the first one counts.
    private var hasExif = false
    /// The segments that show the image.
    var parts = ImageParts.noting

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
        parts.keep(0..<offset)
        while true {
            let (code, segment) = try marker(from: offset)
            if code == Marker.endOfImage {
                parts.keep((segment - 2)..<segment)
                if segment < reader.byteCount { parts.omit() }
                break
            }
            try note(code, segment: segment)
            offset = segment + (try reader.uint16(at: segment))
            try notePart(code, in: segment..<offset)
            isInScan = code == Marker.startOfScan
        }
        guard let size, hasScan else { throw reader.notImage("it has no frame header or no scan") }
        return size
    }

    /// The code of the next relevant marker at or after `start`, and the offset behind it.
    ///
    /// Bytes that are not a marker are skipped. After the header of a scan they are coded data; decoders skip them
    /// elsewhere too, where they are metadata.
    private mutating func marker(from start: Int64) throws -> (code: Int64, end: Int64) {
        var offset = start
        // The first of the fill bytes, which may precede a marker; the last 0xFF belongs to it.
        var fill: Int64?
        while let prefix = try reader.offset(of: 0xFF, from: offset) {
            let code = try reader.uint8(at: prefix + 1)
            guard code != 0xFF else {
                fill = fill ?? prefix
                offset = prefix + 1
                continue
            }
            offset = prefix + 2
            if !Marker.isSkipped(code) {
                noteSkipped(start..<(fill ?? prefix))
                return (code, offset)
            }
            fill = nil
        }
        throw reader.truncated("its end marker is missing")
    }

    /// Notes the bytes before a marker and its fill bytes.
    private mutating func noteSkipped(_ range: Range<Int64>) {
        if isInScan { parts.keep(range) } else if !range.isEmpty { parts.omit() }
    }

    /// Notes whether a segment shows the image. `segment` begins with its length field.
    private mutating func notePart(_ code: Int64, in segment: Range<Int64>) throws {
        switch code {
        case Marker.jfif: try noteJFIF(in: segment)
        case Marker.exif: try noteExif(in: segment)
        case Marker.profile where try reader.has("ICC_PROFILE\0".utf8, at: segment.lowerBound + 2): keep(segment)
        case Marker.adobe: try noteAdobe(in: segment)
        case _ where Marker.isApplication(code): parts.omit()
        default: keep(segment)
        }
    }

    /// Keeps the segment with its marker.
    private mutating func keep(_ segment: Range<Int64>) {
        parts.keep((segment.lowerBound - 2)..<segment.upperBound)
    }

    /// Keeps the version and the resolution in a segment of JFIF, without its thumbnail. Shorter segments mean nothing to
    /// decoders.
    private mutating func noteJFIF(in segment: Range<Int64>) throws {
        let start = segment.lowerBound
        guard segment.count >= 16, try !hasJFIF && reader.has("JFIF\0".utf8, at: start + 2) else { return parts.omit() }
        hasJFIF = true
        if try segment.count == 16 && reader.uint16(at: start + 14) == 0 { return keep(segment) }
        parts.replace(by: [0xFF, 0xE0, 0, 16] + (try reader.bytes(12, at: start + 2)) + [0, 0])
    }

    /// Keeps the orientation in a segment of EXIF.
    private mutating func noteExif(in segment: Range<Int64>) throws {
        let block = segment.lowerBound + 8
        guard !hasExif, block <= segment.upperBound, try reader.has("Exif\0\0".utf8, at: block - 6) else {
            return parts.omit()
        }
        hasExif = true
        let exif = try ExifBlock(in: block..<segment.upperBound, of: &reader)
        if exif.isOrientationAlone { return keep(segment) }
        guard let orientation = exif.orientation else { return parts.omit() }
        let bytes = ExifBlock.bytes(orientation: orientation)
        parts.replace(by: [0xFF, 0xE1, 0, UInt8(8 + bytes.count)] + Array("Exif\0\0".utf8) + bytes)
    }

    /// Keeps the colour transform in a segment of Adobe, which has 12 bytes. Shorter segments mean nothing to decoders.
    private mutating func noteAdobe(in segment: Range<Int64>) throws {
        let start = segment.lowerBound
        guard segment.count >= 14, try reader.has("Adobe".utf8, at: start + 2) else { return parts.omit() }
        if segment.count == 14 { return keep(segment) }
        parts.replace(by: [0xFF, 0xEE, 0, 14] + (try reader.bytes(12, at: start + 2)))
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
