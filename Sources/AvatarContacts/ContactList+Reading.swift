public import AvatarCore

extension ContactList: RepeatableRecords {
    /// A contact, or the reason why its record cannot be read.
    public typealias Element = ContactRecord

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
            earlier: EarlierRecords(ofList: previous?.earlier),
            records: format == .json ? 0 : nil
        )
    }

    /// Makes the splitter that cuts the list into its records.
    private func makeSplitter() -> any RecordSplitter {
        func cursor(_ intake: any ListIntake = UTF8Intake()) -> ListCursor {
            ListCursor(source: source, intake: intake)
        }
        return switch format {
        case .json: JSONSplitter(cursor: cursor(), limit: recordLimit, columns: columns)
        case .ndjson: NDJSONSplitter(cursor: cursor(), limit: recordLimit, columns: columns)
        case .vcard: VCardSplitter(cursor: cursor(VCardIntake()), includesLogos: includesLogos)
        case .csv: CSVSplitter(cursor: cursor(CSVIntake()), named: columns, limit: recordLimit)
        case .ldif: LDIFSplitter(cursor: cursor())
        case .text: TextSplitter(cursor: cursor())
        }
    }

    /// Iterates over the records of a list in their order.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// Cuts out the next record; `nil` once the list has ended or failed.
        private var splitter: (any RecordSplitter)?
        /// The records so far, on which the next one may depend.
        fileprivate var earlier: EarlierRecords
        /// The number of records so far; `nil` in formats whose lines tell the place of a record.
        private var records: Int?

        fileprivate init(splitter: any RecordSplitter, earlier: EarlierRecords, records: Int?) {
            (self.splitter, self.earlier, self.records) = (splitter, earlier, records)
        }

        /// The name of the JSON field or CSV column with the URLs of images that is not read, such as `portraitUrl`.
        ///
        /// It has a word for an image in its name and a web address as its value, in a contact without an image. A name that
        /// only ends in `url`, or an address that ends like an image file, counts as long as no contact has an image. `nil` if
        /// no record so far has such a field.
        public var unreadImageField: String? { earlier.unreadImage.name }

        /// The fields or columns of a CSV, JSON or NDJSON list that has none for images, so that no contact can have one.
        ///
        /// `nil` before the first contact, if the first row of a CSV list or any contact so far has a field for images, and
        /// for other formats.
        public var fieldsWithoutImage: FieldsWithoutImage? { earlier.imageFields.fieldsWithoutImage }

        /// The columns of a CSV list in which neither ids nor names are found, so that ids are derived from addresses, numbers
        /// or images.
        ///
        /// `nil` before the first contact, if there is a column for either, and for other formats.
        public var columnsWithoutIdentity: [String]? { earlier.columnsWithoutIdentity }

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
                    let record = raw.contact(after: &earlier)
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
