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
