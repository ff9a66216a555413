import AvatarFoundation

/// A contact with its image as a vCard 3.0 (RFC 2426), the version that address books exchange.
enum ContactCard {
    /// The formats that address books read in a card of this version.
    static let mediaTypes: Set = ["image/jpeg", "image/png", "image/gif"]

    /// The card of the contact `id`.
    ///
    /// - Parameters:
    ///   - name: the display name; `nil` for a contact without one, whose card shows the id.
    ///   - photo: the bytes of the image.
    ///   - mediaType: the media type of the bytes, one of `mediaTypes`.
    static func text(id: String, name: String?, photo: [UInt8], mediaType: String) -> [UInt8] {
        let label = escaped(name ?? id)
        let type = mediaType.split(separator: "/").last.map { $0.uppercased() } ?? "JPEG"
        let lines = [
            "BEGIN:VCARD", "VERSION:3.0", "UID:\(escaped(id))", "FN:\(label)",
            // A card must have the property N, but the parts of the name are not known.
            "N:;\(label);;;", "PHOTO;ENCODING=b;TYPE=\(type):\(Data(photo).base64EncodedString())", "END:VCARD",
        ]
        return lines.flatMap(folded)
    }

    /// The value with the special characters of vCard escaped.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\", ",", ";": escaped += "\\\(character)"
            case "\n": escaped += "\\n"
            // vCard has no escape for other control characters.
            case _ where character.properties.generalCategory == .control: escaped += " "
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }

    /// Folds a line: at most 75 bytes each, continued on lines that begin with a space. No UTF-8 character is split.
    private static func folded(_ line: String) -> [UInt8] {
        var folded: [UInt8] = []
        var rest = Array(line.utf8)[...]
        var room = 75
        while rest.count > room {
            var end = rest.startIndex + room
            while rest[end] & 0xC0 == 0x80 { end -= 1 }
            folded += rest[..<end]
            folded += "\r\n ".utf8
            rest = rest[end...]
            room = 74
        }
        return folded + rest + "\r\n".utf8
    }
}
