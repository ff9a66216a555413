internal import AvatarCore

/// Reads the photos of a card.
///
/// What a value is shows in the value: base64 has no colon, so that whatever begins like a URI is one, and what decodes
/// to the beginning of an image is that image. `VALUE` is of no use: programs write it, leave it out and get it wrong.
struct CardImages {
    /// The images, photos before logos, and the preferred ones first.
    private(set) var images: [ContactImage] = []
    private let text: CardText
    private var photoCount = 0

    /// Reads the photos of `card`, whose values `text` decodes.
    init(of card: RawCard, text: CardText) {
        self.text = text
        for property in card.properties(.photo) + card.properties(.logo) {
            if let image = image(of: property) { images.append(image) }
        }
    }

    /// The image that `property` names; `nil` if its value is empty: many programs write `PHOTO:` for no photo.
    private mutating func image(of property: CardProperty) -> ContactImage? {
        let encoding = property.head.parameters.encoding
        switch Self.scheme(of: property.value) {
        case let scheme? where scheme.spells("DATA"):
            let uri = address(in: property)
            return photo(in: property) { () throws(DecodingFault) in try DataURI.bytes(of: uri) }
        case nil where encoding == .base64:
            return photo(in: property) { () throws(DecodingFault) in try Base64.bytes(of: property.value[...]) }
        case nil where encoding == .plain:
            return undeclaredImage(in: property)
        default:
            return image(at: address(in: property), in: property)
        }
    }

    private mutating func photo(
        in property: CardProperty,
        decoded: () throws(DecodingFault) -> [UInt8]
    ) -> ContactImage? {
        let line = property.line
        do {
            let bytes = try decoded()
            guard !bytes.isEmpty else { return nil }
            photoCount += 1
            return .photo(ContactPhoto(number: photoCount, bytes: bytes, line: line))
        } catch {
            photoCount += 1
            let reason = property.fault(error.problem).reason
            return .unreadable(UnreadableContactImage(number: photoCount, line: line, reason: reason))
        }
    }

    /// The image in a value that does not say what it is: base64 if an image comes out, else an address.
    private mutating func undeclaredImage(in property: CardProperty) -> ContactImage? {
        var bytes: [UInt8] = []
        do {
            bytes = try Base64.bytes(of: property.value[...])
        } catch {
            // That it is no base64 is the answer.
        }
        guard !bytes.isEmpty, ImageInspector.couldBeImage(prefix: bytes.prefix(4096)) else {
            return image(at: address(in: property), in: property)
        }
        return photo(in: property) { () throws(DecodingFault) in bytes }
    }

    private func image(at address: ArraySlice<UInt8>, in property: CardProperty) -> ContactImage? {
        do throws(RecordFault) {
            guard address.count <= CardText.maximumBytes else { throw property.fault(CardText.tooLong) }
            let url = try text.text(of: Array(address), in: property).trimmed
            return url.isEmpty ? nil : .url(url)
        } catch {
            return .unreadable(UnreadableContactImage(number: nil, line: property.line, reason: error.reason))
        }
    }

    // MARK: Addresses

    /// The value of `property` as a URI: no blanks at its ends nor where it is folded, and no backslashes. A backslash
    /// is no part of a URI, but programs put one before each comma and colon.
    private func address(in property: CardProperty) -> ArraySlice<UInt8> {
        let bytes = text.plainBytes(of: property, keepingBlanks: false).trimmed
        guard bytes.contains(.backslash) else { return bytes }
        var address: [UInt8] = []
        address.reserveCapacity(bytes.count)
        var rest = bytes
        while let byte = rest.popFirst() {
            let isEscape = byte == .backslash && rest.first.map(Self.escapable.contains) ?? false
            address.append(isEscape ? rest.removeFirst() : byte)
        }
        return address[...]
    }

    private static let escapable: [UInt8] = [.backslash, .comma, .colon, .semicolon]

    /// The scheme that `value` begins with; `nil` if it begins with none. One letter is no scheme but a drive.
    private static func scheme(of value: [UInt8]) -> ArraySlice<UInt8>? {
        let beginning = value.prefix(256).filter { !$0.isBlank && $0 != .backslash }
        guard let colon = beginning.firstIndex(of: .colon), colon > 1 else { return nil }
        let isScheme = beginning[..<colon].map(\.uppercased).allSatisfy { byte in
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) || schemeMarks.contains(byte)
        }
        return isScheme ? beginning[..<colon] : nil
    }

    /// What else a scheme consists of (RFC 3986 section 3.1).
    private static let schemeMarks = Array("0123456789+-.".utf8)
}
