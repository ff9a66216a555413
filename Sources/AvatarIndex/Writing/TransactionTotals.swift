package import AvatarCore

/// The changes of one transaction to the totals. They are added up in memory and written once, at its end.
final class TransactionTotals {
    /// Files that were published, less those that are published no longer.
    struct Change: Equatable {
        var files = 0
        var bytes = 0
    }

    private var caches = Change()
    private var documents = Change()

    /// The change of `storageClass` that is not written yet.
    subscript(storageClass: StorageClass) -> Change {
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
}

extension IndexTransaction {
    /// The totals of `storageClass` with the changes of this transaction: one row, whatever the number of published files.
    package func total(of storageClass: StorageClass) throws -> ClassTotal {
        let found = try firstRow(ClassTotal.sql, [storageClass.code]) { ClassTotal($0) }
        guard var total = found else { throw AvatarStoreError.lostTotals }
        total.files += totals[storageClass].files
        total.bytes += totals[storageClass].bytes
        return total
    }

    /// The bytes of the published files of `storageClass` with the changes of this transaction.
    package func publishedBytes(of storageClass: StorageClass) throws -> Int {
        let found = try firstRow("SELECT bytes FROM total WHERE storage_class = ?", [storageClass.code]) {
            $0.sum("bytes")
        }
        guard let bytes = found else { throw AvatarStoreError.lostTotals }
        return bytes + totals[storageClass].bytes
    }

    /// Writes the changes of this transaction to the totals. Called at its end.
    ///
    /// Another program may have changed rows without the totals. If a total would become negative, the rows are counted.
    func writeTotals() throws {
        for storageClass in StorageClass.allCases {
            let change = totals[storageClass]
            guard change != TransactionTotals.Change() else { continue }
            try run(
                KeepsHits(
                    """
                    UPDATE total SET files = files + ?1, bytes = bytes + ?2
                    WHERE storage_class = ?3 AND files + ?1 >= 0 AND bytes + ?2 >= 0
                    """
                ),
                [change.files, change.bytes, storageClass.code]
            )
            if changedRowCount == 0 { try recountTotal(of: storageClass) }
            totals[storageClass] = TransactionTotals.Change()
        }
    }

    /// Sets the totals of `storageClass` to the sums of its rows.
    ///
    /// Called by a repair and for a copy of the index. Otherwise each transaction adds its changes.
    package func recountTotal(of storageClass: StorageClass) throws {
        try run(
            KeepsHits(
                """
                UPDATE total SET (files, bytes) = (
                    SELECT count(*), coalesce(sum(size_bytes), 0) FROM file WHERE storage_class = ?1
                )
                WHERE storage_class = ?1
                """
            ),
            [storageClass.code]
        )
        // The sums include the changes of this transaction.
        totals[storageClass] = TransactionTotals.Change()
    }
}
