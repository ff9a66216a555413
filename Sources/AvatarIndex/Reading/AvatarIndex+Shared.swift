package import AvatarCore
import AvatarSQLite

/// An image that many contacts have from one host.
package struct SharedRecord: Sendable {
    /// The digest of its bytes.
    package let sha256: [UInt8]
    /// The number of contacts that have it from one of `hosts`.
    package let contacts: Int
    /// The hosts (name and port) that send it for many contacts, each with the number of contacts.
    package let hosts: [(name: String, contacts: Int)]
    /// A file with these bytes; `nil` if it was deleted meanwhile.
    package let file: FileRecord?
}

extension AvatarIndex {
    /// Images that at least `minimum` contacts have from one host, sorted by the number of contacts, descending.
    ///
    /// - Parameters:
    ///   - last: the last image of the page before, and its number of contacts; `nil` for the first page.
    ///   - limit: the maximum number of images.
    package func sharedImages(
        minimum: Int,
        after last: (contacts: Int, sha256: [UInt8])?,
        limit: Int
    ) throws -> [SharedRecord] {
        try readers.read { connection in
            try connection.snapshot {
                let values: [any Bindable] = [minimum, last.map { -$0.contacts } ?? Int.min, last?.sha256 ?? [], limit]
                let found = try connection.rows(Self.sharedSQL, values) { row in
                    (
                        sha256: row.blob("sha256"), contacts: row.count("contacts"),
                        hosts: row.text("hosts")
                    )
                }
                return try found.map { image in
                    SharedRecord(
                        sha256: image.sha256,
                        contacts: image.contacts,
                        hosts: Self.hosts(image.hosts),
                        file: try connection.firstRow(
                            "SELECT \(FileRecord.columns) FROM file WHERE storage_class IN (0, 1) AND sha256 = ? LIMIT 1",
                            [image.sha256]
                        ) { FileRecord($0) }
                    )
                }
            }
        }
    }

    /// The hosts in `text`, which has one per line: the number of contacts and the name. Most contacts first.
    private static func hosts(_ text: String) -> [(name: String, contacts: Int)] {
        text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let contacts = Int(parts[0]) else { return nil }
            return (name: String(parts[1]), contacts: contacts)
        }
        .sorted { ($1.contacts, $0.name) < ($0.contacts, $1.name) }
    }

    /// The query of `sharedImages`. Its parameters are the minimum, the last image of the page before (its number of
    /// contacts, negated, and its digest), and the limit.
    ///
    /// Most entries have their own image and one contact. Two scans of covering indexes skip them: one finds images of
    /// several entries of a host, the other finds entries of many contacts. Only these are counted. A contact that has the
    /// image in both storage classes counts twice.
    static let sharedSQL = """
        WITH candidate AS (
            SELECT file_id, host_id FROM avatar WHERE file_id IS NOT NULL
            GROUP BY file_id, host_id HAVING count(*) > 1
            UNION
            SELECT avatar.file_id, avatar.host_id
            FROM (SELECT avatar_id FROM owner GROUP BY avatar_id HAVING count(*) >= ?1) AS popular
            CROSS JOIN avatar ON avatar.id = popular.avatar_id
            WHERE avatar.file_id IS NOT NULL
        ),
        counted AS MATERIALIZED (
            SELECT
                file.sha256 AS sha256, candidate.host_id AS host_id,
                sum((
                    SELECT count(DISTINCT owner.contact) FROM avatar CROSS JOIN owner ON owner.avatar_id = avatar.id
                    WHERE avatar.file_id = candidate.file_id AND avatar.host_id = candidate.host_id
                )) AS host_contacts
            FROM candidate CROSS JOIN file ON file.id = candidate.file_id
            WHERE candidate.host_id IS NOT NULL
            GROUP BY file.sha256, candidate.host_id
        )
        SELECT
            counted.sha256 AS sha256, sum(counted.host_contacts) AS contacts,
            group_concat(counted.host_contacts || ' ' || host.name, char(10)) AS hosts
        FROM counted CROSS JOIN host ON host.id = counted.host_id
        WHERE counted.host_contacts >= ?1
        GROUP BY counted.sha256
        HAVING (-sum(counted.host_contacts), counted.sha256) > (?2, ?3)
        ORDER BY contacts DESC, counted.sha256
        LIMIT ?4
        """
}
