internal import AvatarCore

/// Cuts a list in LDIF (RFC 2849), as `ldapsearch` prints it, into its entries.
///
/// Comments, the version, and the results and references of a search are left out. A record of changes to an entry is unreadable,
/// unless it adds the entry.
struct LDIFSplitter: RecordSplitter {
    /// The limit for one entry in bytes: 33.6 MB, as for a vCard.
    static let maximumBytes = 33_554_432

    private var cursor: ListCursor
    private let limit: Int
    /// Whether an entry has begun. A list with text but no entry is in another format.
    private var hasEntry = false

    /// Attributes that stand outside entries: what a search ended with, and where it would go on.
    private static let outside: Set<String> = ["version", "search", "result", "ref", "control", "text", "matcheddn"]

    /// Creates a splitter for the list at `cursor`, which must be at its beginning.
    ///
    /// - Parameter limit: the limit for one entry in bytes.
    init(cursor: ListCursor, limit: Int = maximumBytes) {
        self.cursor = cursor
        self.limit = limit
    }

    mutating func next() throws(AvatarStoreError) -> RawRecord? {
        while let first = try firstLine() {
            var record = LDIFRecord(line: first.number, limit: limit)
            var line: LDIFLine? = first
            var isDropped = false
            while let part = line, !part.isBlank {
                isDropped = !record.add(part) || isDropped
                line = try nextLine()
            }
            if let fault = record.endFault, try cursor.peek() == nil {
                throw cursor.fault(fault, line: record.lastLine)
            }
            if let raw = try raw(record, isDropped: isDropped) { return raw }
        }
        return nil
    }

    /// The raw record of `record`; `nil` for the end of a search and other records outside entries.
    private mutating func raw(_ record: LDIFRecord, isDropped: Bool) throws(AvatarStoreError) -> RawRecord? {
        // Its lines are not all attributes.
        if record.hasName, let change = record.change, change != "add" {
            hasEntry = true
            return .unreadable(
                line: record.line,
                reason: "the record is a change (`changetype: \(change)`), not an entry"
            )
        }
        if let line = record.malformedLine {
            guard hasEntry || record.hasName else {
                throw cursor.fault("this is not LDIF: expected an attribute and a colon", line: line)
            }
            hasEntry = true
            return .unreadable(line: record.line, reason: "line \(line) has no attribute with a colon")
        }
        if let result = record.result, result.prefix(while: { $0 != " " }) != "0" {
            // As `4 Size limit exceeded`. A sync that prunes would unlink the rest.
            throw cursor.fault("the search did not return all entries: its result is `\(result)`", line: record.line)
        }
        guard record.hasName else {
            // `version: 1` may stand right before the first entry, or alone.
            guard !record.names.allSatisfy(Self.outside.contains) else { return nil }
            guard hasEntry else {
                throw cursor.fault("this is not LDIF: expected `dn:`", line: record.line)
            }
            return .unreadable(line: record.line, reason: "the record has no `dn`")
        }
        hasEntry = true
        guard !isDropped else {
            let limit = ByteSize.limit(limit)
            return .unreadable(line: record.line, reason: "the entry is larger than the limit of \(limit)")
        }
        return .whole(record)
    }

    /// The first line that is not blank; `nil` at the end of the list.
    private mutating func firstLine() throws(AvatarStoreError) -> LDIFLine? {
        while let line = try nextLine() {
            if !line.isBlank { return line }
        }
        return nil
    }

    /// The next line with those that continue it, without comments; `nil` at the end of the list.
    private mutating func nextLine() throws(AvatarStoreError) -> LDIFLine? {
        while var line = try physicalLine() {
            while !line.isBlank, try cursor.peek() == .space {
                cursor.advance()
                guard let rest = try physicalLine() else { break }
                line.append(rest, limit: limit)
            }
            if line.bytes.first != UInt8(ascii: "#") { return line }
        }
        return nil
    }

    private mutating func physicalLine() throws(AvatarStoreError) -> LDIFLine? {
        guard try cursor.peek() != nil else { return nil }
        let number = cursor.line
        var held = HeldBytes(limit: limit)
        let isEnded = try cursor.pass(keeping: &held) { byte, _ in byte == .lineFeed }
        if isEnded { cursor.advance() }
        var bytes = held.bytes
        if bytes.last == .carriageReturn { bytes.removeLast() }
        return LDIFLine(number: number, bytes: bytes, isTooLong: held.isTooLong)
    }
}

/// A line of LDIF with its continuations.
private struct LDIFLine {
    let number: Int
    var bytes: [UInt8]
    var isTooLong: Bool

    var isBlank: Bool { bytes.isEmpty }

    mutating func append(_ rest: LDIFLine, limit: Int) {
        isTooLong = isTooLong || rest.isTooLong || bytes.count + rest.bytes.count > limit
        if !isTooLong { bytes += rest.bytes }
    }
}

/// An entry of LDIF: the attributes that a contact is made of, not yet decoded.
struct LDIFRecord {
    /// The attributes that are read, in lower case.
    fileprivate enum Name: String {
        case dn
        case entryUUID = "entryuuid"
        case objectGUID = "objectguid"
        case uid
        case displayName = "displayname"
        case commonName = "cn"
        case mail
        case jpegPhoto = "jpegphoto"
        case thumbnailPhoto = "thumbnailphoto"
        case photo
    }

    /// A value with its line.
    fileprivate struct Value {
        let name: Name
        let bytes: [UInt8]
        /// Whether the bytes are base64.
        let isCoded: Bool
        /// Whether the bytes are a URL that names the value (`attribute:< URL`).
        let isReference: Bool
        let line: Int
    }

    /// The line in which it begins, counted from 1.
    let line: Int
    /// The last line so far.
    fileprivate private(set) var lastLine: Int
    /// The names of all attributes in lower case, up to eight: to tell a record without a `dn`.
    fileprivate private(set) var names: [String] = []
    fileprivate private(set) var values: [Value] = []
    /// The kind of change, in lower case; `nil` for an entry.
    fileprivate private(set) var change: String?
    /// The result of a search that ends here, as `0 Success`; `nil` in an entry.
    fileprivate private(set) var result: String?
    /// Whether it has a `dn`.
    fileprivate private(set) var hasName = false
    /// The reason why the last value is incomplete; `nil` if it may be complete.
    fileprivate private(set) var endFault: String?
    /// The first line without an attribute and a colon; `nil` if all lines have both.
    fileprivate private(set) var malformedLine: Int?
    private var size = 0
    private let limit: Int

    fileprivate init(line: Int, limit: Int) {
        (self.line, lastLine, self.limit) = (line, line, limit)
    }

    /// Adds a line. Returns `false` if that would be too much for one entry.
    fileprivate mutating func add(_ part: LDIFLine) -> Bool {
        lastLine = part.number
        endFault = nil
        guard let colon = part.bytes.firstIndex(of: .colon), colon > 0 else {
            malformedLine = malformedLine ?? part.number
            return true
        }
        // Options such as `;binary` or a language do not matter.
        let name = String(decoding: part.bytes[..<colon].prefix { $0 != .semicolon }, as: UTF8.self).lowercased()
        if names.count < 8 { names.append(name) }
        var value = part.bytes[(colon + 1)...]
        let isCoded = value.first == .colon
        let isReference = value.first == UInt8(ascii: "<")
        if isCoded || isReference { value = value.dropFirst() }
        value = value.drop { $0 == .space }
        if isCoded, value.count(where: Base64.uses) % 4 != 0 {
            endFault = "the list is cut short: it ends within the base64 of `\(name)`"
        }
        if name == "changetype" { change = String(decoding: value, as: UTF8.self).lowercased() }
        if name == "dn" { hasName = true }
        if name == "result", !hasName { result = String(decoding: value.prefix(64), as: UTF8.self) }
        guard let name = Name(rawValue: name) else { return !part.isTooLong }
        size += value.count
        guard !part.isTooLong, size <= limit else { return false }
        values.append(
            Value(name: name, bytes: Array(value), isCoded: isCoded, isReference: isReference, line: part.number)
        )
        return true
    }
}

extension LDIFRecord: UndecodedRecord {
    func contact(after earlier: inout EarlierRecords) -> ContactRecord {
        EntryDecoder(self).record()
    }
}

/// Decodes an entry of LDIF into a contact.
private struct EntryDecoder {
    private let entry: LDIFRecord

    /// Creates a decoder for one entry.
    init(_ entry: LDIFRecord) {
        self.entry = entry
    }

    /// Returns the contact of the entry, or the reason why it is unreadable: it has no id then.
    func record() -> ContactRecord {
        do throws(RecordFault) {
            let contact = Contact(id: try id, name: name, emails: emails, images: images)
            return contact.record(in: entry.line)
        } catch {
            return .unreadable(line: entry.line, reason: error.reason)
        }
    }

    /// `entryUUID`, `objectGUID`, `uid`, else the distinguished name.
    private var id: String {
        get throws(RecordFault) {
            for name in [LDIFRecord.Name.entryUUID, .objectGUID, .uid, .dn] {
                guard let value = entry.values.first(where: { $0.name == name }) else { continue }
                let bytes = try bytes(of: value)
                let id = name == .objectGUID ? Self.guid(bytes) : text(bytes)
                guard let id else { throw Self.fault(value, "is not text") }
                if !id.isEmpty { return try ContactID.checked(id, called: "`\(value.name.spelling)`") }
            }
            throw RecordFault(reason: "the entry has no `entryUUID`, `objectGUID` or `uid`, and an empty `dn`")
        }
    }

    private var name: String? { (texts(.displayName) + texts(.commonName)).first }

    private var emails: [String] { texts(.mail).filter { $0.contains("@") }.uniqueTexts }

    /// The photos: `jpegPhoto`, `thumbnailPhoto`, `photo`, in this order.
    private var images: [ContactImage] {
        let names = [LDIFRecord.Name.jpegPhoto, .thumbnailPhoto, .photo]
        let photos = names.flatMap { name in entry.values.filter { $0.name == name } }.filter { !$0.bytes.isEmpty }
        return photos.enumerated().map { number, value in
            do throws(RecordFault) {
                return .photo(ContactPhoto(number: number + 1, bytes: try bytes(of: value), line: value.line))
            } catch {
                return .unreadable(UnreadableContactImage(number: number + 1, line: value.line, reason: error.reason))
            }
        }
    }

    /// The texts of an attribute that are not empty. One that cannot be decoded is left out.
    private func texts(_ name: LDIFRecord.Name) -> [String] {
        entry.values.filter { $0.name == name }.compactMap { value in
            do throws(RecordFault) {
                return text(try bytes(of: value))
            } catch {
                return nil
            }
        }
        .filter { !$0.isEmpty }
    }

    private func bytes(of value: LDIFRecord.Value) throws(RecordFault) -> [UInt8] {
        // A list must not make the program read files.
        guard !value.isReference else { throw Self.fault(value, "is a reference to a file, which is not read") }
        guard value.isCoded else { return value.bytes }
        do throws(DecodingFault) {
            return try Base64.bytes(of: value.bytes[...])
        } catch {
            throw Self.fault(value, error.problem)
        }
    }

    private func text(_ bytes: [UInt8]) -> String? {
        String(validating: bytes, as: UTF8.self)?.trimmed
    }

    private static func fault(_ value: LDIFRecord.Value, _ problem: String) -> RecordFault {
        RecordFault(reason: "`\(value.name.spelling)` \(problem)")
    }

    /// The text of a GUID of Active Directory, whose first three groups have their bytes in reverse; other bytes as text.
    private static func guid(_ bytes: [UInt8]) -> String? {
        guard bytes.count == 16 else { return String(validating: bytes, as: UTF8.self) }
        let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15].map { bytes[$0] }
        let groups = [order[0..<4], order[4..<6], order[6..<8], order[8..<10], order[10..<16]]
        return groups.map { Hexadecimal.text($0) }.joined(separator: "-")
    }
}

extension LDIFRecord.Name {
    /// The name as schemas spell it, for messages.
    fileprivate var spelling: String {
        switch self {
        case .entryUUID: "entryUUID"
        case .objectGUID: "objectGUID"
        case .displayName: "displayName"
        case .jpegPhoto: "jpegPhoto"
        case .thumbnailPhoto: "thumbnailPhoto"
        default: rawValue
        }
    }
}
