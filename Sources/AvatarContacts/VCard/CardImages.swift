internal import AvatarCore
internal import AvatarImages

/// Decodes the photos and logos of a card.
///
/// The value itself decides whether it is a URI or base64. Base64 has no colon, so a value that begins with a scheme is a
/// URI; a value that decodes to the beginning of an image is that image. The parameter `VALUE` is ignored, because
/// programs omit it or get it wrong.
struct CardImages {
    /// The images: photos before logos, each with the preferred ones first.
    private(set) var images: [ContactImage] = []
    private let text: CardText
    /// The number of embedded photos so far, including unreadable ones.
    private var photoCount = 0

    /// Decodes the images of `card`.
    ///
    /// - Parameters:
    ///   - card: The card. It has logos only if the splitter was asked to keep them.
    ///   - text: The decoder for the values of the card.
    init(of card: RawCard, text: CardText) {
        self.text = text
        for property in card.properties(.photo) + card.properties(.logo) {
            if let image = image(of: property) { images.append(image) }
        }
    }

    /// Decodes one image; `nil` if the value is empty, because many programs write an empty `PHOTO:` for no photo.
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

    /// Makes an embedded photo, numbered in order; `nil` if it has no bytes. A photo that cannot be decoded also counts.
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

    /// Decodes a value that declares no encoding: base64 if it decodes to the beginning of an image, otherwise a URL.
    private mutating func undeclaredImage(in property: CardProperty) -> ContactImage? {
        var bytes: [UInt8] = []
        do {
            bytes = try Base64.bytes(of: property.value[...])
        } catch {
            // A decoding error is an answer here: the value is a URL.
        }
        guard !bytes.isEmpty, ImageInspector.couldBeImage(prefix: bytes.prefix(4096)) else {
            return image(at: address(in: property), in: property)
        }
        return photo(in: property) { () throws(DecodingFault) in bytes }
    }

    /// Makes an image at a URL, which is not checked; `nil` if the URL is blank.
    private func image(at address: ArraySlice<UInt8>, in property: CardProperty) -> ContactImage? {
        do throws(RecordFault) {
            guard address.count <= CardText.maximumBytes else { throw property.fault(CardText.tooLong) }
            let url = try text.text(of: Array(address), in: property).trimmed
            return url.isEmpty ? nil : .url(url)
        } catch {
            return .unreadable(UnreadableContactImage(number: nil, line: property.line, reason: error.reason))
        }
    }

    // MARK: URLs

    /// The value of `property` as a URI, without white space at its ends and folds, and without escapes.
    ///
    /// A URI has no backslashes, but programs write one before each comma and colon.
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

    /// The bytes that a backslash may escape.
    private static let escapable: [UInt8] = [.backslash, .comma, .colon, .semicolon]

    /// The scheme at the beginning of `value`; `nil` without one. A single letter is a drive, not a scheme.
    private static func scheme(of value: [UInt8]) -> ArraySlice<UInt8>? {
        let beginning = value.prefix(256).filter { !$0.isBlank && $0 != .backslash }
        guard let colon = beginning.firstIndex(of: .colon), colon > 1 else { return nil }
        let isScheme = beginning[..<colon].map(\.uppercased).allSatisfy { byte in
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) || schemeMarks.contains(byte)
        }
        return isScheme ? beginning[..<colon] : nil
    }

    /// The bytes other than letters that a scheme may have (RFC 3986 section 3.1).
    private static let schemeMarks = Array("0123456789+-.".utf8)
}
