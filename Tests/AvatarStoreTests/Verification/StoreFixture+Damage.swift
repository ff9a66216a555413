import AvatarMaintenance
import AvatarSQLite
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// Runs `sql` on an index, without the store and without the triggers that protect published rows.
func changeIndex(at path: String, _ sql: String) throws {
    try Connection.using(path) { connection in
        try connection.execute("PRAGMA foreign_keys = OFF; DROP TRIGGER IF EXISTS file_is_immutable; " + sql)
    }
}

/// Ways to damage a store from outside.
extension StoreFixture {
    /// Runs `sql` on the fixture's index, without the store and without the triggers that protect published rows.
    func changeIndex(_ sql: String) throws {
        try AvatarStoreTests.changeIndex(at: store.configuration.layout.indexPath, sql)
    }

    /// The first value of `sql`, on the fixture's index or another.
    func indexText(_ sql: String, at path: String? = nil) throws -> String? {
        try Connection.using(path ?? store.configuration.layout.indexPath) { try $0.text(sql) }
    }

    /// The absolute path of the file stored for `key`.
    func path(of key: AvatarKey) throws -> String {
        try #require(try store.localFile(for: key, recordsAccess: false))
    }

    func path(in storageClass: StorageClass, _ path: String) -> String {
        store.configuration.layout.root(of: storageClass) + "/" + path
    }

    /// Writes `bytes` to a file, and creates its folder.
    func write(_ bytes: [UInt8], to path: String) throws {
        let url = URL(filePath: path)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: url)
    }

    /// The files in `set-aside`.
    var setAside: [String] {
        (FileManager.default.enumerator(atPath: directory + "/set-aside")?.allObjects as? [String]) ?? []
    }

    /// The faults that a verification by another process finds, without a repair.
    func faults(quick: Bool = false) async throws -> [VerificationFault.Kind] {
        var configuration = store.configuration
        configuration.access = .readOnly
        return try await AvatarStore.verify(configuration, quick: quick).faults.map(\.kind)
    }

    /// Repairs, and checks that a second repair has nothing left to do.
    @discardableResult
    func repair() async throws -> VerificationReport {
        let report = try await store.verify(repair: true)
        #expect(report.repaired == report.faultCount)
        let again = try await store.verify(repair: true)
        #expect(again.faults == [])
        return report
    }
}

extension [UInt8] {
    /// The bytes with one bit flipped in the middle.
    var withFlippedBit: [UInt8] {
        var bytes = self
        bytes[bytes.count / 2] ^= 1
        return bytes
    }
}
