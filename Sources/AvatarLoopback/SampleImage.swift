/// Makes valid images for tests, demos and benchmarks. Different seeds give different bytes, and the same seed gives the
/// same bytes on every machine.
///
/// The images are not compressed: PNG and GIF both allow data that is only framed. This makes them fast to write without
/// a library.
public enum SampleImage {
    /// A seed as the 16 hexadecimal digits that a PNG carries behind its pixels. A comment would be metadata.
    static func hexadecimal(_ seed: UInt64) -> String {
        let digits = String(seed, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension SampleImage {
    /// The length in bytes of the shortest file that `png(seed:byteCount:)` makes: an image of one pixel.
    public static let minimumPNGByteCount = PNGWriter.byteCount(rowBytes: 1 + bytesPerPixel, markLength: 16)

    /// A PNG of exactly `byteCount` bytes: coloured noise, nearly square, 8 bits each of red, green and blue.
    ///
    /// - Parameters:
    ///   - seed: Decides the pixels.
    ///   - byteCount: The length of the file, from `minimumPNGByteCount` to 2,000,000,000 bytes; a number outside is
    ///     moved to the nearer end. The image has about `byteCount / 3` pixels.
    public static func png(seed: UInt64, byteCount: Int) -> [UInt8] {
        let total = min(max(byteCount, minimumPNGByteCount), 2_000_000_000)
        let size = pixelSize(fitting: total)
        let rowLength = 1 + size.width * bytesPerPixel
        var noise = SplitMix64(seed: seed)
        var rows = noise.bytes(count: size.height * rowLength)
        for row in 0..<size.height {
            rows[row * rowLength] = 0
        }
        var writer = PNGWriter(
            width: size.width,
            height: size.height,
            bitDepth: 8,
            colourType: 2,
            byteCount: total
        )
        let spare = total - PNGWriter.byteCount(rowBytes: rows.count, markLength: 16)
        writer.rows(rows)
        writer.mark(hexadecimal(seed) + String(repeating: ".", count: spare))
        writer.end()
        return writer.bytes
    }

    private static let bytesPerPixel = 3

    /// The largest, nearly square size that fits. The bytes left over are less than a row and a few bytes.
    private static func pixelSize(fitting total: Int) -> (width: Int, height: Int) {
        let room = total - PNGWriter.byteCount(rowBytes: 0, markLength: 16)
        let width = max(1, Int((Double(room) / Double(bytesPerPixel)).squareRoot()))
        let rowLength = 1 + width * bytesPerPixel
        var height = max(1, room / rowLength)
        while height > 1, PNGWriter.byteCount(rowBytes: height * rowLength, markLength: 16) > total {
            height -= 1
        }
        return (width, height)
    }
}

extension SampleImage {
    /// `png` with a comment, which is metadata: 24 bytes longer, with the same pixels.
    ///
    /// - Parameter png: an image of this type.
    package static func addingComment(to png: [UInt8]) -> [UInt8] {
        // Signature and header have 33 bytes.
        let comment = Array("Comment\0Geneva".utf8).prefix(12)
        var chunk = Array("tEXt".utf8) + comment
        chunk.appendBigEndian(Checksum.crc32(chunk[...]))
        return Array(png[..<33]) + [0, 0, 0, UInt8(comment.count)] + chunk + png[33...]
    }
}

extension SampleImage {
    /// A GIF of 32 by 32 pixels of noise in 128 colours, about 1.5 kB long.
    ///
    /// - Parameter seed: Decides the colours and the pixels.
    public static func gif(seed: UInt64) -> [UInt8] {
        var noise = SplitMix64(seed: seed)
        var bytes = Array("GIF89a".utf8)
        bytes.appendLittleEndian(UInt16(gifSide))
        bytes.appendLittleEndian(UInt16(gifSide))
        bytes += [0b1111_0110, 0, 0]  // A global table of 2^(6 + 1) colours.
        bytes += noise.bytes(count: 128 * 3)
        bytes += [0x2C, 0, 0, 0, 0]
        bytes.appendLittleEndian(UInt16(gifSide))
        bytes.appendLittleEndian(UInt16(gifSide))
        bytes += [0, 7]
        appendCodes(noise.bytes(count: gifSide * gifSide).map { $0 & 0x7F }, to: &bytes)
        bytes.append(0x3B)
        return bytes
    }

    private static let gifSide = 32

    /// Appends `pixels` (below 128) as LZW codes that compress nothing (GIF89a, appendix F).
    ///
    /// Codes are 8 bits wide until the decoder's table holds 256 entries. A clear code before each sub-block of 120
    /// pixels empties the table in time, so that each code is one byte.
    private static func appendCodes(_ pixels: [UInt8], to bytes: inout [UInt8]) {
        let clear: UInt8 = 128
        let endOfInformation: UInt8 = 129
        for start in stride(from: 0, to: pixels.count, by: 120) {
            let block = pixels[start..<min(start + 120, pixels.count)]
            bytes += [UInt8(block.count + 1), clear]
            bytes += block
        }
        bytes += [1, endOfInformation, 0]
    }
}

extension SampleImage {
    /// A BMP of 16 by 16 pixels of noise, 24 bits each, 822 bytes long.
    ///
    /// - Parameter seed: Decides the pixels.
    public static func bmp(seed: UInt64) -> [UInt8] {
        let side = 16
        let headerLength = 54
        var noise = SplitMix64(seed: seed)
        let pixels = noise.bytes(count: side * side * 3)  // A row is 48 bytes, already a multiple of four.
        var bytes = Array("BM".utf8)
        bytes.appendLittleEndian(UInt32(headerLength + pixels.count))
        bytes.appendLittleEndian(UInt32(0))
        bytes.appendLittleEndian(UInt32(headerLength))
        bytes.appendLittleEndian(UInt32(40))
        bytes.appendLittleEndian(Int32(side))
        bytes.appendLittleEndian(Int32(side))
        bytes.appendLittleEndian(UInt16(1))
        bytes.appendLittleEndian(UInt16(24))
        bytes.appendLittleEndian(UInt32(0))
        bytes.appendLittleEndian(UInt32(pixels.count))
        bytes.appendLittleEndian(Int32(2835))  // 72 dots per inch, in dots per metre.
        bytes.appendLittleEndian(Int32(2835))
        bytes.appendLittleEndian(UInt32(0))
        bytes.appendLittleEndian(UInt32(0))
        return bytes + pixels
    }
}

extension SampleImage {
    /// A generated avatar: 5 by 5 squares, mirrored left to right, in two shades of one colour on a light ground. A PNG
    /// with a palette of three colours; 3.8 kB at the default size.
    ///
    /// - Parameters:
    ///   - seed: Any text, such as a name or an id. Its 64-bit hash decides the image, and is in the file behind the pixels;
    ///     the text itself is not in the file.
    ///   - side: Width and height in pixels, from 6 to 4,096; a number outside is moved to the nearer end. Default: 120.
    public static func identicon(for seed: String, side: Int = 120) -> [UInt8] {
        var random = SplitMix64(text: seed)
        let identity = random.next()
        let hue = Double(random.next() % 360)
        let pattern = pattern(from: &random)
        let side = min(max(side, 6), 4096)
        let rows = identiconRows(pattern, side: side)
        var writer = PNGWriter(
            width: side,
            height: side,
            bitDepth: 2,
            colourType: 3,
            byteCount: PNGWriter.byteCount(rowBytes: rows.count, markLength: 64)
        )
        writer.palette([
            colour(hue: hue, saturation: 0.25, lightness: 0.95),
            colour(hue: hue, saturation: 0.55, lightness: 0.48),
            colour(hue: hue, saturation: 0.55, lightness: 0.68),
        ])
        writer.rows(rows)
        writer.mark(hexadecimal(identity))
        writer.end()
        return writer.bytes
    }

    /// The left half and the middle column: 5 rows of 3 palette indexes. 6 to 11 of the 15 squares are coloured, so that
    /// no image is empty or full.
    private static func pattern(from random: inout SplitMix64) -> [[UInt8]] {
        let coloured = 6 + Int(random.next() % 6)
        var squares = (0..<15).map { index -> UInt8 in
            guard index < coloured else { return 0 }
            return index % 3 == 2 ? 2 : 1
        }
        // Not `shuffle()`, whose order may differ between versions of the standard library.
        for last in (1..<15).reversed() {
            squares.swapAt(last, Int(random.next() % UInt64(last + 1)))
        }
        return (0..<5).map { row in Array(squares[(row * 3)..<(row * 3 + 3)]) }
    }

    /// The rows of pixels. A square is a sixth of the side; the rest is the margin.
    private static func identiconRows(_ pattern: [[UInt8]], side: Int) -> [UInt8] {
        let square = side / 6
        let margin = (side - 5 * square) / 2
        let blank = packedRow([], square: square, margin: margin, side: side)
        let packed = pattern.map { packedRow($0, square: square, margin: margin, side: side) }
        var rows: [UInt8] = []
        rows.reserveCapacity(side * blank.count)
        for y in 0..<side {
            let row = (y - margin) / square
            rows += y < margin || row >= 5 ? blank : packed[row]
        }
        return rows
    }

    /// One row of pixels after its filter byte: four pixels a byte, the leftmost in the high bits.
    private static func packedRow(_ half: [UInt8], square: Int, margin: Int, side: Int) -> [UInt8] {
        var row = [UInt8](repeating: 0, count: 1 + (side + 3) / 4)
        guard !half.isEmpty else { return row }
        for x in margin..<(margin + 5 * square) {
            let column = (x - margin) / square
            row[1 + x / 4] |= half[min(column, 4 - column)] << UInt8(6 - x % 4 * 2)
        }
        return row
    }

    /// Red, green and blue of a colour given by hue in degrees, and saturation and lightness from 0 to 1.
    private static func colour(hue: Double, saturation: Double, lightness: Double) -> [UInt8] {
        let reach = saturation * min(lightness, 1 - lightness)
        return [0.0, 8.0, 4.0].map { offset in
            let position = (offset + hue / 30).truncatingRemainder(dividingBy: 12)
            let value = lightness - reach * max(-1, min(position - 3, 9 - position, 1))
            return UInt8((value * 255).rounded())
        }
    }
}
