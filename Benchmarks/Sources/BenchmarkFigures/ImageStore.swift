package import AvatarStore
import Foundation
import GRDB

/// A store of many images of one size, made by SQL and plain writes.
package struct ImageStore: Sendable {
    package let directory: String
    package let count: Int
    package let bytes: Int
    /// The URL of each image, as a caller would pass it.
    package let urls: [String]
    /// The file of each image, relative to `root`.
    package let files: [String]

    package var root: String { directory + "/caches" }

    /// The store at `directory`, which is made if it does not exist.
    package init(directory: String, count: Int, bytes: Int) throws {
        self.directory = directory
        self.count = count
        self.bytes = bytes
        urls = (0..<count).map {
            "https://pictures\($0 % 97).example.org/people/\(1_000_000_007 &* $0 % 99_991)/photo-\($0).png"
        }
        files = (0..<count).map(Self.file)
        guard !FileManager.default.fileExists(atPath: directory + "/index.sqlite") else { return }
        try waiting { try await AvatarStore.open(directory: directory).close() }
        try makeFiles()
        try fillIndex()
    }

    /// Opens the store with a budget that its images never reach.
    package func open() throws -> AvatarStore {
        let directory = directory
        return try waiting { try await AvatarStore.open(directory: directory) }
    }

    package func close(_ store: AvatarStore) throws {
        try waiting { try await store.close() }
    }

    /// A file name as the store makes it: two hex digits, six more, and sixteen that are never used again.
    private static func file(_ number: Int) -> String {
        let spread = UInt64(number + 1) &* 0x9E37_79B9_7F4A_7C15
        return String(format: "%02x/%06x-%016llx.png", Int(spread >> 56), Int(spread >> 32 & 0xFF_FFFF), spread)
    }

    private func makeFiles() throws {
        for folder in 0..<256 { mkdir(root + String(format: "/%02x", folder), 0o700) }
        var content = [UInt8](repeating: 7, count: bytes)
        for (number, file) in files.enumerated() {
            withUnsafeBytes(of: number) { content.replaceSubrange(0..<8, with: $0) }
            let descriptor = Foundation.open(root + "/" + file, O_WRONLY | O_CREAT, 0o600)
            guard write(descriptor, content, bytes) == bytes else { throw BenchmarkError("Cannot write \"\(file)\".") }
            Foundation.close(descriptor)
        }
    }

    private func fillIndex() throws {
        let index = try DatabaseQueue(path: directory + "/index.sqlite")
        try index.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA synchronous = OFF; PRAGMA cache_size = -200000")
            try database.inTransaction {
                try insertRows(database)
                return .commit
            }
            try database.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try index.close()
    }

    private func insertRows(_ database: Database) throws {
        let now = Int64(Date.now.timeIntervalSince1970 * 1000)
        try database.execute(sql: "INSERT INTO setting (name, value) VALUES ('budget', 1 << 40)")
        for host in 0..<97 {
            try database.execute(
                sql: "INSERT INTO host (id, name, next_check_ms) VALUES (?, ?, ?)",
                arguments: [host + 1, "pictures\(host).example.org:443", now + 86_400_000]
            )
        }
        let file = try database.makeStatement(
            sql: """
                INSERT INTO file (id, storage_class, sha256, path, size_bytes, media_type, width, height, last_access_us)
                VALUES (?, 0, randomblob(32), ?, ?, 'image/png', 64, 64, ?)
                """
        )
        let entry = try database.makeStatement(
            sql: """
                INSERT INTO avatar (key, host_id, storage_class, file_id, etag, response_fields, response_ms,
                    response_delay_ms, fetched_ms, checked_ms, fresh_until_ms, next_check_ms)
                VALUES (?, ?, 0, ?, ?, 'cache-control: max-age=86400', ?, 20, ?, ?, ?, ?)
                """
        )
        for number in 0..<count {
            try file.execute(arguments: [number + 1, files[number], bytes, now * 1000 - Int64(number)])
            try entry.execute(
                arguments: [
                    urls[number], number % 97 + 1, number + 1, "\"\(number)\"", now, now, now, now + 86_400_000,
                    now + 86_400_000,
                ]
            )
        }
        try database.execute(
            sql: "UPDATE total SET files = ?, bytes = ? WHERE storage_class = 0",
            arguments: [count, count * bytes]
        )
    }
}
