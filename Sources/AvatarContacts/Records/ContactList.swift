internal import AvatarCore

/// A contact list, read as a stream of contacts.
///
/// The list is read in chunks. Memory use depends on the largest record, not on the length of the list. A record has a
/// limit: 33.6 MB for JSON, CSV, a vCard and an entry of LDIF, 65.5 kB for a line of text.
///
/// Each iteration starts at the beginning, so a caller can `validate()` the whole list first and then act on its records.
/// An unreadable record is an element of the stream, and the records after it follow. A fault that makes the whole list
/// unreadable is thrown.
///
/// Reading blocks the calling thread for as long as the file system takes.
public struct ContactList: Sendable {
    /// The file format of the list.
    public let format: Format
    /// Whether the logos of vCards count as images too, after the photos. Default: `false`, as a logo rarely shows the contact.
    public var includesLogos = false
    /// The columns of a CSV list or the fields of a JSON or NDJSON list that hold a part of the contact, by their names; ignored by
    /// other formats.
    ///
    /// They take the place of the columns and fields that are known by name. The texts of several for `name` are joined by
    /// spaces, and each for `email` has an address; `id` and `photo` have one. In JSON, `picture.large` is the field `large` of the
    /// object `picture`, or of the first object of an array. `email` for `id` is the first e-mail address, unless a column or field has
    /// that name. Default: none.
    public var columns: [Column: [String]] = [:]
    /// The most bytes of a record of JSON or CSV: 32 MiB, as for a vCard, because an image may be embedded.
    package var recordLimit = 33_554_432
    /// The bytes of the list, readable from the start by each iterator.
    let source: ListSource

    init(source: ListSource, format: Format) {
        self.source = source
        self.format = format
    }
}

extension ContactList {
    /// The file format of a contact list. The raw value is its spelling in options and messages.
    public enum Format: String, CaseIterable, Sendable {
        /// JSON (RFC 8259): an array of objects, or an object with such an array under `contacts`. Extension `.json`.
        case json
        /// Newline-delimited JSON, one object per line. Extensions `.ndjson` and `.jsonl`.
        case ndjson
        /// vCard 2.1, 3.0 (RFC 2426) and 4.0 (RFC 6350), any number of cards per file. Extensions `.vcf` and `.vcard`.
        case vcard
        /// Comma-separated values (RFC 4180) whose first row names the columns, also with semicolons or tabs. Extensions
        /// `.csv` and `.tsv`.
        case csv
        /// LDIF (RFC 2849), as `ldapsearch` prints it, with photos in base64. Extension `.ldif`.
        case ldif
        /// One URL per line. Blank lines and lines that begin with `#` are skipped. Extension `.txt`.
        case text

        /// Chooses the format by the extension of the file name, ignoring case.
        ///
        /// - Parameter path: A path or file name. The result is `nil` if it has no extension or an unknown one.
        public init?(path: String) {
            let fileName = path.split(separator: "/").last ?? ""
            guard let dot = fileName.lastIndex(of: ".") else { return nil }
            switch fileName[dot...].dropFirst().lowercased() {
            case "json": self = .json
            case "ndjson", "jsonl": self = .ndjson
            case "vcf", "vcard": self = .vcard
            case "csv", "tsv": self = .csv
            case "ldif": self = .ldif
            case "txt": self = .text
            default: return nil
            }
        }
    }
}

extension ContactList.Format {
    /// The advice in the error message about an unknown file name extension.
    static var choices: String {
        "pass --format with one of \(allCases.map(\.rawValue).joined(separator: ", "))"
    }
}

extension ContactList {
    /// The usual names of the field with the image's URL, in CSV, JSON and NDJSON.
    package static let imageFieldNames = ["avatarURL", "avatar", "photo", "picture", "image"]

    /// The fields of a list that has none for images.
    public struct FieldsWithoutImage: Hashable, Sendable {
        /// The names: of all columns of a CSV list, or of the fields of the first contact in JSON and NDJSON.
        public let names: [String]
        /// Whether the list has a column for e-mail addresses, or any contact so far has an address.
        public internal(set) var hasEmails: Bool
    }

    /// A part of a contact that a column of a CSV list or a field of a JSON list holds. The raw value is its spelling in options and messages.
    public enum Column: String, CaseIterable, Sendable {
        /// The id.
        case id
        /// The display name, or a part of it.
        case name
        /// An e-mail address, or several with ` ::: ` between them.
        case email
        /// The URL of the image, or a `data:` URL with its bytes.
        case photo
    }
}
