import AvatarCore
import Foundation

/// Writes contacts as vCards, with random choices among the spellings that the versions allow.
struct CardWriter {
    private(set) var random: SeededRandom
    private(set) var bytes: [UInt8] = []
    private let lineEnd: [UInt8]
    private var version = "3.0"
    private var line = 1

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        lineEnd = Array(random.pick(["\r\n", "\n", "\r"]).utf8)
    }

    /// Writes a card of an invented contact, and returns the contact as it should be read.
    mutating func writeContact(number: Int) -> Contact {
        version = random.pick(["2.1", "3.0", "4.0"])
        put("BEGIN:VCARD")
        if random.oneIn(2) { put("VERSION:\(version)") } else { put("version:\(version)") }
        var contact = Contact(id: "id-\(number)-\(random.pick(["", "é", "urn:uuid:1", "a b"]))")
        contact.name = random.pick(Self.names)
        putText("UID", contact.id)
        putUnusedLines()
        putText("FN", contact.name ?? "")
        for number in 0..<Int.random(in: 0...3, using: &random) {
            let address = "a\(number)@example.com"
            putText("EMAIL", address)
            contact.emails.append(address)
        }
        var photoCount = 0
        for number in 0..<Int.random(in: 0...3, using: &random) {
            putUnusedLines()
            contact.images.append(putImage(number, photoCount: &photoCount))
        }
        putUnusedLines()
        put("END:VCARD")
        if random.oneIn(3) { put("") }
        return contact
    }

    private static let names = [
        "Ada Lovelace", "Zoë", "山田 太郎", "O'Neil, Jr.; Esq.", "a=b=c=3D", "back\\slash \\n", "🦉 owl 👩‍👩‍👧", "\"q\" ^n: x",
        "أحمد", "one  two   three", String(repeating: "long é ", count: 40) + "end", "=", "x:y;z",
    ]

    // MARK: Properties

    private mutating func putText(_ name: String, _ text: String) {
        let isASCII = text.utf8.allSatisfy { $0 < 0x80 }
        let escaped = escape(text)
        if version != "4.0", random.oneIn(3) {
            let latin = escaped.data(using: .isoLatin1)
            let charset = random.pick(latin == nil ? ["UTF-8", "UTF-16"] : ["UTF-8", "UTF-16", "ISO-8859-1"])
            let data: Data? =
                switch charset {
                case "UTF-16": ("\u{FEFF}" + escaped).data(using: .utf16BigEndian)
                case "ISO-8859-1": latin
                default: Data(escaped.utf8)
                }
            putQuotedPrintable("\(name);CHARSET=\(charset)", Array(data ?? Data()))
        } else {
            let charset = isASCII || version == "4.0" || random.oneIn(2) ? "" : ";CHARSET=utf-8"
            putFolded(head("\(name)\(charset)"), Array(escaped.utf8), mayFoldAnywhere: version != "2.1")
        }
    }

    private mutating func putImage(_ number: Int, photoCount: inout Int) -> ContactImage {
        let url = "https://example.com/photos/\(number)?size=96,96&name=a;b"
        let line = line
        if random.oneIn(3) {
            let spelled = version == "2.1" || random.oneIn(2) ? url : escape(url)
            let head = random.pick(["PHOTO", "PHOTO;VALUE=uri", "photo;type=\"jpeg\";VALUE=URL"])
            putFolded(self.head(head), Array(spelled.utf8), mayFoldAnywhere: true)
            return .url(url)
        }
        // A photo without a declared encoding is detected by the beginning of an image.
        let bytes = Array("GIF89a".utf8) + random.bytes(upTo: 600)
        let base64 = Data(bytes).base64EncodedString()
        switch Int.random(in: 0...3, using: &random) {
        case 0:
            let comma = version == "2.1" || random.oneIn(2) ? "," : "\\,"
            putFolded(head("PHOTO"), Array("data:image/gif;base64\(comma)\(base64)".utf8), mayFoldAnywhere: true)
        case 1:
            let escaped = bytes.map { String(format: "%%%02x", $0) }.joined()
            putFolded(head("PHOTO;VALUE=uri"), Array("data:image/gif,\(escaped)".utf8), mayFoldAnywhere: true)
        case 2:
            put("PHOTO;ENCODING=BASE64;TYPE=GIF:")
            let indent = random.pick(["", " ", "    ", "\t"])
            for start in stride(from: 0, to: base64.count, by: 70) {
                put(indent + String(base64.dropFirst(start).prefix(70)))
            }
            put("")
        default:
            let head = random.pick(["PHOTO;ENCODING=b;TYPE=GIF", "PHOTO;GIF;BASE64", "PHOTO", "PHOTO;ENCODING=\"B\""])
            putFolded(self.head(head), Array(base64.utf8), mayFoldAnywhere: true)
        }
        photoCount += 1
        return .photo(ContactPhoto(number: photoCount, bytes: bytes, line: line))
    }

    /// Writes nothing, or lines that a reader must skip.
    private mutating func putUnusedLines() {
        switch Int.random(in: 0...7, using: &random) {
        case 0: put("")
        case 1:
            put(
                "NOTE;QUOTED-PRINTABLE:PHOTO:https://example.com/no=\(String(decoding: lineEnd, as: UTF8.self))PHOTO:no"
            )
            line += 1
        case 2: put("X-ODD;A=\"BEGIN:VCARD;:\";B=^'^n:END:VCARD")
        case 3: put("LOGO;ENCODING=b:R0lGODlh")
        case 4 where version == "2.1":
            for line in ["AGENT:", "BEGIN:VCARD", "UID:no", "PHOTO:https://example.com/no", "END:VCARD"] { put(line) }
        case 5: put("TEL;TYPE=HOME,pref:1"); put("PHOTO:")
        default: break
        }
    }

    private mutating func head(_ head: String) -> String {
        switch Int.random(in: 0...4, using: &random) {
        case 0: "item\(Int.random(in: 1...9, using: &random)).\(head)"
        case 1: head.lowercased()
        case 2: "\(head);X-ABC=\"a:b\""
        default: head
        }
    }

    private func escape(_ text: String) -> String {
        guard version != "2.1" else { return text.replacing(";", with: "\\;") }
        return text.replacing("\\", with: "\\\\").replacing(",", with: "\\,").replacing(";", with: "\\;")
    }

    // MARK: Lines

    private mutating func put(_ line: String) {
        bytes += Array(line.utf8) + lineEnd
        self.line += 1
    }

    /// Writes a property, folded at random places: anywhere, or at spaces of the value.
    private mutating func putFolded(_ head: String, _ value: [UInt8], mayFoldAnywhere: Bool) {
        let text = Array("\(head):".utf8) + value
        let headCount = text.count - value.count
        for (index, byte) in text.enumerated() {
            let isBlank = byte == UInt8(ascii: " ")
            // Unfolding drops one space or tab. In 2.1 it stays, so the fold must be at a space of the value.
            let mayFold = mayFoldAnywhere || isBlank && index >= headCount
            if index > 0, mayFold, random.oneIn(20) {
                bytes += lineEnd
                line += 1
                if mayFoldAnywhere { bytes.append(random.pick([UInt8(ascii: " "), UInt8(ascii: "\t")])) }
            }
            bytes.append(byte)
        }
        put("")
    }

    /// Writes a property in quoted-printable with soft line breaks at random places.
    private mutating func putQuotedPrintable(_ head: String, _ value: [UInt8]) {
        bytes += Array("\(head);ENCODING=QUOTED-PRINTABLE:".utf8)
        for byte in value {
            if random.oneIn(12) {
                bytes += Array("=".utf8) + lineEnd
                line += 1
            }
            let isPlain = byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "=") && random.oneIn(2)
            bytes += isPlain ? [byte] : Array(String(format: random.oneIn(2) ? "=%02X" : "=%02x", byte).utf8)
        }
        put("")
    }
}
