import Foundation
import GRDB

/// The writes to an index, measured from outside.
struct IndexWitness {
    /// Committed write transactions.
    let transactions: Int
    /// Pages that these wrote to the write-ahead log.
    let pages: Int
    /// New and changed rows, by table.
    let rows: [String: Int]

    var rowCount: Int { rows.values.reduce(0, +) }

    /// Runs `body`, which changes the index at `path`, and counts its writes.
    ///
    /// A reader holds a snapshot meanwhile, so the log is never emptied and contains every write. A checkpoint then waits
    /// for its busy timeout; that time is not part of a sync's own seconds.
    static func watch<Result>(_ path: String, _ body: () throws -> Result) throws -> (result: Result, IndexWitness) {
        let copy = path + "-before"
        try? FileManager.default.removeItem(atPath: copy)
        let index = try DatabaseQueue(path: path)
        try index.vacuum(into: copy)
        let (result, log) = try index.read { database in
            _ = try Int.fetchOne(database, sql: "SELECT count(*) FROM store")
            return (try body(), try Data(contentsOf: URL(fileURLWithPath: path + "-wal")))
        }
        let rows = try changedRows(index, copy)
        try index.close()
        try FileManager.default.removeItem(atPath: copy)
        let (transactions, pages) = count(log)
        return (result, IndexWitness(transactions: transactions, pages: pages, rows: rows))
    }

    private static func changedRows(_ index: DatabaseQueue, _ copy: String) throws -> [String: Int] {
        try index.writeWithoutTransaction { database in
            try database.execute(sql: "ATTACH ? AS before", arguments: [copy])
            defer { try? database.execute(sql: "DETACH before") }
            let tables = ["store", "host", "file", "pending_file", "avatar", "owner", "total", "partial_download"]
            var rows: [String: Int] = [:]
            for table in tables {
                let sql = "SELECT count(*) FROM (SELECT * FROM main.\(table) EXCEPT SELECT * FROM before.\(table))"
                rows[table] = try Int.fetchOne(database, sql: sql)
            }
            return rows.filter { $0.value > 0 }
        }
    }

    /// The commits and pages in a log. After a header of 32 bytes come frames: a header of 24 bytes and a page each. The
    /// last frame of a transaction holds the database size in pages. Frames of an older log have other salts.
    private static func count(_ log: Data) -> (transactions: Int, pages: Int) {
        let bytes = [UInt8](log)
        func word(_ place: Int) -> UInt32 { bytes[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) } }
        guard bytes.count >= 32 else { return (0, 0) }
        let frame = 24 + Int(word(8))
        var (transactions, pages) = (0, 0)
        var place = 32
        while place + frame <= bytes.count, word(place + 8) == word(16), word(place + 12) == word(20) {
            pages += 1
            if word(place + 4) != 0 { transactions += 1 }
            place += frame
        }
        return (transactions, pages)
    }
}
