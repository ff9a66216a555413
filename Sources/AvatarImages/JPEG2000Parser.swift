/// JPEG 2000 (ITU-T T.800): a codestream, bare or in a box of a JP2 file.
struct JPEG2000Parser: ImageParser {
    private var reader: ByteReader

    init(_ reader: ByteReader) {
        self.reader = reader
    }

    mutating func pixelSize() throws -> PixelSize {
        guard try !reader.has([0xFF, 0x4F], at: 0) else { return try codestreamSize(in: 0..<reader.byteCount) }
        guard let codestream = try reader.fileBoxes().first(where: { $0.name == "jp2c" }) else {
            throw reader.truncated("it has no codestream")
        }
        return try codestreamSize(in: codestream.content)
    }

    private mutating func codestreamSize(in range: Range<Int64>) throws -> PixelSize {
        var codestream = JPEG2000Codestream(range: range)
        return try codestream.pixelSize(in: &reader)
    }
}
