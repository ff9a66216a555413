#if PlaceholderPNG && canImport(CPango)
import CPango
import Testing

/// The pixels of a PNG, decoded by libpng.
struct Pixels {
    let side: Int
    /// The red, green and blue components of each pixel.
    private let values: [[UInt8]]

    init(_ png: [UInt8]) throws {
        var rest = png[...]
        let decoded: OpaquePointer? = withUnsafeMutablePointer(to: &rest) { source in
            cairo_image_surface_create_from_png_stream(
                { source, target, count in
                    guard let source = source?.assumingMemoryBound(to: ArraySlice<UInt8>.self),
                        source.pointee.count >= Int(count)
                    else { return CAIRO_STATUS_READ_ERROR }
                    for place in 0..<Int(count) { target?[place] = source.pointee.removeFirst() }
                    return CAIRO_STATUS_SUCCESS
                },
                source
            )
        }
        let surface = try #require(decoded)
        defer { cairo_surface_destroy(surface) }
        try #require(cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS)
        let data = try #require(cairo_image_surface_get_data(surface))
        side = Int(cairo_image_surface_get_width(surface))
        let stride = Int(cairo_image_surface_get_stride(surface))
        // Four bytes per pixel; blue comes first on the little-endian machines that run the tests.
        values = (0..<side * side).map { [side] place in
            let start = place / side * stride + place % side * 4
            return [data[start + 2], data[start + 1], data[start]]
        }
    }

    subscript(_ x: Int, _ y: Int) -> [UInt8] { values[y * side + x] }

    private func isWhite(_ x: Int, _ y: Int) -> Bool { self[x, y].allSatisfy { $0 > 200 } }

    /// The columns of the white pixels in row `y`.
    func row(_ y: Int) -> [Int] { (0..<side).filter { isWhite($0, y) } }

    var whiteCount: Int { (0..<side).reduce(0) { $0 + row($1).count } }

    /// The bounds of all white pixels.
    var ink: (columns: ClosedRange<Int>, rows: ClosedRange<Int>) {
        let rows = (0..<side).filter { !row($0).isEmpty }
        let columns = (0..<side).flatMap(row)
        guard let top = rows.first, let bottom = rows.last, let left = columns.min(), let right = columns.max() else {
            return (0...0, 0...0)
        }
        return (left...right, top...bottom)
    }

    /// Whether the image is the silhouette, whose shoulders reach the lower edge.
    var isSilhouette: Bool { row(side - 1).count > side / 2 }
}
#endif
