internal import AvatarCore

extension ContactList {
    /// How a contact list is written. The raw value is the spelling for options and messages.
    public enum Format: String, CaseIterable, Sendable {
        /// RFC 8259: an array of objects, or an object with such an array under `contacts`. Files `.json`.
        case json
        /// One JSON object a line. Files `.ndjson` and `.jsonl`.
        case ndjson
        /// vCard, many cards in one file. Files `.vcf`. Not read yet: opening such a list throws.
        case vcard
        /// One URL a line; blank lines and lines that begin with `#` are skipped. Files `.txt`.
        case text

        /// The format that the extension of the file name in `path` stands for, in upper or lower case; else `nil`.
        public init?(path: String) {
            let fileName = path.split(separator: "/").last ?? ""
            guard let dot = fileName.lastIndex(of: ".") else { return nil }
            switch fileName[dot...].dropFirst().lowercased() {
            case "json": self = .json
            case "ndjson", "jsonl": self = .ndjson
            case "vcf": self = .vcard
            case "txt": self = .text
            default: return nil
            }
        }
    }
}

extension ContactList.Format {
    /// What a person can do about a file name that tells nothing.
    static var choices: String {
        "give --format with one of \(allCases.map(\.rawValue).joined(separator: ", "))"
    }

    /// Refuses a format that has a name but no reader.
    func requireReader(for name: String) throws(AvatarStoreError) {
        if self == .vcard { throw VCardSplitter.notReadYet(name) }
    }

    func splitter(of cursor: ListCursor) -> any RecordSplitter {
        switch self {
        case .json: JSONSplitter(cursor: cursor)
        case .ndjson: NDJSONSplitter(cursor: cursor)
        case .vcard: VCardSplitter(name: cursor.name)
        case .text: TextSplitter(cursor: cursor)
        }
    }
}
