/// GIF 87a and 89a (GIF89a specification, sections 15 to 27): a screen descriptor, then blocks up to a trailer. The
/// data of a block is a list of sub-blocks of up to 255 bytes, ended by an empty one.
///
/// Checks that every block up to the trailer is complete. The compressed data (LZW) is skipped. Comments are metadata, and
/// so are texts, which no viewer shows, and the data of applications, except repetitions and colour profiles.
struct GIFParser: ImagePartsParser {
    /// The first byte of each kind of block.
    private enum Block {
        /// An extension: graphic control, comment, plain text or application (sections 23 to 26).
        static let extensionIntroducer: Int64 = 0x21
        /// An image descriptor (section 20). A color table and the image follow it.
        static let image: Int64 = 0x2C
        /// The end of the file (section 27). Bytes after it are ignored.
        static let trailer: Int64 = 0x3B
        /// Some encoders write two empty sub-blocks; decoders skip the second one.
        static let strayEnd: Int64 = 0
    }

    /// The second byte of an extension.
    private enum Label {
        /// Graphic control: how the next image is drawn (section 23).
        static let control: Int64 = 0xF9
        /// Data of an application, which a name of 11 bytes identifies (section 26).
        static let application: Int64 = 0xFF
    }

    /// The applications whose data says how often an animation runs.
    private static let repetitions = ["NETSCAPE2.0", "ANIMEXTS1.0"]
    /// The application whose data is a colour profile (ICC.1, annex B.6).
    private static let profile = "ICCRGBG1012"

    /// Reads the file. All offsets count from the start of the file.
    private var reader: ByteReader
    /// The size of the screen, enlarged by images beyond it.
    private var canvas = PixelSize.zero
    /// Whether a block with an image was found.
    private var hasImage = false
    /// The blocks that show the image.
    var parts = ImageParts.noting

    /// All integers of a GIF are little-endian.
    init(_ reader: ByteReader) {
        self.reader = reader
        self.reader.byteOrder = .littleEndian
    }

    /// Walks all blocks and returns the size of the canvas.
    ///
    /// - Throws: `truncated` if the file ends before its trailer; `notImage` for an unknown block or a file without a
    ///   image.
    mutating func pixelSize() throws -> PixelSize {
        canvas = try PixelSize(width: reader.uint16(at: 6), height: reader.uint16(at: 8))
        var offset = 13 + colorTableByteCount(flags: try reader.uint8(at: 10))
        parts.keep(0..<offset)
        loop: while true {
            let start = offset
            switch try reader.uint8(at: offset) {
            case Block.extensionIntroducer:
                offset = try endOfSubBlocks(from: offset + 2)
                try noteExtension(in: start..<offset)
            case Block.image:
                offset = try endOfImage(at: offset)
                parts.keep(start..<offset)
            case Block.strayEnd: offset += 1
            case Block.trailer: break loop
            default: throw reader.notImage("it has an unknown block")
            }
        }
        parts.keep(offset..<(offset + 1))
        if offset + 1 < reader.byteCount { parts.omit() }
        guard hasImage else { throw reader.notImage("it has no image block") }
        return canvas
    }

    /// Notes whether an extension shows the image.
    private mutating func noteExtension(in block: Range<Int64>) throws {
        // Behind the introducer and the label: the first sub-block, with its length.
        let (start, content) = (block.lowerBound, block.lowerBound + 3)
        let length = try reader.uint8(at: start + 2)
        switch try reader.uint8(at: start + 1) {
        case Label.control where length >= 4:
            // The control has four bytes, and nothing follows them.
            if length == 4 && block.count == 8 { return parts.keep(block) }
            parts.replace(by: [0x21, 0xF9, 4] + (try reader.bytes(4, at: content)) + [0])
        case Label.application where length == 11:
            let name = String(decoding: try reader.bytes(11, at: content), as: UTF8.self)
            if name == Self.profile { return parts.keep(block) }
            guard Self.repetitions.contains(name) else { return parts.omit() }
            try noteRepetitions(in: block)
        default:
            parts.omit()
        }
    }

    /// Keeps the number of repetitions, in a sub-block of three bytes: 1, and the number.
    private mutating func noteRepetitions(in block: Range<Int64>) throws {
        let data = block.lowerBound + 14
        guard try reader.uint8(at: data) >= 3, try reader.uint8(at: data + 1) & 7 == 1 else { return parts.omit() }
        if try block.count == 19 && reader.uint8(at: data) == 3 { return parts.keep(block) }
        let head = try reader.bytes(14, at: block.lowerBound)
        parts.replace(by: head + [3] + (try reader.bytes(3, at: data + 1)) + [0])
    }

    /// The offset behind the image block at `offset`. An image beyond the screen enlarges the canvas, as in viewers.
    private mutating func endOfImage(at offset: Int64) throws -> Int64 {
        hasImage = true
        let right = try reader.uint16(at: offset + 1) + reader.uint16(at: offset + 5)
        let bottom = try reader.uint16(at: offset + 3) + reader.uint16(at: offset + 7)
        canvas = PixelSize(width: max(canvas.width, right), height: max(canvas.height, bottom))
        let colorTable = colorTableByteCount(flags: try reader.uint8(at: offset + 9))
        // The byte before the data is the code size of the compression.
        return try endOfSubBlocks(from: offset + 10 + colorTable + 1)
    }

    /// The offset behind the empty sub-block that ends the list at `start`.
    ///
    /// A sub-block is a length byte and that many bytes, so each iteration advances by at least one byte.
    private mutating func endOfSubBlocks(from start: Int64) throws -> Int64 {
        var offset = start
        while true {
            let count = try reader.uint8(at: offset)
            offset += 1 + count
            if count == 0 { return offset }
        }
    }

    /// The length of the color table that `flags` announce; 0 without one.
    ///
    /// The lowest three bits hold the exponent of the number of colors, less one. A color has three bytes.
    private func colorTableByteCount(flags: Int64) -> Int64 {
        flags & 0x80 == 0 ? 0 : 3 << ((flags & 0x07) + 1)
    }
}
