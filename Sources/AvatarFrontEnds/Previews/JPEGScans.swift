import AvatarStore

/// Walks the markers of a JPEG (ITU-T T.81, annex B) as it arrives. A progressive one can be drawn after each scan.
struct JPEGScans {
    /// Whether it comes from top to bottom.
    private(set) var isPlain = false
    /// The next byte to look at: a marker or, inside a scan, its data.
    private var position = 2
    private var isInScan = false
    private var isProgressive = false

    /// The length up to the end of the last scan that has ended since the last call.
    mutating func advance(_ source: any ByteSource) throws -> Int? {
        var preview: Int?
        while !isPlain {
            if isInScan {
                guard try skipData(source) else { break }
                isInScan = false
                preview = position
            } else {
                guard try skipSegment(source) else { break }
            }
        }
        return preview
    }

    /// Goes to the marker that ends the data of a scan; false if it has not come.
    private mutating func skipData(_ source: any ByteSource) throws -> Bool {
        while position + 1 < source.byteCount {
            let bytes = try source.bytes(at: position, count: min(1 << 16, source.byteCount - position))
            guard bytes.count > 1 else { return false }
            for index in 0..<(bytes.count - 1) where bytes[index] == 0xFF && Self.endsScan(bytes[index + 1]) {
                position += index
                return true
            }
            // The last byte may be the first half of a marker.
            position += bytes.count - 1
        }
        return false
    }

    /// Not a stuffed zero, a fill byte, or a restart marker.
    private static func endsScan(_ code: UInt8) -> Bool {
        code != 0 && code != 0xFF && !(0xD0...0xD7).contains(code)
    }

    /// Goes behind the next segment; false if it has not come, or nothing more is of interest.
    private mutating func skipSegment(_ source: any ByteSource) throws -> Bool {
        guard position + 4 <= source.byteCount else { return false }
        let head = try source.bytes(at: position, count: 4)
        guard head.count == 4, head[0] == 0xFF else { return stop() }
        let code = head[1]
        if code == 0xFF {
            position += 1
            return true
        }
        if code == 0xD9 { return stop() }
        let end = position + 2 + Int(head[2]) << 8 + Int(head[3])
        guard end <= source.byteCount else { return false }
        switch code {
        case 0xC2, 0xC6, 0xCA, 0xCE:
            isProgressive = true
        case 0xDA:
            guard isProgressive else { return stop() }
            isInScan = true
        default:
            break
        }
        position = end
        return true
    }

    private mutating func stop() -> Bool {
        isPlain = true
        return false
    }
}
