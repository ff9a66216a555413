extension SampleImage {
    /// The length of the shortest file that `png(seed:byteCount:)` makes: one pixel.
    public static let minimumPNGByteCount = PNGWriter.byteCount(rowBytes: 1 + bytesPerPixel, commentLength: 16)

    /// A PNG of exactly `byteCount` bytes: a near square of coloured noise, 8 bits each of red, green and blue.
    ///
    /// - Parameters:
    ///   - seed: What the pixels are drawn from.
    ///   - byteCount: The length of the file. A number below `minimumPNGByteCount` gives a file of that length; above
    ///     it every number is met exactly. There are about `byteCount / 3` pixels. Up to 2,000,000,000.
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
        let spare = total - PNGWriter.byteCount(rowBytes: rows.count, commentLength: 16)
        writer.comment(hexadecimal(seed) + String(repeating: ".", count: spare))
        writer.rows(rows)
        writer.end()
        return writer.bytes
    }

    private static let bytesPerPixel = 3

    /// The largest near square that fits; what is then left over is less than a row and a few bytes.
    private static func pixelSize(fitting total: Int) -> (width: Int, height: Int) {
        let room = total - PNGWriter.byteCount(rowBytes: 0, commentLength: 16)
        let width = max(1, Int((Double(room) / Double(bytesPerPixel)).squareRoot()))
        let rowLength = 1 + width * bytesPerPixel
        var height = max(1, room / rowLength)
        while height > 1, PNGWriter.byteCount(rowBytes: height * rowLength, commentLength: 16) > total {
            height -= 1
        }
        return (width, height)
    }
}
