internal import AvatarCore
internal import Foundation

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
