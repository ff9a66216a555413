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
