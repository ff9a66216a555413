import CSQLite

/// Copies of deleted rows in pages that SQLite has rearranged.
///
/// `PRAGMA secure_delete` overwrites a row where it is deleted. But when SQLite moves rows to another page to balance a
/// tree, the old copies stay in the unused room of the page that they leave, and deleting the row later does not find them.
extension Connection {
    /// Whether the unused room of a page in the database file holds one of `texts`. The content of the write-ahead log is
    /// not looked at, so it should be empty.
    ///
    /// Reads the whole file, with the file handle of SQLite: closing another one would drop the locks of this process.
    package func hasRemnant(of texts: [[UInt8]]) throws -> Bool {
        let texts = texts.filter { !$0.isEmpty }
        guard !texts.isEmpty, let pageSize = try integer("PRAGMA page_size").map(Int.init),
            let count = try integer("PRAGMA page_count")
        else { return false }
        let file = try file()
        return try withUnsafeTemporaryAllocation(byteCount: pageSize, alignment: 8) { page in
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
                if Self.holds(
                    texts,
                    UnsafeRawBufferPointer(rebasing: page[Self.unusedRoom(of: page, isFirst: number == 0)])
                ) {
                    return true
                }
            }
            return false
        }
    }

    /// Rewrites the database without unused room (`VACUUM`). It takes as long as writing the whole file.
    package func vacuum() throws(SQLiteError) {
        try execute("VACUUM")
    }

    /// The open file of the database.
    private func file() throws -> UnsafeMutablePointer<sqlite3_file> {
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
