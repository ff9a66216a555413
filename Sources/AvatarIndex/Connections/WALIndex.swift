import AvatarSQLite
import Synchronization

/// The shared memory in which SQLite keeps what each commit changes: the header of its WAL-index
/// (https://www.sqlite.org/walformat.html, section 2.1).
///
/// Readers see a commit, of any process and program, from the moment its header is written there. SQLite itself
/// compares headers to find out whether its page cache is still valid. So if the header is the same as before a lookup,
/// repeating that lookup would give the same result.
///
/// The memory is SQLite's own mapping. The file is not opened a second time: closing it would release the locks that
/// SQLite holds on it for this process.
struct WALIndex: Sendable {
    /// The part of the header that each commit changes: the number of the change, the frames, their checksum and the
    /// salts of the log.
    ///
    /// It never repeats a value for a different state of the database: the checksum covers all frames of the log, and a
    /// log that starts over has new salts.
    typealias State = SIMD4<UInt64>

    /// Two copies of the header, of six words each; the first word is the version of the format. Threads and processes share the
    /// memory, so it is only used by atomic loads and stores.
    private nonisolated(unsafe) let words: UnsafePointer<Atomic<UInt64>>

    /// The shared memory of an open connection; it lasts as long as any connection of the process to that file.
    ///
    /// `nil` if the file has none: it is not in WAL mode, or cannot be written. Two statements are run.
    init?(of connection: Connection) {
        guard let memory = connection.sharedMemory() else { return nil }
        words = UnsafePointer(memory.assumingMemoryBound(to: Atomic<UInt64>.self))
    }

    /// Whether the state is `state`, now. A header that is being written equals neither the old nor the new one; the
    /// commit is not visible yet.
    @inline(__always)
    func isIn(_ state: State) -> Bool { copy(1) == state }

    /// The state now; `nil` while it changes.
    func state() -> State? {
        // SQLite writes the second copy first.
        let state = copy(1)
        atomicMemoryFence(ordering: .acquiring)
        return copy(7) == state ? state : nil
    }

    /// The number of pages in the log (`mxFrame`), including those that are in the file already.
    var frameCount: UInt32 {
        UnsafeRawPointer(words + 2).assumingMemoryBound(to: Atomic<UInt32>.self).pointee.load(ordering: .relaxed)
    }

    /// The two salts of the log, as its file has them.
    var salts: UInt64 { words[4].load(ordering: .relaxed) }

    /// Lets the next checkpoint copy all pages of the log into the file, also those that are there (`nBackfill`).
    ///
    /// A reader or checkpoint that sees the old number meanwhile takes these pages for copied, which they are.
    /// For the write connection: that of a reader may be mapped for reading only.
    func copyAllAgain() {
        UnsafeRawPointer(words + 12).assumingMemoryBound(to: Atomic<UInt32>.self).pointee.store(0, ordering: .releasing)
    }

    /// Reads one of the two copies of the header, which begins at the word `first`.
    @inline(__always)
    private func copy(_ first: Int) -> State {
        State(
            words[first].load(ordering: .acquiring),
            words[first + 1].load(ordering: .acquiring),
            words[first + 2].load(ordering: .acquiring),
            words[first + 3].load(ordering: .acquiring)
        )
    }
}

/// A state of the index as its readers see it. Equal moments have the same content.
package struct ReadMoment: Equatable, Sendable {
    private let walIndex: WALIndex
    private let state: WALIndex.State

    /// The state that a read by `connection` finds or a later one; `nil` if it cannot be told from others.
    init?(of connection: ReadConnection) {
        guard let walIndex = connection.walIndex, let state = walIndex.state() else { return nil }
        (self.walIndex, self.state) = (walIndex, state)
    }
}

extension WALIndex: Equatable {
    /// Equal addresses mean the same mapping. A file that was closed and opened again may be mapped elsewhere.
    static func == (left: WALIndex, right: WALIndex) -> Bool { left.words == right.words }
}
