import AvatarCore
import AvatarFiles
import AvatarWriter

/// The records of a contact list in a file, for a list that can be read only once.
///
/// Each record is its length in eight bytes, then its fields as `RecordWriter` has them. Only this process reads them.
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
    ///
    /// - Returns: the place of the record.
    @discardableResult
    mutating func append(_ record: ContactRecord) throws -> Int {
        let place = length + pending.count
        var writer = RecordWriter()
        writer.put(record)
        pending.append(contentsOf: RecordWriter.bytes(of: writer.bytes.count))
        pending.append(contentsOf: writer.bytes)
        if pending.count >= Self.pieceBytes { try flush() }
        return place
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

        /// The bytes that are read at least.
        private let pieceBytes: Int

        /// Begins at the first record.
        init(_ spool: RecordSpool) {
            (file, length, pieceBytes) = (spool.file, spool.length, RecordSpool.pieceBytes)
        }

        /// Begins at the record at `place`, after which few others are read.
        init(_ spool: RecordSpool, at place: Int) {
            (file, length, pieceBytes, position) = (spool.file, spool.length, 4096, place)
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
                piece = try file.read(at: position, count: min(max(count, pieceBytes), length - position))
            }
            let start = position - pieceStart
            guard start + count <= piece.count else { throw RecordReader.damage }
            position += count
            return piece[start..<start + count]
        }
    }
}
