extension ContactList {
    /// How a contact list is written. The raw value is the spelling for options and messages.
    public enum Format: String, CaseIterable, Sendable {
        /// RFC 8259: an array of objects, or an object with such an array under `contacts`. Files `.json`.
        case json
        /// One JSON object a line. Files `.ndjson` and `.jsonl`.
        case ndjson
        /// vCard 2.1, 3.0 (RFC 2426) and 4.0 (RFC 6350), many cards in one file. Files `.vcf`.
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
            case "vcf", "vcard": self = .vcard
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

    /// What cuts the list in `source` into its records. `includesLogos` if the logos of cards count as images.
    func splitter(of source: ListSource, includesLogos: Bool) -> any RecordSplitter {
        switch self {
        case .json: JSONSplitter(cursor: ListCursor(source: source))
        case .ndjson: NDJSONSplitter(cursor: ListCursor(source: source))
        case .vcard:
            VCardSplitter(cursor: ListCursor(source: source, intake: VCardIntake()), includesLogos: includesLogos)
        case .text: TextSplitter(cursor: ListCursor(source: source))
        }
    }
}
