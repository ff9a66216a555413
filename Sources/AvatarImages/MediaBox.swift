/// A box of the ISO base media file format (ISO 14496-12, 4.2), on which HEIF, AVIF and JPEG 2000 files are built:
/// its length, its name, and content that may be boxes again.
struct MediaBox {
    let name: FourCharacterCode
    /// Where the bytes behind the length and the name are.
    let content: Range<Int64>
}

extension ByteReader {
    /// More than any image has side by side; it bounds the memory that a hostile file can ask for.
    private static let maximumBoxes = 4096

    /// The boxes of the whole file. Bytes behind the last one that do not begin a known box are left out.
    ///
    /// Boxes cover the file, so a file that was cut short ends inside one, whose name tells it from other bytes.
    mutating func fileBoxes() throws -> [MediaBox] {
        var boxes: [MediaBox] = []
        var offset: Int64 = 0
        while byteCount - offset >= 8 {
            try requireFewerBoxes(than: boxes.count)
            do {
                boxes.append(try box(at: offset, end: byteCount))
            } catch let rejection as ImageRejection {
                guard try Self.fileBoxNames.contains(name(at: offset + 4)) else { break }
                throw rejection
            }
            offset = boxes[boxes.count - 1].content.upperBound
        }
        return boxes
    }

    /// Boxes outside other boxes, as HEIF, films and JPEG 2000 have them.
    private static let fileBoxNames: Set<FourCharacterCode> = [
        "ftyp", "meta", "mdat", "moov", "moof", "mfra", "free", "skip", "wide", "uuid", "jP  ", "jp2h", "jp2c",
    ]

    /// The boxes that fill `range`, in their order.
    ///
    /// Each one must fit into the range. Bytes behind the last one that are no box are a box that was cut short.
    mutating func boxes(in range: Range<Int64>) throws -> [MediaBox] {
        var boxes: [MediaBox] = []
        var offset = range.lowerBound
        while offset < range.upperBound {
            try requireFewerBoxes(than: boxes.count)
            let box = try box(at: offset, end: range.upperBound)
            boxes.append(box)
            offset = box.content.upperBound
        }
        return boxes
    }

    private func requireFewerBoxes(than count: Int) throws {
        guard count < Self.maximumBoxes else { throw notImage("it has more than \(Self.maximumBoxes) boxes") }
    }

    /// The content of the version and the flags that many boxes begin with left out.
    mutating func fullBoxContent(of box: MediaBox) throws -> Range<Int64> {
        guard box.content.count >= 4 else { throw notImage("a box is too short for its version") }
        return (box.content.lowerBound + 4)..<box.content.upperBound
    }

    private mutating func box(at offset: Int64, end: Int64) throws -> MediaBox {
        guard end - offset >= 8 else { throw truncated("its last bytes are no whole box") }
        var length = try uint32(at: offset)
        var headerByteCount: Int64 = 8
        if length == 1 {
            guard end - offset >= 16 else { throw truncated("its last bytes are no whole box") }
            length = try integer(at: offset + 8, byteCount: 8)
            headerByteCount = 16
        } else if length == 0 {
            length = end - offset
        }
        guard length >= headerByteCount else { throw notImage("a box is shorter than its own header") }
        guard length <= end - offset else { throw truncated("a box reaches beyond the end") }
        return try MediaBox(name: name(at: offset + 4), content: (offset + headerByteCount)..<(offset + length))
    }
}

/// Tells HEIF and its kin from other files in the ISO base media format, such as films, by the brands in the first
/// box (ISO 14496-12, 4.3; ISO 23008-12, 10; AV1 Image File Format, 6).
enum MediaBrands {
    /// The box begins with its size, its name, the major brand and a version; the compatible brands follow.
    private static let firstCompatibleBrand = 16

    static func verdict(on prefix: [UInt8]) -> ImageSignature.Verdict {
        let name = Array("ftyp".utf8)
        guard prefix.dropFirst(4).starts(with: name.prefix(max(0, prefix.count - 4))) else { return .unknown }
        guard prefix.count >= 12 else { return couldBeSize(prefix.prefix(4)) ? .undecided : .unknown }
        let size = prefix.prefix(4).reduce(0) { $0 << 8 | Int64($1) }
        let end = Int(min(size, Int64(prefix.count)))
        var brands = [prefix[8..<12]]
        brands += stride(from: firstCompatibleBrand, to: end - 3, by: 4).map { prefix[$0..<($0 + 4)] }
        if let format = format(ofBrands: brands.map { String(decoding: $0, as: UTF8.self) }) {
            return .format(format)
        }
        return size > prefix.count && prefix.count < ImageSignature.longestPrefix ? .undecided : .unknown
    }

    /// The box has 12 to 65,535 bytes, so that its first bytes rule out nearly every text.
    private static func couldBeSize(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.prefix(2).allSatisfy { $0 == 0 }
    }

    /// By the major brand, which comes first, if it says how the picture is coded; else by the first one that does.
    private static func format(ofBrands brands: [String]) -> ImageFormat? {
        brands.lazy.compactMap { codings[$0] }.first ?? (brands.contains { anyCoding.contains($0) } ? .heif : nil)
    }

    private static let codings: [String: ImageFormat] = [
        "avif": .avif, "avis": .avif,
        "heic": .heic, "heix": .heic, "heim": .heic, "heis": .heic,
        "hevc": .heic, "hevx": .heic, "hevm": .heic, "hevs": .heic,
    ]

    private static let anyCoding: Set<String> = ["mif1", "mif2", "msf1"]
}
