import AvatarFiles
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// An index from elsewhere names files outside the store. The store does not read, return, copy, write or remove them.
@Suite(.timeLimit(.minutes(5)))
struct HostileIndexTests {
    /// A value in the place of a file's path, and the file it leads to.
    enum Place: CaseIterable {
        case above, absolute, aroundAFolder, aroundTheRoot, nul, staged, otherRoot, linkedFolder, linkedFile

        static let name = "ab/cdef01-0123456789abcdef.png"

        /// Writes `secret` where the path leads, and returns the path as an SQL expression.
        func prepare(_ secret: [UInt8], in directory: String, root: String) throws -> (file: String, sql: String) {
            let manager = FileManager.default
            let outside = directory + "/outside"
            try manager.createDirectory(atPath: outside, withIntermediateDirectories: true)
            func put(_ file: String, _ sql: String) throws -> (String, String) {
                let url = URL(filePath: file)
                try manager.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(secret).write(to: url)
                return (file, sql)
            }
            switch self {
            case .above: return try put(outside + "/secret.png", "'../outside/secret.png'")
            case .absolute: return try put(outside + "/secret.png", "'\(outside)/secret.png'")
            case .aroundAFolder:
                try manager.createDirectory(atPath: root + "/ab", withIntermediateDirectories: true)
                return try put(outside + "/secret.png", "'ab/../../outside/secret.png'")
            case .aroundTheRoot: return try put(outside + "/secret.png", "'./../outside/./secret.png'")
            case .nul: return try put(outside + "/secret.png", "'../outside/secret.png' || char(0) || '.png'")
            case .staged: return try put(directory + "/staging/0000000000000001", "'../staging/0000000000000001'")
            case .otherRoot:
                return try put(directory + "/documents/\(Self.name)", "'../documents/\(Self.name)'")
            case .linkedFolder:
                try manager.createSymbolicLink(atPath: root + "/ab", withDestinationPath: outside)
                return try put(outside + "/cdef01-0123456789abcdef.png", "'\(Self.name)'")
            case .linkedFile:
                try manager.createDirectory(atPath: root + "/ab", withIntermediateDirectories: true)
                let file = outside + "/secret.png"
                try manager.createSymbolicLink(atPath: root + "/" + Self.name, withDestinationPath: file)
                return try put(file, "'\(Self.name)'")
            }
        }
    }

    enum Use: CaseIterable {
        case read, path, lend, show, remove, erase, trim, evict, verify, repair, export, backup, restore, move, reload
        case fetch, promote, sync, opening
    }

    private static let pairs: [(Place, Use)] = {
        let pairs = Place.allCases.enumerated().flatMap { row, place in
            Use.allCases.enumerated().map { (row + $0, place, $1) }
        }
        let isThorough = ProcessInfo.processInfo.environment["AVATARS_THOROUGH"] == "1"
        return pairs.filter { isThorough || $0.0 % 3 == 0 }.map { ($0.1, $0.2) }
    }()

    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    /// As long as the listed image, so that its length does not give it away.
    private let secret = SampleImage.png(seed: 9, byteCount: 4000)

    /// Each place and each use, in a third of the pairs; in all of them with `scripts/test --thorough`.
    @Test(arguments: pairs)
    func noFileOfOthersIsTouched(_ place: Place, _ use: Use) async throws {
        try await StoreFixture.withStore(endsSound: false) { fixture in
            let store = fixture.store
            let layout = store.configuration.layout
            let url = fixture.serve(face, at: "/a.png", etag: "\"1\"")
            let key = try await store.avatar(for: url).key
            try await store.save(SampleImage.png(seed: 2, byteCount: 900), named: "other")
            let copy = fixture.directory + "-copy"
            let restored = fixture.directory + "-restored"
            defer { remove([copy, restored]) }
            if use == .restore { _ = try await store.backup(to: copy) }
            let base = use == .restore ? copy : fixture.directory
            let (file, path) = try place.prepare(secret, in: base, root: base + "/caches")
            let sql = "UPDATE file SET path = \(path) WHERE storage_class = 0"
            try changeIndex(at: base + "/index.sqlite", sql)
            let before = try contents(of: base + "/outside")

            var results: [[UInt8]] = []
            switch use {
            case .read:
                results += [try store.storedAvatar(for: key)?.bytes, try store.storedAvatar(for: url)?.bytes]
                    .compactMap(\.self)
                #expect(results.isEmpty)
            case .path:
                #expect(try store.localFile(for: key) == nil)
                #expect(try store.storedFile(for: key) == nil && store.storedFile(for: url) == nil)
            case .lend:
                #expect(try store.withFile(for: key) { $0 } == nil)
            case .show:
                let details = try #require(try store.details(for: key))
                #expect(!details.isFilePresent)
                for shown in [details.localFile, details.overview.localFile, try store.list().items.first?.localFile] {
                    #expect(shown?.contains("..") != true && shown?.contains("outside") != true)
                }
            case .remove: _ = try await store.remove(key)
            case .erase: _ = try await store.remove(key, erasing: true)
            case .trim: try await store.trim(to: 0)
            case .evict:
                try await store.set(.budget, to: 5000)
                _ = try await store.avatar(for: fixture.serve(SampleImage.png(seed: 4, byteCount: 3000), at: "/b.png"))
            case .verify:
                let kinds = try await store.verify().faults.map(\.kind)
                #expect(kinds.contains(.outsideRoot), "\(kinds)")
            case .repair:
                _ = try await store.verify(repair: true)
                let again = try await store.verify().faults.filter { $0.key == key }
                #expect(again == [])
            case .export:
                let report = try await store.exportImages(to: copy)
                #expect(report.images == 1 && report.missing == 1)
            case .backup:
                let report = try await store.backup(to: copy)
                #expect(report.files == 1 && report.missing == 1)
            case .restore:
                let target = StoreLayout(directory: restored)
                let report = try await AvatarStore.restore(from: copy, to: .init(layout: target))
                #expect(report.files == 1 && report.missing == 1)
            case .move:
                await #expect { try await store.move(key, to: .documents) } throws: {
                    ($0 as? AvatarStoreError)?.code == .noSuchEntry
                }
            case .reload:
                results.append(try await store.avatar(for: url, options: FetchOptions(policy: .reload)).bytes)
                #expect(results == [face])
            case .fetch:
                results.append(try await store.avatar(for: url).bytes)
                #expect(results == [face])
                #expect(fixture.origin.requests.last?.headers["if-none-match"] == nil)
            case .promote:
                results.append(try await store.avatar(for: url, options: FetchOptions(storage: .documents)).bytes)
                #expect(results == [face])
            case .sync:
                _ = try await store.sync(contacts: [Contact(id: "ann", avatarURL: url)])
                #expect(try store.storedAvatar(for: key)?.bytes == face)
            case .opening:
                try changeIndex(
                    at: layout.indexPath,
                    "INSERT INTO pending_file SELECT 0, \(path), 4000, '0000000000000000'"
                )
                let again = try await fixture.openAgain()
                #expect(try again.storedAvatar(for: AvatarKey(name: "other")) != nil)
                try await again.close()
            }

            if [.staged, .otherRoot].contains(place), use == .repair {
                // It is the store's own file: unfinished there, or an unknown document.
            } else {
                #expect(FileManager.default.contents(atPath: file) == Data(secret))
            }
            #expect(try contents(of: base + "/outside") == before)
            for folder in use == .restore ? [restored] : [fixture.directory + "/caches", copy] {
                #expect(try !contents(of: folder).values.contains(Data(secret)), "\(folder)")
            }
        }
    }

    private func remove(_ paths: [String]) {
        for path in paths where FileManager.default.fileExists(atPath: path) {
            #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: path) }
        }
    }

    /// Regular files below `directory` with their bytes, and other items.
    private func contents(of directory: String) throws -> [String: Data] {
        try BackupPlace.contents(of: directory)
    }

    @Test("opening a received backup whose index names its files as unfinished deletes nothing")
    func receivedBackup() async throws {
        try await StoreFixture.withStore { fixture in
            let own = try await fixture.store.save(face, named: "me")
            _ = try await fixture.store.avatar(for: fixture.serve(secret, at: "/a.png"))
            let copy = fixture.directory + "-copy"
            let outside = fixture.directory + "-outside"
            defer { remove([copy, outside]) }
            _ = try await fixture.store.backup(to: copy)
            let name = URL(filePath: outside).lastPathComponent
            try fixture.write(secret, to: outside + "/letter.png")
            let names = [
                "../index.sqlite", "../../\(name)/letter.png", outside + "/letter.png", ".", "../staging",
                "x/../../index.sqlite",
            ]
            let rows = names.map { "(1, '\($0)', 1, '0000000000000000'), (0, '\($0)', 1, '../../\(name)')" }
            try changeIndex(
                at: copy + "/index.sqlite",
                """
                INSERT INTO pending_file VALUES \(rows.joined(separator: ", "));
                INSERT INTO pending_file SELECT storage_class, path, size_bytes, '0000000000000000' FROM file;
                INSERT INTO partial_download (key, storage_class, name, url, etag, size_bytes, updated_ms)
                VALUES ('name:me', 1, '../../\(name)/letter.png', 'http://a/', '"1"', 5000, 0);
                """
            )
            let before = try contents(of: copy)["index.sqlite"]?.count

            let store = try await AvatarStore.open(directory: copy)
            #expect(try store.storedAvatar(for: own)?.bytes == face)
            #expect(try store.statistics().pendingBytes == 0)
            try await store.trim(to: 5000)
            try await store.remove(own)
            try await store.close()

            #expect(before != nil && FileManager.default.fileExists(atPath: copy + "/index.sqlite"))
            #expect(try contents(of: outside) == ["letter.png": Data(secret)])
            #expect(!FileManager.default.fileExists(atPath: outside + ".lock"))
            #expect(try await AvatarStore.verify(AvatarStore.Configuration(directory: copy)).faults == [])
        }
    }

    @Test(
        "nothing is written through a folder that is a symbolic link, and a repair removes the link",
        arguments: StorageClass.allCases
    )
    func linkedFolders(_ storageClass: StorageClass) async throws {
        try await StoreFixture.withStore { fixture in
            let outside = fixture.directory + "/outside"
            try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: true)
            for byte in UInt8.min...UInt8.max {
                let folder = fixture.path(in: storageClass, FilePath.folder(forDigestByte: byte))
                try FileManager.default.createSymbolicLink(atPath: folder, withDestinationPath: outside)
            }

            await #expect { try await fixture.store.save(face, named: "me", in: storageClass) } throws: {
                ($0 as? AvatarStoreError)?.code == .unusableRoot
            }
            #expect(try contents(of: outside).isEmpty)
            try await fixture.repair()
            #expect(try contents(of: outside).isEmpty)

            let key = try await fixture.store.save(face, named: "me", in: storageClass)
            #expect(try fixture.store.storedAvatar(for: key)?.bytes == face)
        }
    }

    @Test(
        "nothing is set aside, and no download kept, through a symbolic link",
        arguments: ["set-aside", "staging/partial"]
    )
    func linkedWorkFolders(_ folder: String) async throws {
        try await StoreFixture.withStore(endsSound: false) { fixture in
            let outside = fixture.directory + "/outside"
            try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: fixture.directory + "/" + folder,
                withDestinationPath: outside
            )
            if folder == "set-aside" {
                let key = try await fixture.store.save(face, named: "me")
                let path = try fixture.path(of: key)
                try fixture.write(face.withFlippedBit, to: path)
                await #expect(throws: AvatarStoreError.self) { try await fixture.store.verify(repair: true) }
                #expect(FileManager.default.contents(atPath: path) == Data(face.withFlippedBit))
            } else {
                let url = fixture.origin.url("/cut.png")
                let bytes = SampleImage.png(seed: 3, byteCount: 50_000)
                fixture.origin.setResponse(
                    .image(bytes, etag: "\"1\"", cacheControl: "max-age=60").behaving(.cutShort(after: 20_000)),
                    for: "/cut.png"
                )
                await #expect(throws: AvatarStoreError.self) { try await fixture.store.avatar(for: url) }
            }
            #expect(try contents(of: outside).isEmpty)
        }
    }
}
