/// Reads a PNG with stored (uncompressed) data, and checks every length and checksum. The sums are computed the slow
/// way, apart from the code under test.
struct PNGStructure {
    enum Fault: Error {
        case signature, chunk, checksum, stream
    }

    private(set) var types: [String] = []
    private(set) var width = 0
    private(set) var height = 0
    /// The rows with their filter bytes.
    private(set) var rows: [UInt8] = []

    init(_ bytes: [UInt8]) throws {
        guard bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) else { throw Fault.signature }
        var rest = bytes.dropFirst(8)
        while !rest.isEmpty {
            let length = Self.number(rest.prefix(4))
            guard rest.count >= length + 12 else { throw Fault.chunk }
            let typed = rest.dropFirst(4).prefix(length + 4)
            guard Self.number(rest.dropFirst(length + 8).prefix(4)) == Self.crc(typed) else { throw Fault.checksum }
            try read(String(decoding: typed.prefix(4), as: UTF8.self), Array(typed.dropFirst(4)))
            rest = rest.dropFirst(length + 12)
        }
    }

    /// The palette indexes of an image with two bits a pixel.
    func twoBitPixels() -> [[UInt8]] {
        let length = 1 + (width + 3) / 4
        return stride(from: 0, to: rows.count, by: length).map { start in
            (0..<width).map { rows[start + 1 + $0 / 4] >> UInt8(6 - $0 % 4 * 2) & 3 }
        }
    }

    private mutating func read(_ type: String, _ data: [UInt8]) throws {
        types.append(type)
        switch type {
        case "IHDR": (width, height) = (Self.number(data[..<4]), Self.number(data[4..<8]))
        // The second one has no pixels.
        case "IDAT" where rows.isEmpty: rows = try Self.inflate(data)
        default: break
        }
    }

    private static func inflate(_ stream: [UInt8]) throws -> [UInt8] {
        guard stream.count >= 11, (Int(stream[0]) << 8 | Int(stream[1])) % 31 == 0 else { throw Fault.stream }
        var output: [UInt8] = []
        var position = 2
        var isLast = false
        while !isLast {
            guard stream.count >= position + 5, stream[position] < 2 else { throw Fault.stream }
            isLast = stream[position] == 1
            let length = Int(stream[position + 1]) | Int(stream[position + 2]) << 8
            let complement = Int(stream[position + 3]) | Int(stream[position + 4]) << 8
            position += 5
            guard length ^ complement == 0xFFFF, stream.count >= position + length else { throw Fault.stream }
            output += stream[position..<(position + length)]
            position += length
        }
        guard stream.count == position + 4, number(stream[position...]) == adler(output) else { throw Fault.checksum }
        return output
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int {
        bytes.reduce(0) { $0 << 8 | Int($1) }
    }

    private static func crc(_ bytes: ArraySlice<UInt8>) -> Int {
        var remainder: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            remainder ^= UInt32(byte)
            for _ in 0..<8 {
                remainder = remainder & 1 == 1 ? remainder >> 1 ^ 0xEDB8_8320 : remainder >> 1
            }
        }
        return Int(~remainder)
    }

    private static func adler(_ bytes: [UInt8]) -> Int {
        let sums = bytes.reduce((1, 0)) { sums, byte in
            let low = (sums.0 + Int(byte)) % 65521
            return (low, (sums.1 + low) % 65521)
        }
        return sums.1 << 16 | sums.0
    }
}
