import GRDBSQLite
import Synchronization

/// The shared memory in which SQLite keeps what each commit changes: the header of its WAL-index
/// (https://www.sqlite.org/walformat.html, section 2.1).
///
/// A commit, by whichever process and program, is visible to readers from the moment in which its header is written
/// there, and SQLite itself finds out by comparing headers whether what it has in memory still holds. So whoever kept
/// what a look-up gave, and finds the header as it was before that look-up, knows that the look-up would give the same.
///
/// The memory is SQLite's own mapping. Opening the file a second time would not do: closing it would give up the locks
/// that SQLite holds on it for this process.
struct WALIndex: Sendable {
    /// What a commit changes: the number of the change, the frames, their checksum and the salts of the log.
    ///
    /// It never returns to a value it had while the state of the database is another: the checksum runs over all frames
    /// of the log, and a log that begins anew has other salts.
    typealias State = SIMD4<UInt64>

    /// Two copies of the header, of six words each; the first word is the version of the format.
    private nonisolated(unsafe) let words: UnsafePointer<Atomic<UInt64>>  // Only read, by atomic loads.

    /// The shared memory of an open connection; it lasts as long as any connection of the process to that file.
    ///
    /// `nil` if the file has none: it is not in WAL mode, or cannot be written. One statement is run.
    init?(of connection: OpaquePointer) {
        guard Self.isInWALMode(connection), let file = Self.file(of: connection), let methods = file.pointee.pMethods,
            methods.pointee.iVersion >= 2, let map = methods.pointee.xShmMap
        else { return nil }
        var memory: UnsafeMutableRawPointer?
        // Region 0, which the read above has made SQLite map; nothing is made here.
        guard map(file, 0, 32_768, 0, &memory) == SQLITE_OK, let memory else { return nil }
        words = UnsafePointer(memory.assumingMemoryBound(to: Atomic<UInt64>.self))
    }

    /// Whether the state is `state`, now. While a header is being written it is neither the old nor the new one; the
    /// commit is then not done yet.
    @inline(__always)
    func isIn(_ state: State) -> Bool { copy(1) == state }

    /// The state now; `nil` while it changes.
    func state() -> State? {
        // SQLite writes the second copy first.
        let state = copy(1)
        atomicMemoryFence(ordering: .acquiring)
        return copy(7) == state ? state : nil
    }

    /// How many pages the log holds (`mxFrame`), also such as are in the file already.
    var frameCount: UInt32 {
        UnsafeRawPointer(words + 2).assumingMemoryBound(to: Atomic<UInt32>.self).pointee.load(ordering: .relaxed)
    }

    @inline(__always)
    private func copy(_ first: Int) -> State {
        State(
            words[first].load(ordering: .acquiring),
            words[first + 1].load(ordering: .acquiring),
            words[first + 2].load(ordering: .acquiring),
            words[first + 3].load(ordering: .acquiring)
        )
    }

    private static func isInWALMode(_ connection: OpaquePointer) -> Bool {
        // The mode is known only once the file was read. Should that fail, nothing is kept in memory, and the look-up that
        // follows says what is wrong.
        guard let statement = try? Statement("PRAGMA schema_version", on: connection),
            (try? statement.forEachRow([]) { _ in true }) != nil,
            let mode = try? Statement("PRAGMA journal_mode", on: connection)
        else { return false }
        var isWAL = false
        try? mode.forEachRow([]) { row in
            isWAL = row.text(0) == "wal"
            return true
        }
        return isWAL
    }

    private static func file(of connection: OpaquePointer) -> UnsafeMutablePointer<sqlite3_file>? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        let code = withUnsafeMutablePointer(to: &file) {
            sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, $0)
        }
        return code == SQLITE_OK ? file : nil
    }
}

extension WALIndex: Equatable {
    static func == (left: WALIndex, right: WALIndex) -> Bool { left.words == right.words }
}
