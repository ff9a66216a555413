public import AvatarCore

/// A contact list, read as a stream of people.
///
/// The list is read in pieces: memory use depends on its largest record, which has a limit (1.0 MB of JSON, 65.5 kB of a line
/// of text, 33.6 MB of a vCard), and not on its length. Each iteration starts from the beginning, so a
/// caller can first `validate()` the whole list and then act on its records. A record that cannot be read is a value of
/// the stream and the records after it follow; what makes the list as a whole unreadable is thrown.
///
/// Reading blocks the calling thread for as long as the file system takes.
public struct ContactList: AsyncSequence, Sendable {
    /// A person, or the reason why a record cannot be read.
    public typealias Element = ContactRecord

    /// How the list is written.
    public let format: Format
    /// Whether the logos of vCards count as images too, behind the photos. Off by default: a logo is nobody's face.
    public var includesLogos = false
    private let source: ListSource

    /// A list that is held in memory; messages call it `name`.
    public init(bytes: [UInt8], format: Format, name: String = "the contact list") {
        self.init(source: ListSource(name: name, bytes: bytes), format: format)
    }

    /// Opens the list at `path`; the file stays open until the list and its iterators are gone.
    ///
    /// What is appended to the file later is not read. A pipe or device is copied to a temporary file first.
    ///
    /// - Parameters:
    ///   - path: The file, as messages name it.
    ///   - format: How the list is written; `nil` to tell from the name's extension.
    /// - Throws: `unreadableList` if there is no such file, it is a directory or may not be read, or its extension is
    ///   unknown and `format` is `nil`.
    public static func open(file path: String, format: Format? = nil) throws(AvatarStoreError) -> ContactList {
        let file = try ListFile.open(path)
        guard let format = format ?? Format(path: path) else {
            throw .unreadableList(path, "the file name does not tell the format; \(Format.choices)")
        }
        return ContactList(source: ListSource(name: path, file: try file.rereadable(name: path)), format: format)
    }

    /// Copies what `descriptor` gives, up to its end, to a temporary file without a name, and opens that as a list.
    ///
    /// The descriptor stays the caller's and is not closed. Blocks until the other side has closed a pipe.
    ///
    /// - Parameters:
    ///   - descriptor: An open file descriptor: 0 for standard input.
    ///   - name: What messages call the list.
    ///   - format: How the list is written.
    /// - Throws: `unreadableList` if reading or the copy fails.
    public static func open(
        descriptor: Int32,
        name: String = "standard input",
        format: Format
    ) throws(AvatarStoreError) -> ContactList {
        let file = try ListFile.spooled(from: descriptor, name: name)
        return ContactList(source: ListSource(name: name, file: file), format: format)
    }

    private init(source: ListSource, format: Format) {
        self.source = source
        self.format = format
    }

    /// Reads the list once from beginning to end, without looking into its records.
    ///
    /// - Returns: The number of records, those that cannot be read included; 0 for an empty array or an empty list of
    ///   another format than JSON.
    /// - Throws: `unreadableList` if the list as a whole cannot be read: it is not UTF-8 (vCards may be in other
    ///   charsets), not what its format says, of the wrong shape, cut short, or goes on after its end. The message
    ///   names the list, the line and what was expected.
    public func validate() throws(AvatarStoreError) -> Int {
        var splitter = makeSplitter()
        var count = 0
        while try splitter.next() != nil {
            count += 1
        }
        return count
    }

    /// An iterator that starts at the first record.
    public func makeAsyncIterator() -> AsyncIterator {
        makeAsyncIterator(after: nil)
    }

    /// An iterator that starts at the first record and tells cards without `UID` apart from those that `previous` gave.
    package func makeAsyncIterator(after previous: AsyncIterator?) -> AsyncIterator {
        AsyncIterator(splitter: makeSplitter(), decoder: previous?.decoder ?? RecordDecoder())
    }

    private func makeSplitter() -> any RecordSplitter {
        format.splitter(of: source, includesLogos: includesLogos)
    }

    /// The records of a list in their order.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var splitter: (any RecordSplitter)?
        fileprivate var decoder: RecordDecoder

        fileprivate init(splitter: any RecordSplitter, decoder: RecordDecoder) {
            self.splitter = splitter
            self.decoder = decoder
        }

        /// The next record, or `nil` after the last one.
        ///
        /// - Throws: What `validate()` throws, once; `CancellationError` if the task was cancelled.
        public mutating func next() async throws -> ContactRecord? {
            try nextRecord()
        }

        /// The next record, or `nil` after the last one, without leaving the caller's actor.
        ///
        /// - Throws: What `validate()` throws, once; `CancellationError` if the task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> ContactRecord? {
            try nextRecord()
        }

        private mutating func nextRecord() throws -> ContactRecord? {
            try Task.checkCancellation()
            do {
                if let record = try splitter?.next() { return decoder.record(from: record) }
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
