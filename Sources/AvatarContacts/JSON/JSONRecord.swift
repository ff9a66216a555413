internal import AvatarCore
internal import AvatarFoundation

/// JSON text that should be an object, in a JSON or NDJSON list.
struct JSONRecord: UndecodedRecord {
    let json: ArraySlice<UInt8>
    /// The line in which the text begins, counted from 1.
    let line: Int
    let reading: JSONReading

    func contact(after earlier: inout EarlierRecords) -> ContactRecord {
        // Only the general decoder reads fields of any name.
        let plain = reading.columns.isEmpty ? PlainFields(json) : nil
        guard plain != nil || !JSONScanner.nestsTooDeep(json) else {
            let limit = JSONScanner.maximumNesting
            return .unreadable(line: line, reason: "the record nests deeper than the limit of \(limit) levels")
        }
        do {
            let unusual = plain?.hasUnusualNames == false ? [] : JSONMembers.unusual(in: json)
            let names = unusual.isEmpty ? [:] : reading.spellings.names(in: unusual)
            let object =
                if let plain, names.isEmpty {
                    try ContactObject(plain, line: line)
                } else {
                    try reading.decoder.decode(
                        ContactObject.self,
                        from: Data(json),
                        configuration: ContactObject.Reading(spellings: names, columns: reading.columns, line: line)
                    )
                }
            let contact = object.contact
            if object.hasImageField {
                earlier.imageFields.noteImageField()
            } else {
                earlier.imageFields.note(JSONMembers.names(in: json), hasEmails: !contact.emails.isEmpty)
            }
            if !contact.images.isEmpty {
                earlier.unreadImage.noteImage()
            } else if !earlier.unreadImage.isSettled, reading.columns[.photo] == nil {
                Self.note(unusual, except: names.values, in: &earlier.unreadImage)
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
    private static func note(
        _ members: [JSONMembers.Member],
        except read: some Collection<String>,
        in unread: inout UnreadImageField
    ) {
        for member in members where member.isWebAddress {
            let name = String(decoding: member.name, as: UTF8.self)
            if !read.contains(name) { unread.note(name, isImageAddress: member.isImageAddress) }
        }
    }
}

/// The records of one list share this: a decoder, and the spellings that were recognized.
final class JSONReading {
    /// The fields that the caller names.
    let columns: [ContactList.Column: [String]]
    fileprivate let decoder = JSONDecoder()
    fileprivate var spellings = FieldSpellings()

    init(columns: [ContactList.Column: [String]]) {
        self.columns = columns
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
}
