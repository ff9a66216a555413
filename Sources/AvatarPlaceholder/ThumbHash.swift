#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A ThumbHash: a blurred stand-in for an image in 5 to 25 bytes, by the algorithm of Evan Wallace
/// (https://evanw.github.io/thumbhash/).
///
/// ```swift
/// if let bytes = image.thumbHash, let hash = ThumbHash(bytes) { show(hash.png) }
/// ```
public struct ThumbHash: Hashable, Sendable {
    /// A small image in memory.
    public struct Image: Hashable, Sendable {
        /// The width in pixels, at most 32.
        public let width: Int
        /// The height in pixels, at most 32.
        public let height: Int
        /// Red, green, blue and alpha of each pixel, one byte each, row by row from the top.
        public let rgba: [UInt8]
    }

    /// The side of the image in pixels.
    static let side = 32

    /// The bytes of the hash, 5 to 25 of them.
    public let bytes: [UInt8]
    /// Whether the image has transparent parts.
    public var hasAlpha: Bool { head >> 23 != 0 }

    /// The hash with these bytes; `nil` if they are not a ThumbHash. The header determines the exact length, 5 to 25 bytes.
    public init?(_ bytes: [UInt8]) {
        guard (5...25).contains(bytes.count) else { return nil }
        self.bytes = bytes
        guard shape & 7 > 0, bytes.count == byteCount else { return nil }
    }

    /// The mean colour of the image as CSS, such as `#a1b2c3`, without its alpha.
    public var averageColour: String {
        let rgb = Self.rgb(light: lightMean, yellowBlue: yellowBlueMean, redGreen: redGreenMean)
        return "#" + rgb.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    // MARK: Header

    private var head: Int { Int(bytes[0]) | Int(bytes[1]) << 8 | Int(bytes[2]) << 16 }
    private var shape: Int { Int(bytes[3]) | Int(bytes[4]) << 8 }
    private var lightMean: Double { Double(head & 63) / 63 }
    private var yellowBlueMean: Double { Double(head >> 6 & 63) / 31.5 - 1 }
    private var redGreenMean: Double { Double(head >> 12 & 63) / 31.5 - 1 }
    /// The numbers of waves of the luminance, which determine the aspect ratio of the image.
    private var waves: (across: Int, down: Int) {
        let most = hasAlpha ? 5 : 7
        return shape >> 15 != 0 ? (most, shape & 7) : (shape & 7, most)
    }
    /// The index of the first byte with waves.
    private var start: Int { hasAlpha ? 6 : 5 }
    /// The channels in the order of the hash.
    private var channels: [Channel] {
        let light = Channel(
            across: max(3, waves.across),
            down: max(3, waves.down),
            scale: Double(head >> 18 & 31) / 31
        )
        // The algorithm raises the saturation by a quarter, to make up for quantization.
        let yellowBlue = Channel(across: 3, down: 3, scale: Double(shape >> 3 & 63) / 63 * 1.25)
        let redGreen = Channel(across: 3, down: 3, scale: Double(shape >> 9 & 63) / 63 * 1.25)
        guard hasAlpha, bytes.count > 5 else { return [light, yellowBlue, redGreen] }
        return [light, yellowBlue, redGreen, Channel(across: 5, down: 5, scale: Double(bytes[5] >> 4) / 15)]
    }
    /// The length in bytes, from the header.
    private var byteCount: Int { start + (channels.map(\.waves.count).reduce(0, +) + 1) / 2 }

    // MARK: Image

    /// The blurred image, 32 pixels on its longer side.
    public var image: Image {
        let (across, down) = waves
        let width = across > down ? Self.side : Self.shorterSide(across, of: down)
        let height = across > down ? Self.shorterSide(down, of: across) : Self.side
        var next = 0
        let planes = channels.map { $0.plane(width, height, strengths(of: $0, from: &next)) }
        let alphaMean = hasAlpha ? Double(bytes[5] & 15) / 15 : 1
        var rgba: [UInt8] = []
        rgba.reserveCapacity(width * height * 4)
        for pixel in 0..<(width * height) {
            rgba += Self.rgb(
                light: lightMean + planes[0][pixel],
                yellowBlue: yellowBlueMean + planes[1][pixel],
                redGreen: redGreenMean + planes[2][pixel]
            )
            rgba.append(Self.byte(alphaMean + (hasAlpha ? planes[3][pixel] : 0)))
        }
        return Image(width: width, height: height, rgba: rgba)
    }

    /// The shorter side of an image, rounded.
    private static func shorterSide(_ short: Int, of long: Int) -> Int { (2 * side * short + long) / (2 * long) }

    /// The strengths of the channel's waves, from wave number `next` of the hash on.
    private func strengths(of channel: Channel, from next: inout Int) -> [Double] {
        channel.waves.map { _ in
            let byte = bytes[start + next / 2]
            let value = next % 2 == 0 ? byte & 15 : byte >> 4
            next += 1
            return (Double(value) / 7.5 - 1) * channel.scale
        }
    }

    /// Red, green and blue of a pixel.
    private static func rgb(light: Double, yellowBlue: Double, redGreen: Double) -> [UInt8] {
        let blue = light - 2 / 3 * yellowBlue
        let red = (3 * light - blue + redGreen) / 2
        return [byte(red), byte(red - redGreen), byte(blue)]
    }

    private static func byte(_ value: Double) -> UInt8 { UInt8(255 * min(1, max(0, value))) }
}

/// A channel of a ThumbHash as cosine waves.
private struct Channel {
    /// The numbers of half waves across and down.
    let waves: [(across: Int, down: Int)]
    /// The value of the strongest wave.
    let scale: Double

    init(across: Int, down: Int, scale: Double) {
        waves = (0..<down).flatMap { y in
            (0..<across).filter { x in x + y > 0 && x * down < across * (down - y) }.map { ($0, y) }
        }
        self.scale = scale
    }

    /// The value of each pixel, for waves of these strengths.
    func plane(_ width: Int, _ height: Int, _ strengths: [Double]) -> [Double] {
        // At most seven waves, each computed once for each column and row.
        let columns = (0..<7).map { Self.wave($0, width) }
        let rows = (0..<7).map { Self.wave($0, height) }
        var plane = [Double](repeating: 0, count: width * height)
        for (wave, strength) in zip(waves, strengths) {
            let factor = 2 * strength
            for y in 0..<height {
                for x in 0..<width { plane[y * width + x] += factor * columns[wave.across][x] * rows[wave.down][y] }
            }
        }
        return plane
    }

    /// Wave `number` at each of `count` pixels.
    private static func wave(_ number: Int, _ count: Int) -> [Double] {
        (0..<count).map { cos(.pi / Double(count) * (Double($0) + 0.5) * Double(number)) }
    }
}
