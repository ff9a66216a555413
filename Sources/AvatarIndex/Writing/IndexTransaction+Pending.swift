import AvatarCore
import AvatarSQLite

/// Files that one row names together, as files that may exist without being published.
package struct PendingBatch: Sendable {
    /// The row id.
    let id: Int64
    /// The files in the row.
    package let files: [PendingFile]
    /// The number of files in the row that no process of a store can have named. They are not in `files`.
    package let foreignCount: Int

    fileprivate init(id: Int64, files: [PendingFile], foreignCount: Int = 0) {
        (self.id, self.files, self.foreignCount) = (id, files, foreignCount)
    }

    /// The same row with only those files that satisfy `isOwn`. The others are foreign: they go with the row.
    package func filter(_ isOwn: (PendingFile) throws -> Bool) rethrows -> PendingBatch {
        let own = try files.filter(isOwn)
        return PendingBatch(id: id, files: own, foreignCount: foreignCount + files.count - own.count)
    }
}

/// Files that may exist without being published. Each is named by a row of its own, or by the row of a batch.
///
/// The row must be committed before a file appears at its path. A process that is killed in between leaves a file that
/// the next one finds by this row.
extension IndexTransaction {
    // MARK: One file

    private static let addPendingSQL = "INSERT INTO pending_file (\(PendingFile.columns)) VALUES (?, ?, ?, ?)"

    /// Names `file` as one that may exist from now on.
    package func addPending(_ file: PendingFile) throws {
        try run(KeepsHits(Self.addPendingSQL), file.values)
    }

    /// Records that `file`, which has a row of its own, is published, or gone from the disk.
    package func dropPending(_ file: PendingFile) throws {
        try run(
            KeepsHits("DELETE FROM pending_file WHERE storage_class = ? AND path = ?"),
            [file.storageClass.code, file.path]
        )
    }

    // MARK: Batches

    /// Names `files` as ones that may exist from now on, in one row. All must be of `holder`.
    ///
    /// - Returns: the row; `nil` without files.
    package func addPending(_ files: [PendingFile], of holder: String) throws -> PendingBatch? {
        guard !files.isEmpty else { return nil }
        func bytes(_ storageClass: StorageClass) -> Int {
            files.reduce(0) { $1.storageClass == storageClass ? $0 + $1.sizeBytes : $0 }
        }
        try run(
            // The id is within `IndexNumber.id`.
            KeepsHits(
                """
                INSERT INTO pending_batch (id, holder, files, caches_bytes, documents_bytes)
                VALUES (random() & 0x3FFFFFFFFFFFFFFF, ?, ?, ?, ?)
                """
            ),
            [holder, PendingBatch.encode(files), bytes(.caches), bytes(.documents)]
        )
        return PendingBatch(id: lastInsertedRowID, files: files)
    }

    /// Drops the row of a batch, if it exists. Each of its files must be published by now or be gone from the disk,
    /// except `rest`: these get rows of their own.
    package func dropPending(_ batch: PendingBatch, leaving rest: [PendingFile] = []) throws {
        try run(KeepsHits("DELETE FROM pending_batch WHERE id = ?"), [batch.id])
        guard changedRowCount > 0 else { return }
        for file in rest {
            // A row that came with an index from elsewhere may name a file twice.
            try run(KeepsHits(Self.addPendingSQL + " ON CONFLICT DO NOTHING"), file.values)
        }
    }

    /// The batches of `holder`.
    ///
    /// Nothing is written, so a batch can be finished on a full disk: its files are unlinked before its row is dropped.
    package func pendingBatches(of holder: String) throws -> [PendingBatch] {
        let ids = try rows("SELECT id FROM pending_batch WHERE holder = ?", [holder]) { $0.integer("id") }
        return try ids.map { id in
            let named = try rows("SELECT \(PendingFile.columns) FROM pending WHERE batch_id = ?", [id]) { row in
                let size = row.integer("size_bytes")
                let bytes = IndexNumber.bytes.contains(size) ? Int(size) : 0
                let file = PendingFile(row, bytes: bytes)
                let isOwn = row.integer("storage_class") == file.storageClass.code && !file.path.isEmpty && bytes > 0
                return isOwn ? file : nil
            }
            let files = named.compactMap(\.self)
            return PendingBatch(id: id, files: files, foreignCount: named.count - files.count)
        }
    }

    // MARK: Holders

    /// The files of `holder` that have a row of their own.
    package func pendingFiles(of holder: String) throws -> [PendingFile] {
        try rows("SELECT \(PendingFile.columns) FROM pending_file WHERE holder = ?", [holder]) { PendingFile($0) }
    }

    /// Deletes all pending rows of `holder`, and leaves the files as they are.
    package func dropPending(of holder: String) throws {
        try run(KeepsHits("DELETE FROM pending_file WHERE holder = ?"), [holder])
        try run(KeepsHits("DELETE FROM pending_batch WHERE holder = ?"), [holder])
    }
}

extension PendingFile {
    /// The columns that `init(_:)` reads.
    static let columns = "storage_class, path, size_bytes, holder"

    /// The values of `columns`.
    fileprivate var values: [any Bindable] { [storageClass.code, path, sizeBytes, holder] }

    /// The file of a row with `columns`.
    ///
    /// - Parameter bytes: the size that counts; `nil`: that in the row.
    /// - Parameter holder: the present or future holder; `nil`: that in the row.
    init(_ row: borrowing Row, bytes: Int? = nil, holder: String? = nil) {
        self.init(
            storageClass: StorageClass(code: row.integer("storage_class")),
            path: row.text("path"),
            sizeBytes: bytes ?? row.bytes("size_bytes"),
            holder: holder ?? row.text("holder")
        )
    }
}

extension PendingBatch {
    /// The files as JSON: an array for each, of its class, its path and its size.
    static func encode(_ files: [PendingFile]) -> String {
        var text: [UInt8] = [UInt8(ascii: "[")]
        text.reserveCapacity(64 * files.count)
        for file in files {
            if text.count > 1 { text.append(UInt8(ascii: ",")) }
            text += "[\(file.storageClass.code),\"".utf8
            for byte in file.path.utf8 {
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
                case 0..<0x20:
                    text += "\\u00".utf8
                    Hexadecimal.append(byte, to: &text)
                default: text.append(byte)
                }
            }
            text += "\",\(file.sizeBytes)]".utf8
        }
        text.append(UInt8(ascii: "]"))
        return String(decoding: text, as: UTF8.self)
    }
}

extension RowSource {
    /// The holders that have pending files, dead or alive.
    ///
    /// The recovery takes over those that are dead.
    func pendingHolders() throws -> [String] {
        try rows("SELECT holder FROM pending_file UNION SELECT holder FROM pending_batch") { $0.text("holder") }
    }
}
