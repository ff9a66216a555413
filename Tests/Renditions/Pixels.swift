import CZlib
import Testing

/// The pixels of a PNG with 8 bits per channel and no interlacing, as the helper writes it. Parsed without libpng.
struct Pixels {
    let width: Int
    let height: Int
    /// 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA.
    let channels: Int
    private let values: [UInt8]

    init(_ png: [UInt8]) throws {
        var offset = 8
        var packed: [UInt8] = []
        var head: [UInt8] = []
        while offset + 12 <= png.count {
            let length = png[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int($1) }
            let content = png[(offset + 8)..<(offset + 8 + length)]
            switch String(decoding: png[(offset + 4)..<(offset + 8)], as: UTF8.self) {
            case "IHDR": head = Array(content)
            case "IDAT": packed += content
            case "IEND": break
            case let name: Issue.record("The rendition has a chunk \(name).")
            }
            offset += 12 + length
        }
        try #require(head.count == 13 && head[8] == 8 && head[12] == 0)
        width = head[0..<4].reduce(0) { $0 << 8 | Int($1) }
        height = head[4..<8].reduce(0) { $0 << 8 | Int($1) }
        channels = try #require([0: 1, 4: 2, 2: 3, 6: 4][head[9]])
        let stride = width * channels
        var lines = [UInt8](repeating: 0, count: (stride + 1) * height)
        var size = uLongf(lines.count)
        try #require(uncompress(&lines, &size, packed, uLong(packed.count)) == Z_OK && Int(size) == lines.count)
        values = Self.unfiltered(lines, stride: stride, channels: channels)
    }

    private static func unfiltered(_ lines: [UInt8], stride: Int, channels: Int) -> [UInt8] {
        var values: [UInt8] = []
        var above = [UInt8](repeating: 0, count: stride)
        for start in Swift.stride(from: 0, to: lines.count, by: stride + 1) {
            var line = Array(lines[(start + 1)...(start + stride)])
            for x in 0..<stride {
                let left = x >= channels ? Int(line[x - channels]) : 0
                let up = Int(above[x])
                let corner = x >= channels ? Int(above[x - channels]) : 0
                let guess: Int
                switch lines[start] {
                case 1: guess = left
                case 2: guess = up
                case 3: guess = (left + up) / 2
                case 4:
                    let (a, b, c) = (abs(up - corner), abs(left - corner), abs(left + up - 2 * corner))
                    guess = a <= b && a <= c ? left : b <= c ? up : corner
                default: guess = 0
                }
                line[x] &+= UInt8(guess)
            }
            values += line
            above = line
        }
        return values
    }

    /// The channels of a pixel.
    subscript(_ x: Int, _ y: Int) -> [UInt8] {
        let start = (y * width + x) * channels
        return Array(values[start..<(start + channels)])
    }

    /// Pixels near the corners: top left, top right, bottom left, bottom right.
    var corners: [[UInt8]] {
        let (x, y) = (min(2, width / 2), min(2, height / 2))
        return [self[x, y], self[width - 1 - x, y], self[x, height - 1 - y], self[width - 1 - x, height - 1 - y]]
    }
}

/// Whether two colours differ by at most `distance` in each channel.
func isNear(_ colour: [UInt8], _ other: [UInt8], within distance: Int = 4) -> Bool {
    colour.count == other.count && zip(colour, other).allSatisfy { abs(Int($0) - Int($1)) <= distance }
}
