/// Writes a PNG chunk by chunk (PNG, third edition). Its zlib stream holds stored blocks only (RFC 1951 section 3.2.4), so
/// that the length of the file is a sum.
struct PNGWriter {
    /// Bytes for a chunk's length, type and CRC.
    private static let chunkOverhead = 12
    /// The most data bytes of a stored block.
    private static let longestBlock = 65535
    /// Bytes of the header of a stored block.
    private static let blockOverhead = 5
    /// Bytes around the blocks: two of zlib header, four of Adler-32.
    private static let streamOverhead = 6

    /// The file so far.
    private(set) var bytes: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// Starts an image.
    ///
    /// - Parameters:
    ///   - width: In pixels.
    ///   - height: In pixels.
    ///   - bitDepth: Bits per sample or palette index.
    ///   - colourType: 2 for red, green and blue; 3 for a palette.
    ///   - byteCount: The expected length of the file, to reserve memory for.
    init(width: Int, height: Int, bitDepth: UInt8, colourType: UInt8, byteCount: Int) {
        bytes.reserveCapacity(byteCount)
        chunk("IHDR") { data in
            data.appendBigEndian(UInt32(width))
            data.appendBigEndian(UInt32(height))
            data += [bitDepth, colourType, 0, 0, 0]
        }
    }

    /// The length of a whole file in bytes, without a palette.
    ///
    /// - Parameters:
    ///   - rowBytes: The bytes of all rows, with their filter bytes.
    ///   - markLength: The bytes of its one mark.
    static func byteCount(rowBytes: Int, markLength: Int) -> Int {
        let header = 8 + chunkOverhead + 13
        let mark = chunkOverhead + "Comment\0".utf8.count + markLength
        return header + mark + chunkOverhead + streamByteCount(rowBytes) + chunkOverhead
    }

    /// Appends the palette for colour type 3. Each colour is red, green and blue.
    mutating func palette(_ colours: [[UInt8]]) {
        chunk("PLTE") { $0 += colours.joined() }
    }

    /// Appends the rows, each after its filter byte.
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

    /// Appends a text behind the end of the zlib stream, where decoders read no further.
    mutating func mark(_ text: String) {
        chunk("IDAT") { $0 += "Comment\0\(text)".utf8 }
    }

    /// Ends the file.
    mutating func end() {
        chunk("IEND") { _ in }
    }

    private static func streamByteCount(_ rowBytes: Int) -> Int {
        let blocks = max(1, (rowBytes + longestBlock - 1) / longestBlock)
        return streamOverhead + blocks * blockOverhead + rowBytes
    }

    /// Appends a chunk. `write` appends the data; the length is filled in afterwards.
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

/// The two checksums of a PNG. The loops use pointers, because tests make images of many megabytes in unoptimised builds,
/// where array subscripts are slow.
enum Checksum {
    /// The CRC-32 of a chunk's type and data (PNG, third edition, section 5.5 and annex D).
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

    /// The Adler-32 at the end of a zlib stream (RFC 1950 section 8.2).
    static func adler32(_ bytes: [UInt8]) -> UInt32 {
        bytes.withUnsafeBufferPointer { bytes in
            var low: UInt32 = 1
            var high: UInt32 = 0
            var index = 0
            while index < bytes.count {
                // After at most 5,552 bytes `high` still fits 32 bits.
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
    /// Appends `value`, most significant byte first, as in PNG and zlib.
    mutating func appendBigEndian(_ value: UInt32) {
        for shift: UInt32 in [24, 16, 8, 0] {
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    /// Appends `value`, least significant byte first, as in deflate, GIF and BMP.
    mutating func appendLittleEndian<Integer: FixedWidthInteger>(_ value: Integer) {
        var rest = value
        for _ in 0..<(Integer.bitWidth / 8) {
            append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
    }
}
