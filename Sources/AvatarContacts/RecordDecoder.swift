internal import AvatarCore
internal import Foundation

/// Cuts a list into its records.
protocol RecordSplitter {
    /// The next record; `nil` after the last one, if the list ends as it should.
    mutating func next() throws(AvatarStoreError) -> RawRecord?
}

/// One record as it was cut out of a list, not yet looked into.
enum RawRecord {
    /// JSON text that should be an object, starting in `line`.
    case json(ArraySlice<UInt8>, line: Int)
    /// A URL, which is all of `line`.
    case url(String, line: Int)
    /// A vCard.
    case card(RawCard)
    /// A record that could not even be cut out whole.
    case unreadable(line: Int, reason: String)

    /// The longest JSON text of one record.
    static let maximumBytes = 1_048_576

    /// A JSON record that is longer than the limit.
    static func tooLarge(line: Int) -> RawRecord {
        .unreadable(line: line, reason: "the record is larger than \(ByteSize.text(maximumBytes))")
    }
}

/// Makes contacts of the records that were cut out of a list.
struct RecordDecoder {
    private let decoder = JSONDecoder()
    /// The cards without `UID` so far.
    private var namesakes = CardNamesakes()

    /// The person that `record` describes, or why it describes none.
    mutating func record(from record: RawRecord) -> ContactRecord {
        switch record {
        case .json(let json, let line): self.record(from: json, line: line)
        // Such a list names no people: each URL stands for one.
        case .url(let url, let line): Contact(id: url, avatarURL: url).record(in: line)
        case .card(let card): CardDecoder(card).record(among: &namesakes)
        case .unreadable(let line, let reason): .unreadable(line: line, reason: reason)
        }
    }

    /// Whether `bytes` are one JSON value and nothing else.
    func isJSON(_ bytes: ArraySlice<UInt8>) -> Bool {
        kind(of: bytes) != nil
    }

    /// Whether `bytes` are one JSON object and nothing else.
    func isObject(_ bytes: ArraySlice<UInt8>) -> Bool {
        kind(of: bytes) == .object
    }

    private func kind(of bytes: ArraySlice<UInt8>) -> JSONValue? {
        do {
            return try decoder.decode(JSONValue.self, from: Data(bytes))
        } catch {
            // That it does not parse is the answer.
            return nil
        }
    }

    private func record(from json: ArraySlice<UInt8>, line: Int) -> ContactRecord {
        guard !JSONScanner.nestsTooDeep(json) else {
            return .unreadable(line: line, reason: "the record nests deeper than \(JSONScanner.maximumNesting) levels")
        }
        do {
            return try decoder.decode(ContactObject.self, from: Data(json)).contact.record(in: line)
        } catch let fault as RecordFault {
            return .unreadable(line: line, reason: fault.reason)
        } catch {
            // Foundation's message counts bytes within the record, which helps nobody.
            return .unreadable(line: line, reason: "the record is not JSON")
        }
    }
}

extension Contact {
    /// The contact as the record that begins in `line`.
    func record(in line: Int) -> ContactRecord {
        var contact = self
        contact.place = ListPlace(line: line)
        return .contact(contact)
    }
}

/// What the id of a contact may be, in every format.
enum ContactID {
    /// The most bytes of UTF-8.
    static let maximumBytes = AvatarKey.maximumNameBytes

    /// `id`, if it can be one. Messages call it `name`.
    static func checked(_ id: String, called name: String) throws(RecordFault) -> String {
        guard !id.isEmpty else { throw RecordFault(reason: "\(name) is empty") }
        guard id.utf8.count <= maximumBytes else {
            throw RecordFault(reason: "\(name) is longer than \(maximumBytes) bytes")
        }
        guard !id.utf8.contains(0) else { throw RecordFault(reason: "\(name) contains a NUL character") }
        return id
    }
}

/// Why a record describes no contact.
struct RecordFault: Error {
    let reason: String
}

extension String {
    /// The text without white space around it.
    var trimmed: String {
        guard let last = lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(self[...last].drop(while: \.isWhitespace))
    }
}

extension Sequence<String> {
    /// Each text once, where it comes first, without empty ones.
    var uniqueTexts: [String] {
        var seen: Set<String> = [""]
        return filter { seen.insert($0).inserted }
    }
}
