package import AvatarCore
import AvatarSQLite

/// Numbers outside the range of their column.
package struct WrongNumbers: Hashable, Sendable {
    /// The table and the column, as `file.size_bytes`.
    package let column: String
    /// One of the numbers, as text; for a batch, what is wrong with it.
    package let example: String
    /// The number of rows with such numbers.
    package let rows: Int
}

extension AvatarIndex {
    /// The numbers outside the ranges of their columns. Reads each table once.
    package func wrongNumbers() throws -> [WrongNumbers] {
        try readers.read { connection in
            var found: [WrongNumbers] = []
            for (table, columns) in Dictionary(grouping: NumberColumn.all, by: \.table) {
                let anyWrong = columns.map { "coalesce(\($0.condition), 0)" }.joined(separator: " OR ")
                guard try connection.hasRow("SELECT 1 FROM \(table) WHERE \(anyWrong) LIMIT 1") else { continue }
                for column in columns {
                    let row = try connection.firstRow(
                        "SELECT count(*) AS rows, max(\(column.name)) AS example FROM \(table) WHERE \(column.condition)"
                    ) { (rows: $0.count("rows"), example: $0.integer("example")) }
                    guard let row, row.rows > 0 else { continue }
                    found.append(
                        WrongNumbers(column: "\(table).\(column.name)", example: "\(row.example)", rows: row.rows)
                    )
                }
            }
            let batches = try connection.integer("SELECT count(*) FROM (\(IndexTransaction.wrongBatchSQL))") ?? 0
            if batches > 0 {
                let text = "a size that no file has"
                found.append(WrongNumbers(column: "pending_batch.files", example: text, rows: Int(batches)))
            }
            return found.sorted { $0.column < $1.column }
        }
    }
}

extension IndexTransaction {
    /// The rows of batches that name a size that no file has.
    static let wrongBatchSQL = """
        SELECT DISTINCT batch_id FROM pending WHERE batch_id IS NOT NULL
            AND size_bytes NOT BETWEEN \(IndexNumber.bytes.lowerBound) AND \(IndexNumber.bytes.upperBound)
        """

    /// Repairs all rows with numbers outside the ranges of their columns, so that a verification can compare what is left with
    /// the files.
    ///
    /// - Parameter time: the time now.
    package func repairNumbers(at time: Timestamp) throws {
        try run(KeepsHits("DELETE FROM pending_batch WHERE id IN (\(Self.wrongBatchSQL))"))
        var restartsFeed = false
        for column in NumberColumn.all {
            let condition = column.condition
            guard try hasRow("SELECT 1 FROM \(column.table) WHERE \(condition) LIMIT 1") else { continue }
            switch column.repair {
            case .set(let expression):
                try run(ChangesHits("UPDATE \(column.table) SET \(column.name) = \(expression) WHERE \(condition)"))
            case .delete:
                try run(ChangesHits("DELETE FROM \(column.table) WHERE \(condition)"))
                // The feed does not say which contacts lost an image.
                if ["avatar", "owner"].contains(column.table) { restartsFeed = true }
            case .forgetFile:
                try run(
                    ChangesHits(
                        """
                        UPDATE avatar SET file_id = NULL, absence = 'missing', etag = NULL, last_modified = NULL,
                            absent_sha256 = (SELECT sha256 FROM file WHERE file.id = avatar.file_id)
                        WHERE file_id IN (SELECT id FROM file WHERE \(condition))
                        """
                    )
                )
                try run(ChangesHits("DELETE FROM file WHERE \(condition)"))
            case .restartFeed:
                restartsFeed = true
            }
        }
        if restartsFeed {
            let ids = IndexNumber.id
            try run(
                KeepsHits(
                    """
                    UPDATE change_feed SET sequence = 0, floor = 0
                    WHERE sequence NOT BETWEEN \(ids.lowerBound) AND \(ids.upperBound - 1)
                    """
                )
            )
            try restartFeed(at: time)
        }
        try repairAccesses()
        try run(KeepsHits("INSERT OR IGNORE INTO total SELECT column1, 0, 0 FROM (VALUES (0), (1))"))
        for storageClass in StorageClass.allCases { try recountTotal(of: storageClass) }
    }
}
