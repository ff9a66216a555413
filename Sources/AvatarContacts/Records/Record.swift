internal import AvatarCore

/// Cuts the text of a list into its records, one implementation per format.
///
/// A splitter finds the ends of records without decoding them, so `ContactList.validate()` can check a whole list cheaply
/// before the first contact is used. A record then decodes itself.
protocol RecordSplitter {
    /// Returns the next record, or `nil` after the last one.
    ///
    /// - Throws: `unreadableList` if the list is not in its format, is cut short or cannot be read.
    mutating func next() throws(AvatarStoreError) -> RawRecord?
}

/// A record cut out of a list, not yet decoded.
enum RawRecord {
    /// A record that its format can decode.
    case whole(any UndecodedRecord)
    /// A record that is not kept, because it is malformed or over a limit. `reason` is a sentence without its full stop.
    case unreadable(line: Int, reason: String)

    /// Makes the record for one over the limit.
    static func tooLarge(line: Int, limit: Int) -> RawRecord {
        .unreadable(line: line, reason: "the record is larger than the limit of \(ByteSize.limit(limit))")
    }

    /// Decodes the record into a contact, or into the reason why it is unreadable.
    func contact(after earlier: inout EarlierRecords) -> ContactRecord {
        switch self {
        case .whole(let record): record.contact(after: &earlier)
        case .unreadable(let line, let reason): .unreadable(line: line, reason: reason)
        }
    }
}

/// A record with all its bytes, one type per format.
protocol UndecodedRecord {
    /// Decodes the record into a contact, or into the reason why it is unreadable.
    ///
    /// - Parameter earlier: The records before this one, which is added.
    func contact(after earlier: inout EarlierRecords) -> ContactRecord
}

/// The state of a list after some of its records: ids for cards without `UID` and rows without an id depend on those before them.
struct EarlierRecords {
    /// Counts the records without an id, so that each gets an id of its own.
    var namesakes = Namesakes()
    /// The field with images that is not read.
    var unreadImage = UnreadImageField()
    /// Whether the list has a field for images.
    var imageFields = ImageFieldSurvey()
    /// The columns of a CSV list without ids and names; `nil` for other lists and before the first contact.
    var columnsWithoutIdentity: [String]?

    /// Before the first record of a list.
    ///
    /// - Parameter list: The records of the list before this one, if both are read as one; their ids are not given again. Default: none.
    init(ofList list: EarlierRecords? = nil) {
        if let list { namesakes = list.namesakes }
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
