import AvatarStore

/// Watches the data of an Adam7 PNG grow. Its first pass holds a 64th of the pixels.
struct InterlacedPNG {
    private var doubling = Doubling(first: 256)

    /// A decoder draws a PNG from any number of its bytes.
    mutating func advance(_ source: any ByteSource, total: Int?) throws -> Int? {
        let count = source.byteCount
        if let total, count >= total { return nil }
        return doubling.reached(count, of: total, parts: 32) ? count : nil
    }
}
