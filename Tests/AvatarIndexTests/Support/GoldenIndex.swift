import Foundation
import Testing

/// An index as the schema version `version` left it in the field; see `Golden/make-golden`.
struct GoldenIndex {
    let version: Int
    /// Plain SQL that makes it.
    let sql: String

    init(version: Int) throws {
        let file = Bundle.module.url(forResource: "v\(version)", withExtension: "sql", subdirectory: "Golden")
        let url = try #require(file, "Golden/v\(version).sql is not there; Golden/make-golden writes it.")
        self.version = version
        sql = try String(contentsOf: url, encoding: .utf8)
    }

    /// Makes the index in a new file at `path`.
    func load(into path: String) throws {
        try PlainSQL.run(sql, in: path)
    }

    /// The query for the overview that the view offers in a `sqlite3` shell.
    static let overview = """
        SELECT key, source_url, local_file, storage_class, size_bytes, etag, last_access, fresh_until, checked_at, state
        FROM avatar_overview ORDER BY key
        """
}
