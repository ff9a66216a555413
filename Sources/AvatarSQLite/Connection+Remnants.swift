import CSQLite

/// Copies of deleted rows in pages that SQLite has rearranged.
///
/// `PRAGMA secure_delete` overwrites a row where it is deleted. But when SQLite moves rows to another page to balance a
/// tree, the old copies stay in the unused room of the page that they leave, and deleting the row later does not find them.
extension Connection {
    /// Whether the unused room of a page in the database file holds one of `texts`, or a part of one that is in no row. The
    /// content of the write-ahead log is not looked at, so it should be empty.
    ///
    /// A later row can overwrite a part of an old copy. So any eight bytes of a text count that no row has now.
    ///
    /// Reads the whole file, with the file handle of SQLite: closing another one would drop the locks of this process.
    package func hasRemnant(of texts: [[UInt8]]) throws -> Bool {
        let texts = texts.filter { !$0.isEmpty }
        guard !texts.isEmpty else { return false }
        let parts = TextParts(of: texts)
        var found: Set<UInt64> = []
        var holdsText = false
        try forEachPage { page, unused in
            let room = UnsafeRawBufferPointer(rebasing: page[unused])
            holdsText = Self.holds(texts, room)
            parts.forEach(in: room) { found.insert($0) }
            return !holdsText
        }
        guard !holdsText, !found.isEmpty else { return holdsText }
        // Texts share parts with those of other rows, such as the name of a host.
        try forEachPage { page, unused in
            parts.forEach(in: UnsafeRawBufferPointer(rebasing: page[..<unused.lowerBound])) { found.remove($0) }
            parts.forEach(in: UnsafeRawBufferPointer(rebasing: page[unused.upperBound...])) { found.remove($0) }
            return !found.isEmpty
        }
        return !found.isEmpty
    }

    /// Reads all pages of the file, and hands each with its unused room to `body`, which returns false to stop.
    private func forEachPage(_ body: (UnsafeRawBufferPointer, Range<Int>) -> Bool) throws {
        guard let pageSize = try integer("PRAGMA page_size").map(Int.init), let count = try integer("PRAGMA page_count")
        else { return }
        let file = try file()
        try withUnsafeTemporaryAllocation(byteCount: pageSize, alignment: 8) { page in
            for number in 0..<count {
                let code = file.pointee.pMethods.pointee.xRead(
                    file,
                    page.baseAddress,
                    Int32(pageSize),
                    number * Int64(pageSize)
                )
                // Another process has shortened the file.
                if code == Self.shortRead { break }
                guard code == SQLITE_OK else { throw error(code) }
                guard body(UnsafeRawBufferPointer(page), Self.unusedRoom(of: page, isFirst: number == 0)) else { break }
            }
        }
    }

    /// The open file of the database.
    func file() throws -> UnsafeMutablePointer<sqlite3_file> {
        let handle = try open()
        var file: UnsafeMutablePointer<sqlite3_file>?
        let code = withUnsafeMutablePointer(to: &file) {
            sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, $0)
        }
        guard code == SQLITE_OK, let file else { throw error(code) }
        return file
    }

    /// The bytes between the cell pointers and the cells of a page of a tree (SQLite's file format, section 1.6); empty for
    /// another page.
    private static func unusedRoom(of page: UnsafeMutableRawBufferPointer, isFirst: Bool) -> Range<Int> {
        let header = isFirst ? 100 : 0
        let headerSize: Int
        switch page[header] {
        case 2, 5: headerSize = 12
        case 10, 13: headerSize = 8
        default: return 0..<0
        }
        func number(at offset: Int) -> Int { Int(page[header + offset]) << 8 | Int(page[header + offset + 1]) }
        let begin = header + headerSize + 2 * number(at: 3)
        let end = number(at: 5) == 0 ? page.count : min(number(at: 5), page.count)
        return begin < end ? begin..<end : 0..<0
    }

    private static func holds(_ texts: [[UInt8]], _ room: UnsafeRawBufferPointer) -> Bool {
        texts.contains { text in
            var rest = room[...]
            while rest.count >= text.count, let place = rest.firstIndex(of: text[0]) {
                rest = rest[place...]
                if rest.starts(with: text) { return true }
                rest = rest.dropFirst()
            }
            return false
        }
    }

    /// `SQLITE_IOERR_SHORT_READ`, a macro that Swift does not import.
    private static let shortRead = SQLITE_IOERR | 2 << 8
}

/// All runs of eight bytes in some texts.
private struct TextParts {
    private static let length = MemoryLayout<UInt64>.size
    private let parts: Set<UInt64>
    /// Whether a part has this hash. Most bytes of a file are ruled out by it, which is faster than the set.
    private var hashes = [Bool](repeating: false, count: 1 << 13)

    init(of texts: [[UInt8]]) {
        var parts: Set<UInt64> = []
        for text in texts {
            text.withUnsafeBytes { Self.forEach(in: $0) { parts.insert($0) } }
        }
        self.parts = parts
        for part in parts { hashes[Self.hash(part)] = true }
    }

    /// Hands each part in `bytes` to `body`, wherever it begins.
    func forEach(in bytes: UnsafeRawBufferPointer, _ body: (UInt64) -> Void) {
        Self.forEach(in: bytes) { part in
            if hashes[Self.hash(part)], parts.contains(part) { body(part) }
        }
    }

    @inline(__always)
    private static func forEach(in bytes: UnsafeRawBufferPointer, _ body: (UInt64) -> Void) {
        guard bytes.count >= length else { return }
        for offset in 0...bytes.count - length { body(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
    }

    @inline(__always)
    private static func hash(_ part: UInt64) -> Int { Int((part &* 0x9E37_79B9_7F4A_7C15) >> 51) }
}
