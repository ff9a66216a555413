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
