import Foundation
import GRDB

/// What was written to an index, seen from outside.
struct IndexWitness {
    /// Write transactions that were committed.
    let transactions: Int
    /// Pages that they wrote to the log.
    let pages: Int
    /// Rows that are new or differ from before, by table.
    let rows: [String: Int]

    var rowCount: Int { rows.values.reduce(0, +) }

    /// Runs `body`, which changes the index at `path`, and looks what it wrote.
    ///
    /// A reader keeps the state of before all the while, so the log is never emptied and tells everything. Whoever wants
    /// to empty it waits in vain for its busy time; that is no part of a sync's own seconds.
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

    /// Commits and pages of a log: after a header of 32 bytes come frames, a header of 24 bytes and a page each; the last
    /// of a transaction says how many pages the database has then. Frames of an older log have other salts.
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
