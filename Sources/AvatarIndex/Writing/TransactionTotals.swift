package import AvatarCore

/// The changes of one transaction to the totals. They are added up in memory and written once, at its end.
final class TransactionTotals {
    private var caches = ClassTotal.zero
    private var documents = ClassTotal.zero

    /// The change of `storageClass` that is not written yet.
    subscript(storageClass: StorageClass) -> ClassTotal {
        get {
            switch storageClass {
            case .caches: caches
            case .documents: documents
            }
        }
        set {
            switch storageClass {
            case .caches: caches = newValue
            case .documents: documents = newValue
            }
        }
    }

    /// Records that a file of `bytes` bytes was published.
    func addFile(_ storageClass: StorageClass, bytes: Int) {
        self[storageClass].files += 1
        self[storageClass].bytes += bytes
    }

    /// Records that published files are published no longer.
    func dropFiles(_ storageClass: StorageClass, count: Int = 1, bytes: Int) {
        self[storageClass].files -= count
        self[storageClass].bytes -= bytes
    }

    /// Records that files are pending.
    func addPending(_ storageClass: StorageClass, count: Int = 1, bytes: Int) {
        self[storageClass].pendingFiles += count
        self[storageClass].pendingBytes += bytes
    }

    /// Records that files are pending no longer.
    func dropPending(_ storageClass: StorageClass, count: Int = 1, bytes: Int) {
        addPending(storageClass, count: -count, bytes: -bytes)
    }
}

extension ClassTotal {
    /// The totals of a class without files.
    static let zero = ClassTotal(files: 0, bytes: 0, pendingFiles: 0, pendingBytes: 0)

    /// The sum of both.
    static func + (left: ClassTotal, right: ClassTotal) -> ClassTotal {
        ClassTotal(
            files: left.files + right.files,
            bytes: left.bytes + right.bytes,
            pendingFiles: left.pendingFiles + right.pendingFiles,
            pendingBytes: left.pendingBytes + right.pendingBytes
        )
    }
}

extension IndexTransaction {
    /// The totals of `storageClass` with the changes of this transaction: one row, whatever the number of files.
    package func total(of storageClass: StorageClass) throws -> ClassTotal {
        let total = try firstRow(ClassTotal.sql, [storageClass.code]) { ClassTotal($0) }
        guard let total else { throw AvatarStoreError.lostTotals }
        return total + totals[storageClass]
    }

    /// Writes the changes of this transaction to the totals. Called at its end.
    ///
    /// Another program may have changed rows without the totals. If a total would become negative, the rows are counted.
    func writeTotals() throws {
        for storageClass in StorageClass.allCases {
            let change = totals[storageClass]
            guard change != .zero else { continue }
            try run(
                KeepsHits(
                    """
                    UPDATE total SET files = files + ?1, bytes = bytes + ?2, pending_files = pending_files + ?3,
                        pending_bytes = pending_bytes + ?4
                    WHERE storage_class = ?5 AND files + ?1 >= 0 AND bytes + ?2 >= 0 AND pending_files + ?3 >= 0
                        AND pending_bytes + ?4 >= 0
                    """
                ),
                [change.files, change.bytes, change.pendingFiles, change.pendingBytes, storageClass.code]
            )
            if changedRowCount == 0 { try recountTotal(of: storageClass) }
            totals[storageClass] = .zero
        }
    }

    /// Sets the totals of `storageClass` to the sums of its rows.
    ///
    /// Called by a repair and for a copy of the index. Otherwise each transaction adds its changes.
    package func recountTotal(of storageClass: StorageClass) throws {
        try run(
            KeepsHits(
                """
                UPDATE total SET (files, bytes, pending_files, pending_bytes) = (
                    SELECT published.files, published.bytes, unpublished.files, unpublished.bytes
                    FROM
                        (SELECT count(*) AS files, coalesce(sum(size_bytes), 0) AS bytes
                         FROM file WHERE storage_class = ?1) AS published,
                        (SELECT count(*) AS files, \(IndexNumber.pendingSum) AS bytes
                         FROM pending WHERE storage_class = ?1) AS unpublished
                )
                WHERE storage_class = ?1
                """
            ),
            [storageClass.code]
        )
        // The sums include the changes of this transaction.
        totals[storageClass] = .zero
    }
}
