internal import AvatarCore
internal import AvatarFoundation

/// Cuts the text of a list into its records, one implementation per format.
///
/// A splitter finds the ends of records without decoding them, so `ContactList.validate()` can check a whole list cheaply
/// before the first contact is used. `RecordDecoder` turns a record into a contact.
protocol RecordSplitter {
    /// Returns the next record, or `nil` after the last one.
    ///
    /// - Throws: `unreadableList` if the list is not in its format, is cut short or cannot be read.
    mutating func next() throws(AvatarStoreError) -> RawRecord?
}

/// A record cut out of a list, not yet decoded.
enum RawRecord {
    /// JSON text that should be an object and begins in `line`, counted from 1.
    case json(ArraySlice<UInt8>, line: Int)
    /// A URL that fills `line`, unchecked.
    case url(String, line: Int)
    /// A vCard, split into properties.
    case card(RawCard)
    /// An entry of LDIF.
    case entry(LDIFRecord)
    /// A row of comma-separated values that begins in `line`, and the columns of its list.
    case row([UInt8], of: CSVColumns, line: Int)
    /// A record that is not kept, because it is malformed or over a limit. `reason` is a sentence without its full stop.
    case unreadable(line: Int, reason: String)

    /// The limit for one record of JSON or CSV, in bytes: 32 MiB, as for a vCard, because an image may be embedded.
    static let maximumBytes = 33_554_432

    /// Makes the record for JSON text over the limit.
    static func tooLarge(line: Int, limit: Int) -> RawRecord {
        .unreadable(line: line, reason: "the record is larger than the limit of \(ByteSize.limit(limit))")
    }
}

/// Decodes the records of a list into contacts.
///
/// It has state: ids for cards without `UID` and rows without an id depend on the records before them.
struct RecordDecoder {
    private let decoder = JSONDecoder()
    /// Counts the records without an id so far, so that each gets an id of its own.
    private var namesakes = Namesakes()
    /// Recognizes JSON fields that are not spelled as usual.
    private var spellings = FieldSpellings()
    /// The fields of a JSON list that the caller names; empty for other lists.
    private let columns: [ContactList.Column: [String]]
    /// The field with images that is not read.
    private(set) var unreadImage = UnreadImageField()
    /// Whether the list has a field for images.
    private(set) var imageFields = ImageFieldSurvey()
    /// The columns of a CSV list without ids and names; `nil` for other lists and before the first contact.
    private(set) var columnsWithoutIdentity: [String]?

    /// Creates a decoder for one list.
    ///
    /// - Parameters:
    ///   - previous: The decoder of the list before this one, if both are read as one. Default: none.
    ///   - columns: The fields of a JSON list that the caller names. Default: none.
    init(after previous: RecordDecoder? = nil, columns: [ContactList.Column: [String]] = [:]) {
        self.columns = columns
        guard let previous else { return }
        (namesakes, spellings) = (previous.namesakes, previous.spellings)
    }

    /// Decodes a record into a contact, or into the reason why it is unreadable.
    ///
    /// The contact of a list of URLs has its URL as its id, because such a list has no ids.
    mutating func record(from record: RawRecord) -> ContactRecord {
        switch record {
        case .json(let json, let line): self.record(from: json, line: line)
        case .url(let url, let line): Contact(id: url, avatarURL: url).record(in: line)
        case .card(let card): CardDecoder(card).record(among: &namesakes)
        case .entry(let entry): EntryDecoder(entry).record()
        case .row(let bytes, let columns, let line): self.record(from: bytes, of: columns, line: line)
        case .unreadable(let line, let reason): .unreadable(line: line, reason: reason)
        }
    }

    /// Whether `bytes` are exactly one JSON value.
    func isJSON(_ bytes: ArraySlice<UInt8>) -> Bool {
        kind(of: bytes) != nil
    }

    /// Whether `bytes` are exactly one JSON object.
    func isObject(_ bytes: ArraySlice<UInt8>) -> Bool {
        kind(of: bytes) == .object
    }

    /// The value in `bytes`; `nil` if they are not valid JSON.
    private func kind(of bytes: ArraySlice<UInt8>) -> JSONValue? {
        do {
            return try decoder.decode(JSONValue.self, from: Data(bytes))
        } catch {
            // A parse error is an answer here, not a failure.
            return nil
        }
    }

    /// Decodes the row of one contact.
    private mutating func record(from row: [UInt8], of columns: CSVColumns, line: Int) -> ContactRecord {
        let record = RowDecoder(row, columns: columns).record(in: line, among: &namesakes, unread: &unreadImage)
        guard case .contact = record else { return record }
        if columns.photo == nil { imageFields.note(columns.allNames, hasEmails: !columns.emails.isEmpty) }
        if columnsWithoutIdentity == nil, !columns.haveIdentity { columnsWithoutIdentity = columns.allNames }
        return record
    }

    /// Decodes the JSON object of one contact.
    private mutating func record(from json: ArraySlice<UInt8>, line: Int) -> ContactRecord {
        // Only the general decoder reads fields of any name.
        let plain = columns.isEmpty ? PlainFields(json) : nil
        guard plain != nil || !JSONScanner.nestsTooDeep(json) else {
            let limit = JSONScanner.maximumNesting
            return .unreadable(line: line, reason: "the record nests deeper than the limit of \(limit) levels")
        }
        do {
            let unusual = plain?.hasUnusualNames == false ? [] : JSONMembers.unusual(in: json)
            let names = unusual.isEmpty ? [:] : spellings.names(in: unusual)
            let object =
                if let plain, names.isEmpty {
                    try ContactObject(plain, line: line)
                } else {
                    try decoder.decode(
                        ContactObject.self,
                        from: Data(json),
                        configuration: ContactObject.Reading(spellings: names, columns: columns, line: line)
                    )
                }
            let contact = object.contact
            if object.hasImageField {
                imageFields.noteImageField()
            } else {
                imageFields.note(JSONMembers.names(in: json), hasEmails: !contact.emails.isEmpty)
            }
            if !contact.images.isEmpty {
                unreadImage.noteImage()
            } else if !unreadImage.isSettled, columns[.photo] == nil {
                noteUnreadImage(among: unusual, except: names.values)
            }
            return contact.record(in: line)
        } catch let fault as RecordFault {
            return .unreadable(line: line, reason: fault.reason)
        } catch {
            // Foundation's message gives an offset within the record, which means nothing in the file.
            return .unreadable(line: line, reason: "the record is not valid JSON")
        }
    }

    /// Notes the fields of a contact without an image that seem to have one.
    private mutating func noteUnreadImage(among members: [JSONMembers.Member], except read: some Collection<String>) {
        for member in members where member.isWebAddress {
            let name = String(decoding: member.name, as: UTF8.self)
            if !read.contains(name) { unreadImage.note(name, isImageAddress: member.isImageAddress) }
        }
    }
}

extension Contact {
    /// Wraps the contact in a record that begins in `line`, counted from 1.
    func record(in line: Int) -> ContactRecord {
        var contact = self
        contact.place = ListPlace(line: line)
        return .contact(contact)
    }
}

extension ContactRecord {
    /// The record with its number in a JSON array, counted from 1.
    func numbered(_ number: Int) -> ContactRecord {
        switch self {
        case .contact(var contact):
            contact.place?.record = number
            return .contact(contact)
        case .unreadable(let line, let reason, let list, _):
            return .unreadable(line: line, reason: reason, list: list, record: number)
        }
    }
}

/// The rules for the id of a contact in a format that has ids: JSON, NDJSON and vCard.
enum ContactID {
    /// The limit for an id, in bytes of UTF-8.
    static let maximumBytes = AvatarKey.maximumNameBytes

    /// Returns `id` if it is valid.
    ///
    /// - Parameters:
    ///   - id: The id as the list spells it.
    ///   - name: The name of the field in messages, in backquotes.
    /// - Throws: `RecordFault` if the id is empty, over the limit or contains a NUL character.
    static func checked(_ id: String, called name: String) throws(RecordFault) -> String {
        guard !id.isEmpty else { throw RecordFault(reason: "\(name) must not be empty") }
        guard id.utf8.count <= maximumBytes else {
            throw RecordFault(reason: "\(name) has \(id.utf8.count) bytes; the limit is \(maximumBytes) bytes")
        }
        guard !id.utf8.contains(0) else { throw RecordFault(reason: "\(name) must not contain a NUL character") }
        return id
    }
}

/// The reason why a record is unreadable.
struct RecordFault: Error {
    /// The reason as a sentence without its full stop.
    let reason: String
}

extension String {
    /// The text without white space at either end.
    var trimmed: String {
        guard let last = lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(self[...last].drop(while: \.isWhitespace))
    }
}

extension Sequence<String> {
    /// The texts without duplicates and empty ones, in the order of their first occurrences.
    var uniqueTexts: [String] {
        var seen: Set<String> = [""]
        return filter { seen.insert($0).inserted }
    }
}
