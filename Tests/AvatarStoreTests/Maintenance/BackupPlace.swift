import AvatarMaintenance
import AvatarStore
import Foundation
import Testing

/// A temporary directory for a test's backups.
struct BackupPlace {
    let path: String

    /// Runs `body` with an empty directory below `parent`.
    static func with(
        in parent: String = FileManager.default.temporaryDirectory.path(percentEncoded: false),
        _ body: (BackupPlace) async throws -> Void
    ) async throws {
        let place = BackupPlace(
            path: URL(filePath: parent).appending(path: "avatar-backup-\(UUID())").path(percentEncoded: false)
        )
        try FileManager.default.createDirectory(atPath: place.path, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: place.path) } }
        try await body(place)
    }

    /// A path for a backup; nothing exists there yet.
    var backup: String { path + "/backup" }

    func path(_ name: String) -> String { path + "/" + name }

    /// All items below `directory`, and the bytes of the files.
    static func contents(of directory: String) throws -> [String: Data] {
        var contents: [String: Data] = [:]
        for name in try everything(in: directory) {
            let path = directory + "/" + name
            let isFile = try information(path).st_mode & S_IFMT == S_IFREG
            contents[name] = isFile ? try Data(contentsOf: URL(filePath: path)) : Data()
        }
        return contents
    }

    /// All items below `directory` with their modification times, without the files that SQLite shares with readers.
    ///
    /// The files are not opened: closing the index would drop the locks that this process has on it.
    static func states(in directory: String) throws -> [String: [Int]] {
        var states: [String: [Int]] = [:]
        for name in try everything(in: directory) where !name.hasSuffix("-shm") {
            let information = try information(directory + "/" + name)
            states[name] = [
                Int(information.st_size), Int(information.st_mtim.tv_sec), Int(information.st_mtim.tv_nsec),
            ]
        }
        return states
    }

    private static func everything(in directory: String) throws -> [String] {
        guard FileManager.default.fileExists(atPath: directory) else { return [] }
        return try FileManager.default.subpathsOfDirectory(atPath: directory)
    }

    static func names(in directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
    }

    static func information(_ path: String) throws -> stat {
        var information = stat()
        try #require(lstat(path, &information) == 0, "\(path)")
        return information
    }
}

/// Fails unless `layout` holds a complete, closed store whose entries have these bytes and no others, and which can be
/// opened and written.
///
/// - Parameter images: the bytes of each entry that has a file.
func expectCopy(
    at layout: StoreLayout,
    holds images: [AvatarKey: [UInt8]],
    without bare: [AvatarKey] = [],
    sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    var configuration = AvatarStore.Configuration(layout: layout)
    configuration.access = .readOnly
    let report = try await AvatarStore.verify(configuration)
    #expect(report.faults == [] && report.pending == 0, sourceLocation: sourceLocation)
    // Compares the bytes on disk, not those that the store reads.
    let store = try await AvatarStore.open(configuration)
    var query = AvatarListQuery()
    query.limit = 100_000
    var found: [String: [UInt8]] = [:]
    var files: Set<String> = []
    for item in try store.list(query).items {
        guard let file = item.localFile, let slash = file.firstIndex(of: "/") else { continue }
        let root = file.hasPrefix("caches/") ? layout.cachesRoot : layout.documentsRoot
        let path = root + file[slash...]
        files.insert(path)
        found[item.key.rawValue] = try Array(Data(contentsOf: URL(filePath: path)))
    }
    #expect(
        found == Dictionary(uniqueKeysWithValues: images.map { ($0.key.rawValue, $0.value) }),
        sourceLocation: sourceLocation
    )
    let withoutFile = try store.list(query).items.filter { $0.localFile == nil }.map(\.key.rawValue)
    #expect(withoutFile.sorted() == bare.map(\.rawValue).sorted(), sourceLocation: sourceLocation)
    let statistics = try store.statistics()
    #expect(statistics.cachesBytes <= statistics.budgetBytes, sourceLocation: sourceLocation)
    #expect(statistics.stagingBytes == 0, sourceLocation: sourceLocation)
    try await store.close()
    try await expectUsable(layout, images, sourceLocation)
}

private func expectUsable(
    _ layout: StoreLayout,
    _ images: [AvatarKey: [UInt8]],
    _ sourceLocation: SourceLocation
) async throws {
    var configuration = AvatarStore.Configuration(layout: layout)
    let store = try await AvatarStore.open(configuration)
    for (key, bytes) in images {
        #expect(try store.storedAvatar(for: key)?.bytes == bytes, sourceLocation: sourceLocation)
    }
    try await store.close()
    configuration.access = .readOnly
    let report = try await AvatarStore.verify(configuration)
    #expect(report.faults == [], sourceLocation: sourceLocation)
}
