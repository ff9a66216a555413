/// Writes a PNG chunk by chunk (PNG, third edition). The zlib stream in it holds stored blocks only (RFC 1951 section
/// 3.2.4), which makes the length of the file a plain sum.
struct PNGWriter {
    /// A chunk's length, type and CRC around its data.
    private static let chunkOverhead = 12
    /// The longest stored block, and what stands in front of each.
    private static let longestBlock = 65535
    private static let blockOverhead = 5
    /// What stands around the blocks: two bytes of zlib header, four of Adler-32.
    private static let streamOverhead = 6

    /// The file so far.
    private(set) var bytes: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// Starts a picture; `colourType` is 2 for red, green, blue and 3 for a palette.
    init(width: Int, height: Int, bitDepth: UInt8, colourType: UInt8, byteCount: Int) {
        bytes.reserveCapacity(byteCount)
        chunk("IHDR") { data in
            data.appendBigEndian(UInt32(width))
            data.appendBigEndian(UInt32(height))
            data += [bitDepth, colourType, 0, 0, 0]
        }
    }

    /// The length of a whole file with these rows and one comment of `commentLength` bytes.
    static func byteCount(rowBytes: Int, commentLength: Int) -> Int {
        let header = 8 + chunkOverhead + 13
        let comment = chunkOverhead + "Comment\0".utf8.count + commentLength
        return header + comment + chunkOverhead + streamByteCount(rowBytes) + chunkOverhead
    }

    /// A palette for colour type 3, as red, green, blue.
    mutating func palette(_ colours: [[UInt8]]) {
        chunk("PLTE") { $0 += colours.joined() }
    }

    /// A comment that viewers skip.
    mutating func comment(_ text: String) {
        chunk("tEXt") { $0 += "Comment\0\(text)".utf8 }
    }

    /// The rows, each with its filter byte in front.
    mutating func rows(_ rows: [UInt8]) {
        chunk("IDAT") { data in
            data += [0x78, 0x01]
            var start = 0
            repeat {
                let end = min(start + Self.longestBlock, rows.count)
                let length = UInt16(end - start)
                data.append(end == rows.count ? 1 : 0)
                data.appendLittleEndian(length)
                data.appendLittleEndian(~length)
                data += rows[start..<end]
                start = end
            } while start < rows.count
            data.appendBigEndian(Checksum.adler32(rows))
        }
    }

    /// Ends the file.
    mutating func end() {
        chunk("IEND") { _ in }
    }

    private static func streamByteCount(_ rowBytes: Int) -> Int {
        let blocks = max(1, (rowBytes + longestBlock - 1) / longestBlock)
        return streamOverhead + blocks * blockOverhead + rowBytes
    }

    /// Appends a chunk; its length is filled in after `write` has appended the data.
    private mutating func chunk(_ type: String, write: (inout [UInt8]) -> Void) {
        let start = bytes.count
        bytes += [0, 0, 0, 0]
        bytes += type.utf8
        write(&bytes)
        let length = UInt32(bytes.count - start - 8)
        for (index, shift) in [24, 16, 8, 0].enumerated() {
            bytes[start + index] = UInt8(truncatingIfNeeded: length >> UInt32(shift))
        }
        bytes.appendBigEndian(Checksum.crc32(bytes[(start + 4)...]))
    }
}

/// The two checksums of a PNG. The loops work on pointers because pictures of many megabytes are also made in
/// unoptimised test builds, where array subscripts are slow.
enum Checksum {
    /// CRC-32 as PNG uses it over a chunk's type and data (PNG, third edition, section 5.5 and annex D).
    static func crc32(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.withUnsafeBufferPointer { bytes in
            crcTable.withUnsafeBufferPointer { table in
                var crc: UInt32 = 0xFFFF_FFFF
                var index = 0
                while index < bytes.count {
                    crc = table[Int((crc ^ UInt32(bytes[index])) & 0xFF)] ^ (crc >> 8)
                    index &+= 1
                }
                return ~crc
            }
        }
    }

    /// Adler-32 as a zlib stream ends with it (RFC 1950 section 8.2).
    static func adler32(_ bytes: [UInt8]) -> UInt32 {
        bytes.withUnsafeBufferPointer { bytes in
            var low: UInt32 = 1
            var high: UInt32 = 0
            var index = 0
            while index < bytes.count {
                // The longest run after which `high` still fits 32 bits.
                let end = min(index + 5552, bytes.count)
                while index < end {
                    low &+= UInt32(bytes[index])
                    high &+= low
                    index &+= 1
                }
                low %= 65521
                high %= 65521
            }
            return high << 16 | low
        }
    }

    private static let crcTable: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
    }
}

extension [UInt8] {
    /// Appends the most significant byte first, as PNG and zlib do.
    mutating func appendBigEndian(_ value: UInt32) {
        for shift: UInt32 in [24, 16, 8, 0] {
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    /// Appends the least significant byte first, as deflate, GIF and BMP do.
    mutating func appendLittleEndian<Integer: FixedWidthInteger>(_ value: Integer) {
        var rest = value
        for _ in 0..<(Integer.bitWidth / 8) {
            append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
    }
}
