/// How the items of a HEIF file are coded: the types in the `iinf` box (ISO 14496-12, 8.11.6), and the items that a
/// derived picture is made of, in the `iref` box (8.11.12).
struct HEIFItemInfo {
    /// A picture may be made of one that is made of others. Real files stop at two.
    private static let maximumDerivations = 8
    /// A grid of tiles, layers, another picture as it is, a tone-mapped one: pictures made of others.
    private static let derivedTypes: Set<FourCharacterCode> = ["grid", "iovl", "iden", "tmap"]
    /// HEVC, HEVC in layers, and AV1: the codings that viewers show.
    private static let shownTypes: Set<FourCharacterCode> = ["hvc1", "hev1", "lhv1", "av01"]

    private let items: MediaBox?
    private let references: MediaBox?

    init(in parts: [MediaBox]) {
        items = parts.first { $0.name == "iinf" }
        references = parts.first { $0.name == "iref" }
    }

    /// Refuses the image if `item`, or the first picture that it is made of, has a coding that hardly any viewer shows.
    ///
    /// An item of which no type is known is taken: its brand has said what it is.
    func requireShownCoding(of item: Int64, in reader: inout ByteReader) throws {
        var item = item
        for _ in 0..<Self.maximumDerivations {
            guard let type = try type(of: item, in: &reader), !Self.shownTypes.contains(type) else { return }
            guard Self.derivedTypes.contains(type) else { throw Self.rejection(of: type) }
            guard let source = try firstSource(of: item, in: &reader) else { return }
            item = source
        }
        throw reader.notImage("its picture is made of others without an end")
    }

    private static func rejection(of type: FourCharacterCode) -> ImageRejection {
        let names: [FourCharacterCode: String] = [
            "unci": "an uncompressed picture", "avc1": "a picture coded as AVC (H.264)", "jpeg": "a JPEG picture",
            "j2k1": "a JPEG 2000 picture", "vvc1": "a picture coded as VVC (H.266)",
        ]
        let name = names[type] ?? "a picture in another coding"
        return ImageRejection(
            kind: .notImage,
            message: "The HEIF image holds \(name), which hardly any viewer shows; only HEVC and AV1 are accepted."
        )
    }

    /// The type of `item`; `nil` if the file states none.
    private func type(of item: Int64, in reader: inout ByteReader) throws -> FourCharacterCode? {
        guard let items else { return nil }
        let content = try reader.fullBoxContent(of: items)
        let countByteCount: Int64 = try reader.uint8(at: items.content.lowerBound) == 0 ? 2 : 4
        guard content.count >= countByteCount else { return nil }
        let entries = try reader.boxes(in: (content.lowerBound + countByteCount)..<content.upperBound)
        for entry in entries where entry.name == "infe" {
            let version = try reader.uint8(at: entry.content.lowerBound)
            // Before version 2 an item had a media type instead.
            guard version >= 2 else { continue }
            let idByteCount = version == 2 ? 2 : 4
            let id = try reader.fullBoxContent(of: entry).lowerBound
            guard try reader.integer(at: id, byteCount: idByteCount) == item else { continue }
            // The item's number and that of its protection come first.
            return try reader.name(at: id + Int64(idByteCount) + 2)
        }
        return nil
    }

    /// The first item that `item` is made of.
    private func firstSource(of item: Int64, in reader: inout ByteReader) throws -> Int64? {
        guard let references else { return nil }
        let idByteCount = try reader.uint8(at: references.content.lowerBound) == 0 ? 2 : 4
        for reference in try reader.boxes(in: reader.fullBoxContent(of: references)) where reference.name == "dimg" {
            let start = reference.content.lowerBound
            guard try reader.integer(at: start, byteCount: idByteCount) == item else { continue }
            guard try reader.uint16(at: start + Int64(idByteCount)) > 0 else { return nil }
            return try reader.integer(at: start + Int64(idByteCount) + 2, byteCount: idByteCount)
        }
        return nil
    }
}
