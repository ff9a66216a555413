extension SampleImage {
    /// A picture for someone without one: 5 by 5 squares, mirrored left to right, in two shades of one colour on a
    /// light ground. A PNG with a palette of three colours; 3.8 kB at the default size.
    ///
    /// - Parameters:
    ///   - seed: Any text, such as a name or an id. The picture follows from its 64-bit hash, which the file also
    ///     carries as a comment; the text itself is not in the file.
    ///   - side: Width and height in pixels, from 6 to 4,096; numbers outside are moved to the nearer end.
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
            byteCount: PNGWriter.byteCount(rowBytes: rows.count, commentLength: 64)
        )
        writer.palette([
            colour(hue: hue, saturation: 0.25, lightness: 0.95),
            colour(hue: hue, saturation: 0.55, lightness: 0.48),
            colour(hue: hue, saturation: 0.55, lightness: 0.68),
        ])
        writer.comment(hexadecimal(identity))
        writer.rows(rows)
        writer.end()
        return writer.bytes
    }

    /// The left half and the middle column, 5 rows of 3 palette indexes; 6 to 11 of the 15 squares are coloured, so
    /// that no picture is empty or full.
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

    /// Each square is a sixth of the side; what remains is the margin.
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

    /// One row of pixels, four to a byte with the leftmost in the high bits, behind its filter byte.
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
