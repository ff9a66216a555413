/// The prepared statements of a connection, by their SQL.
///
/// A dictionary would hash the whole text at each use. The length of the text alone tells nearly all statements apart.
struct StatementTable {
    /// The statements whose SQL has the same length in bytes, but for a multiple of the number of buckets.
    private var buckets: [[Statement]] = Array(repeating: [], count: bucketCount)

    /// A power of two.
    private static let bucketCount = 64

    /// All statements, in no particular order.
    var all: [Statement] { buckets.flatMap(\.self) }

    /// The statement for `sql`; `nil` without one.
    func statement(for sql: String) -> Statement? {
        for statement in buckets[Self.bucket(of: sql)] where statement.sql == sql { return statement }
        return nil
    }

    /// Keeps `statement`, in place of another one with the same SQL.
    mutating func keep(_ statement: Statement) {
        let bucket = Self.bucket(of: statement.sql)
        for place in buckets[bucket].indices where buckets[bucket][place].sql == statement.sql {
            buckets[bucket][place] = statement
            return
        }
        buckets[bucket].append(statement)
    }

    /// Forgets all statements.
    mutating func removeAll() { self = StatementTable() }

    /// The place of the bucket for `sql`.
    private static func bucket(of sql: String) -> Int { sql.utf8.count & (bucketCount - 1) }
}
