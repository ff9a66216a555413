import AvatarCore
import AvatarFiles

/// The records of a contact list in a file, for a list that can be read only once.
///
/// Each record is its length in eight bytes, then its fields in a fixed order. Only this process reads them.
struct RecordSpool: Sendable {
    private let file: ScratchFile
    /// The bytes that the file does not have yet.
    private var pending: [UInt8] = []
    /// The length of the file, in bytes.
    private var length = 0

    /// The number of bytes that are written and read at once.
    private static let pieceBytes = 1 << 18

    /// Creates a spool in `file`, which is empty.
    init(_ file: ScratchFile) {
        self.file = file
    }

    /// Creates spools in the staging folder of a store; in the system's temporary folder for a store that is open for reading
    /// only.
    static func maker(at places: StorePlaces?) -> @Sendable () throws -> RecordSpool {
        { RecordSpool(try places?.files(of: .caches).staging.scratch() ?? ScratchFile()) }
    }

    /// Appends `record`. The file has it once `flush()` returns.
    ///
    /// - Throws: `diskFull`, `readOnly` or `storage`.
    mutating func append(_ record: ContactRecord) throws {
        var writer = RecordWriter()
        writer.put(record)
        pending.append(contentsOf: RecordWriter.bytes(of: writer.bytes.count))
        pending.append(contentsOf: writer.bytes)
        if pending.count >= Self.pieceBytes { try flush() }
    }

    /// Writes all records to the file.
    ///
    /// - Throws: `diskFull`, `readOnly` or `storage`.
    mutating func flush() throws {
        try file.write(pending, at: length)
        length += pending.count
        pending.removeAll(keepingCapacity: true)
    }

    /// Reads the records of a flushed spool in their order.
    struct Reader {
        private let file: ScratchFile
        private let length: Int
        /// The bytes that were read last, and their place in the file.
        private var piece: [UInt8] = []
        private var pieceStart = 0
        /// The place of the next record.
        private var position = 0

        /// Begins at the first record.
        init(_ spool: RecordSpool) {
            (file, length) = (spool.file, spool.length)
        }

        /// The next record; `nil` after the last one.
        ///
        /// - Throws: `storage` if the file cannot be read or is damaged.
        mutating func next() throws -> ContactRecord? {
            guard position < length else { return nil }
            var head = RecordReader(try take(8))
            let count = try head.number()
            guard count >= 0, count <= length - position else { throw RecordReader.damage }
            var reader = RecordReader(try take(count))
            return try reader.record()
        }

        /// The next `count` bytes.
        private mutating func take(_ count: Int) throws -> ArraySlice<UInt8> {
            if position + count > pieceStart + piece.count {
                pieceStart = position
                piece = try file.read(at: position, count: min(max(count, RecordSpool.pieceBytes), length - position))
            }
            let start = position - pieceStart
            guard start + count <= piece.count else { throw RecordReader.damage }
            position += count
            return piece[start..<start + count]
        }
    }
}

/// Writes the fields of a record.
private struct RecordWriter {
    private(set) var bytes: [UInt8] = []

    static func bytes(of number: Int) -> [UInt8] {
        withUnsafeBytes(of: Int64(number).littleEndian) { Array($0) }
    }

    mutating func put(_ record: ContactRecord) {
        switch record {
        case .contact(let contact):
            put(0)
            put(contact.id)
            put(contact.name) { $0.put($1) }
            put(contact.emails) { $0.put($1) }
            put(contact.images) { $0.put($1) }
            put(contact.lowDataURL) { $0.put($1) }
            put(contact.place) { writer, place in
                writer.put(place.list) { $0.put($1) }
                writer.put(place.line)
                writer.put(place.record) { $0.put($1) }
            }
        case .unreadable(let line, let reason, let list, let record):
            put(1)
            put(line)
            put(reason)
            put(list) { $0.put($1) }
            put(record) { $0.put($1) }
        }
    }

    private mutating func put(_ image: ContactImage) {
        switch image {
        case .url(let url):
            put(0)
            put(url)
        case .photo(let photo):
            put(1)
            put(photo.number)
            put(photo.bytes)
            put(photo.line)
            put(photo.list) { $0.put($1) }
        case .unreadable(let image):
            put(2)
            put(image.number) { $0.put($1) }
            put(image.line)
            put(image.reason)
            put(image.list) { $0.put($1) }
        }
    }

    private mutating func put(_ number: Int) {
        bytes.append(contentsOf: Self.bytes(of: number))
    }

    private mutating func put(_ text: String) {
        put(text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    private mutating func put(_ data: [UInt8]) {
        put(data.count)
        bytes.append(contentsOf: data)
    }

    private mutating func put<Value>(_ value: Value?, _ body: (inout Self, Value) -> Void) {
        bytes.append(value == nil ? 0 : 1)
        if let value { body(&self, value) }
    }

    private mutating func put<Value>(_ values: [Value], _ body: (inout Self, Value) -> Void) {
        put(values.count)
        for value in values { body(&self, value) }
    }
}

/// Reads the fields of a record.
private struct RecordReader {
    private var rest: ArraySlice<UInt8>

    static var damage: AvatarStoreError {
        AvatarStoreError(.storage, "The copy of the contact list in the store is damaged.", failure: .storage)
    }

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    mutating func record() throws -> ContactRecord {
        guard try number() == 0 else {
            return .unreadable(
                line: try number(),
                reason: try text(),
                list: try optional { try $0.text() },
                record: try optional { try $0.number() }
            )
        }
        let id = try text()
        let name = try optional { try $0.text() }
        let emails = try array { try $0.text() }
        var contact = Contact(id: id, name: name, emails: emails, images: try array { try $0.image() })
        contact.lowDataURL = try optional { try $0.text() }
        contact.place = try optional {
            ListPlace(
                list: try $0.optional { try $0.text() },
                line: try $0.number(),
                record: try $0.optional { try $0.number() }
            )
        }
        return .contact(contact)
    }

    private mutating func image() throws -> ContactImage {
        switch try number() {
        case 0:
            return .url(try text())
        case 1:
            var photo = ContactPhoto(number: try number(), bytes: Array(try data()), line: try number())
            photo.list = try optional { try $0.text() }
            return .photo(photo)
        default:
            let number = try optional { try $0.number() }
            var image = UnreadableContactImage(number: number, line: try self.number(), reason: try text())
            image.list = try optional { try $0.text() }
            return .unreadable(image)
        }
    }

    mutating func number() throws -> Int {
        let bytes = try take(8)
        return Int(truncatingIfNeeded: bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    private mutating func text() throws -> String {
        String(decoding: try data(), as: UTF8.self)
    }

    private mutating func data() throws -> ArraySlice<UInt8> {
        try take(try number())
    }

    private mutating func optional<Value>(_ body: (inout Self) throws -> Value) throws -> Value? {
        try take(1).first == 1 ? try body(&self) : nil
    }

    private mutating func array<Value>(_ body: (inout Self) throws -> Value) throws -> [Value] {
        let count = try number()
        // Each element takes at least a byte.
        guard count >= 0, count <= rest.count else { throw Self.damage }
        return try (0..<count).map { _ in try body(&self) }
    }

    private mutating func take(_ count: Int) throws -> ArraySlice<UInt8> {
        guard count >= 0, count <= rest.count else { throw Self.damage }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}
