public import AvatarCore

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
public struct ContactList: RepeatableRecords, Sendable {
    /// A contact, or the reason why its record cannot be read.
    public typealias Element = ContactRecord

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
    /// The most bytes of a record of JSON or CSV.
    package var recordLimit = RawRecord.maximumBytes
    /// The bytes of the list, readable from the start by each iterator.
    private let source: ListSource

    /// Creates a list from bytes in memory.
    ///
    /// - Parameters:
    ///   - bytes: The whole list.
    ///   - format: The format of the bytes.
    ///   - name: The name of the list in messages.
    public init(bytes: [UInt8], format: Format, name: String = "the contact list") {
        self.init(source: ListSource(name: name, bytes: bytes), format: format)
    }

    /// Opens the list at `path`. The file stays open until the list and its iterators are gone.
    ///
    /// Bytes appended to the file later are not read. A pipe or device is copied to a temporary file first, which blocks
    /// until it ends.
    ///
    /// - Parameters:
    ///   - path: The path of the file, which is also its name in messages.
    ///   - format: The format of the list, or `nil` to choose by the extension of the file name.
    /// - Throws: `unreadableList` if the file does not exist, is a directory or may not be read, if copying a pipe or
    ///   device fails, or if `format` is `nil` and the extension is unknown.
    public static func open(file path: String, format: Format? = nil) throws(AvatarStoreError) -> ContactList {
        let file = try ListFile.open(path)
        guard let format = format ?? Format(path: path) else {
            throw .unreadableList(path, "the file name does not tell the format of the list; \(Format.choices)")
        }
        return ContactList(source: ListSource(name: path, file: try file.rereadable(name: path)), format: format)
    }

    /// Copies the input at `descriptor` to an unlinked temporary file, and opens the copy as a list.
    ///
    /// Copying starts at the descriptor's current offset and ends at its end; for a pipe it blocks until the writer
    /// closes its end. The caller keeps the descriptor, which is not closed.
    ///
    /// - Parameters:
    ///   - descriptor: An open file descriptor; 0 for standard input.
    ///   - name: The name of the list in messages.
    ///   - format: The format of the list.
    /// - Throws: `unreadableList` if the input cannot be read or the copy cannot be written.
    public static func open(
        descriptor: Int32,
        name: String = "standard input",
        format: Format
    ) throws(AvatarStoreError) -> ContactList {
        let file = try ListFile.spooled(from: descriptor, name: name)
        return ContactList(source: ListSource(name: name, file: file), format: format)
    }

    init(source: ListSource, format: Format) {
        self.source = source
        self.format = format
    }

    /// Reads the list once from beginning to end, without decoding its records.
    ///
    /// - Returns: The number of records, including unreadable ones. It is 0 for an empty JSON array, for a CSV list of a header
    ///   row, and for an empty list of lines or cards.
    /// - Throws: `unreadableList` if the list as a whole is unreadable: it is not UTF-8 (vCards may use other charsets),
    ///   not in its format, of the wrong shape, cut short, continues after its end, or the file cannot be read. The
    ///   message names the list, the line and the expected text.
    public func validate() throws(AvatarStoreError) -> Int {
        var splitter = makeSplitter()
        var count = 0
        while try splitter.next() != nil {
            count += 1
        }
        return count
    }

    /// Returns an iterator that starts at the first record.
    public func makeAsyncIterator() -> AsyncIterator {
        makeAsyncIterator(after: nil)
    }

    /// Returns an iterator that starts at the first record, for one of several lists that are read as one.
    ///
    /// A vCard without `UID` and a CSV row without an id get an id that no record of the earlier lists has.
    ///
    /// - Parameter previous: The iterator of the list before this one; `nil` for the first list.
    package func makeAsyncIterator(after previous: AsyncIterator?) -> AsyncIterator {
        AsyncIterator(
            splitter: makeSplitter(),
            decoder: RecordDecoder(
                after: previous?.decoder,
                columns: [.json, .ndjson].contains(format) ? columns : [:]
            ),
            records: format == .json ? 0 : nil
        )
    }

    private func makeSplitter() -> any RecordSplitter {
        format.splitter(of: source, includesLogos: includesLogos, columns: columns, recordLimit: recordLimit)
    }

    /// Iterates over the records of a list in their order.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// Cuts out the next record; `nil` once the list has ended or failed.
        private var splitter: (any RecordSplitter)?
        /// Turns records into contacts, and remembers the records without an id.
        fileprivate var decoder: RecordDecoder
        /// The number of records so far; `nil` in formats whose lines tell the place of a record.
        private var records: Int?

        fileprivate init(splitter: any RecordSplitter, decoder: RecordDecoder, records: Int?) {
            self.splitter = splitter
            self.decoder = decoder
            self.records = records
        }

        /// The name of the JSON field or CSV column with the URLs of images that is not read, such as `portraitUrl`.
        ///
        /// It has a word for an image in its name and a web address as its value, in a contact without an image. A name that
        /// only ends in `url`, or an address that ends like an image file, counts as long as no contact has an image. `nil` if
        /// no record so far has such a field.
        public var unreadImageField: String? { decoder.unreadImage.name }

        /// The fields or columns of a CSV, JSON or NDJSON list that has none for images, so that no contact can have one.
        ///
        /// `nil` before the first contact, if the first row of a CSV list or any contact so far has a field for images, and
        /// for other formats.
        public var fieldsWithoutImage: FieldsWithoutImage? { decoder.imageFields.fieldsWithoutImage }

        /// The columns of a CSV list in which neither ids nor names are found, so that ids are derived from addresses, numbers
        /// or images.
        ///
        /// `nil` before the first contact, if there is a column for either, and for other formats.
        public var columnsWithoutIdentity: [String]? { decoder.columnsWithoutIdentity }

        /// Returns the next record, or `nil` after the last one.
        ///
        /// - Throws: `unreadableList` as `validate()` does, once: the following call returns `nil`. `CancellationError` if
        ///   the task was cancelled.
        public mutating func next() async throws -> ContactRecord? {
            try nextRecord()
        }

        /// Returns the next record, or `nil` after the last one, without leaving the caller's actor.
        ///
        /// - Parameter actor: The actor of the caller.
        /// - Throws: `unreadableList` as `validate()` does, once: the following call returns `nil`. `CancellationError` if
        ///   the task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> ContactRecord? {
            try nextRecord()
        }

        private mutating func nextRecord() throws -> ContactRecord? {
            try Task.checkCancellation()
            do {
                if let raw = try splitter?.next() {
                    let record = decoder.record(from: raw)
                    guard let number = records.map({ $0 + 1 }) else { return record }
                    records = number
                    return record.numbered(number)
                }
                splitter = nil
                return nil
            } catch {
                splitter = nil
                throw error
            }
        }
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

extension ContactList.Format {
    /// The advice in the error message about an unknown file name extension.
    static var choices: String {
        "pass --format with one of \(allCases.map(\.rawValue).joined(separator: ", "))"
    }

    /// Makes the splitter that cuts a list of this format into its records.
    ///
    /// - Parameters:
    ///   - source: The bytes of the list.
    ///   - includesLogos: Whether the logos of vCards count as images; ignored by other formats.
    ///   - columns: The columns of a CSV list that the caller names; ignored by other formats.
    ///   - recordLimit: The most bytes of a record of JSON or CSV.
    func splitter(
        of source: ListSource,
        includesLogos: Bool,
        columns: [ContactList.Column: [String]],
        recordLimit: Int
    ) -> any RecordSplitter {
        switch self {
        case .json: JSONSplitter(cursor: ListCursor(source: source), limit: recordLimit)
        case .ndjson: NDJSONSplitter(cursor: ListCursor(source: source), limit: recordLimit)
        case .vcard:
            VCardSplitter(cursor: ListCursor(source: source, intake: VCardIntake()), includesLogos: includesLogos)
        case .csv:
            CSVSplitter(cursor: ListCursor(source: source, intake: CSVIntake()), named: columns, limit: recordLimit)
        case .ldif: LDIFSplitter(cursor: ListCursor(source: source))
        case .text: TextSplitter(cursor: ListCursor(source: source))
        }
    }
}
