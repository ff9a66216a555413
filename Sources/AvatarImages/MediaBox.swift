/// A box of the ISO base media file format (ISO 14496-12, 4.2): a length, a name, and content that may be more boxes.
/// HEIF, AVIF and JPEG 2000 files consist of boxes.
struct MediaBox {
    /// The type of the box, for example `meta`.
    let name: FourCharacterCode
    /// The offsets of the content, which follows the length and the name.
    let content: Range<Int64>
}

extension ByteReader {
    /// The maximum number of boxes at one level. No real image has as many; the limit bounds memory for hostile files.
    private static let maximumBoxes = 4096

    /// The top-level boxes of the file. Trailing bytes that do not start a known box are ignored.
    ///
    /// A truncated file ends inside a box. The name of that box distinguishes it from foreign trailing bytes.
    ///
    /// - Throws: `ImageRejection` of kind `truncated` or `notImage`; any error that the byte source throws.
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

    /// Top-level boxes of HEIF, movie and JPEG 2000 files.
    private static let fileBoxNames: Set<FourCharacterCode> = [
        "ftyp", "meta", "mdat", "moov", "moof", "mfra", "free", "skip", "wide", "uuid", "jP  ", "jp2h", "jp2c",
    ]

    /// The boxes that fill `range`, in file order.
    ///
    /// Each box must fit into the range. Trailing bytes that are too few for a box count as a truncated box.
    ///
    /// - Throws: `ImageRejection` of kind `truncated` or `notImage`; any error that the byte source throws.
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

    /// Called before each box is read, with the number of boxes so far.
    ///
    /// - Throws: `ImageRejection` of kind `notImage` at the limit.
    private func requireFewerBoxes(than count: Int) throws {
        guard count < Self.maximumBoxes else { throw notImage("it has more than \(Self.maximumBoxes) boxes") }
    }

    /// The content of a full box, without its leading version and flags (4 bytes).
    mutating func fullBoxContent(of box: MediaBox) throws -> Range<Int64> {
        guard box.content.count >= 4 else { throw notImage("a box is too short for its version") }
        return (box.content.lowerBound + 4)..<box.content.upperBound
    }

    /// Reads the header of the box at `offset` (ISO 14496-12, 4.2). The box must end by `end`.
    ///
    /// - Throws: `ImageRejection` of kind `truncated` if it ends later, `notImage` if its length does not cover its own
    ///   header.
    private mutating func box(at offset: Int64, end: Int64) throws -> MediaBox {
        guard end - offset >= 8 else { throw truncated("it ends inside the header of a box") }
        var length = try uint32(at: offset)
        var headerByteCount: Int64 = 8
        if length == 1 {
            // A length of 1 means that a 64-bit length follows the name; 0 means up to the end.
            guard end - offset >= 16 else { throw truncated("it ends inside the header of a box") }
            length = try integer(at: offset + 8, byteCount: 8)
            headerByteCount = 16
        } else if length == 0 {
            length = end - offset
        }
        guard length >= headerByteCount else { throw notImage("a box is shorter than its own header") }
        guard length <= end - offset else { throw truncated("a box extends beyond the end") }
        return try MediaBox(name: name(at: offset + 4), content: (offset + headerByteCount)..<(offset + length))
    }
}

/// Distinguishes HEIF, HEIC and AVIF images from movies by the brands in the first box, `ftyp` (ISO 14496-12, 4.3;
/// ISO 23008-12, 10; AV1 Image File Format, 6).
enum MediaBrands {
    /// The offset of the compatible brands, after the box's size, its name, the major brand and a version.
    private static let firstCompatibleBrand = 16

    /// Compares `prefix`, the first bytes of a file, with the known brands.
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

    /// Whether `bytes` may begin a box size below 65,536. Two leading zero bytes rule out nearly every text.
    private static func couldBeSize(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.prefix(2).allSatisfy { $0 == 0 }
    }

    /// The format of the first brand that names a coding. The major brand comes first and so has precedence.
    private static func format(ofBrands brands: [String]) -> ImageFormat? {
        brands.lazy.compactMap { codings[$0] }.first ?? (brands.contains { anyCoding.contains($0) } ? .heif : nil)
    }

    /// Brands that name the coding: AV1 or HEVC, for still images and for sequences.
    private static let codings: [String: ImageFormat] = [
        "avif": .avif, "avis": .avif,
        "heic": .heic, "heix": .heic, "heim": .heic, "heis": .heic,
        "hevc": .heic, "hevx": .heic, "hevm": .heic, "hevs": .heic,
    ]

    /// Brands of HEIF files that may use any coding.
    private static let anyCoding: Set<String> = ["mif1", "mif2", "msf1"]
}
