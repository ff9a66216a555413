extension ThumbHash {
    /// The blurred image as a PNG file of 3 to 5 kB. Images without transparent parts have no alpha channel.
    public var png: [UInt8] {
        let image = image
        let channels = hasAlpha ? 4 : 3
        var rows: [UInt8] = []
        rows.reserveCapacity(image.height * (1 + channels * image.width))
        for pixel in 0..<(image.width * image.height) {
            // Each row begins with its filter type: 0, none.
            if pixel % image.width == 0 { rows.append(0) }
            rows += image.rgba[(4 * pixel)..<(4 * pixel + channels)]
        }
        var header = Self.bigEndian(UInt32(image.width)) + Self.bigEndian(UInt32(image.height))
        header += [8, hasAlpha ? 6 : 2, 0, 0, 0]
        return [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + Self.chunk("IHDR", header)
            + Self.chunk("IDAT", Self.stored(rows)) + Self.chunk("IEND", [])
    }

    /// A chunk of a PNG file.
    package static func chunk(_ type: String, _ body: [UInt8]) -> [UInt8] {
        let content = Array(type.utf8) + body
        return bigEndian(UInt32(body.count)) + content + bigEndian(crc(content))
    }

    /// `bytes`, at most 65,535 of them, as a zlib stream with one uncompressed block.
    private static func stored(_ bytes: [UInt8]) -> [UInt8] {
        let count = UInt16(bytes.count)
        let lengths = [UInt8(count & 255), UInt8(count >> 8), UInt8(~count & 255), UInt8(~count >> 8)]
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in bytes {
            low = (low + UInt32(byte)) % 65521
            high = (high + low) % 65521
        }
        return [0x78, 0x01, 0x01] + lengths + bytes + bigEndian(high << 16 | low)
    }

    /// The CRC-32 of a chunk.
    private static func crc(_ bytes: [UInt8]) -> UInt32 {
        var sum = UInt32.max
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 0 ? sum >> 1 : (sum >> 1) ^ 0xedb8_8320 }
        }
        return ~sum
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
