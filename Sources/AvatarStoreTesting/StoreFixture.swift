package import AvatarFiles
@_exported public import AvatarLoopback
public import AvatarStore
import Foundation

/// A store in a directory of its own under the temporary directory, an origin on loopback, and a clock moved by hand.
public struct StoreFixture: Sendable {
    /// The directory that holds everything; removed by `withStore`.
    public let directory: String
    /// Serves the images.
    public let origin: LoopbackOrigin
    /// The store's time.
    public let clock: ManualClock
    /// The open store.
    public let store: AvatarStore

    /// Runs `body` with a new store and a new origin, makes sure that index and files agree, and removes both.
    ///
    /// - Parameter endsSound: whether the store has to be sound in the end.
    /// - Parameter configure: changes how the store is opened.
    /// - Parameter body: the test.
    /// - Throws: `UnsoundStore` with what a verification found.
    public static func withStore<Result>(
        endsSound: Bool = true,
        _ configure: (inout AvatarStore.Configuration) -> Void = { _ in },
        _ body: (StoreFixture) async throws -> Result
    ) async throws -> Result {
        try await withStore(on: LocalFileSystem(), endsSound: endsSound, configure, body)
    }

    package static func withStore<Result>(
        on fileSystem: any FileSystem,
        endsSound: Bool = true,
        _ configure: (inout AvatarStore.Configuration) -> Void = { _ in },
        _ body: (StoreFixture) async throws -> Result
    ) async throws -> Result {
        let directory = NSTemporaryDirectory() + "avatar-store-" + UUID().uuidString
        let clock = ManualClock()
        var configuration = configuration(directory, clock)
        configure(&configuration)
        let origin = try await LoopbackOrigin.start()
        defer { remove(directory) }
        do {
            let store = try await AvatarStore.open(configuration, fileSystem: fileSystem)
            let fixture = StoreFixture(directory: directory, origin: origin, clock: clock, store: store)
            let result = try await body(fixture)
            try await store.close()
            try await origin.stop()
            if endsSound { try await requireSound(configuration) }
            return result
        } catch {
            try await origin.stop()
            throw error
        }
    }

    private static func requireSound(_ configuration: AvatarStore.Configuration) async throws {
        let report = try await AvatarStore.verify(configuration)
        guard report.faults.isEmpty else { throw UnsoundStore(report: report) }
    }

    /// Opens the fixture's store once more, as another process would.
    public func openAgain(
        _ configure: (inout AvatarStore.Configuration) -> Void = { _ in }
    ) async throws -> AvatarStore {
        var configuration = Self.configuration(directory, clock)
        configure(&configuration)
        return try await AvatarStore.open(configuration)
    }

    /// Serves `bytes` at `path`, and gives the URL.
    @discardableResult
    public func serve(
        _ bytes: [UInt8],
        at path: String,
        etag: String? = nil,
        cacheControl: String? = "max-age=3600"
    ) -> String {
        origin.setResponse(.image(bytes, etag: etag, cacheControl: cacheControl), for: path)
        return origin.url(path)
    }

    /// The files under a root of the store: path relative to the root, and length.
    public func files(in storageClass: StorageClass) -> [String: Int] {
        let root = store.configuration.layout.root(of: storageClass)
        var files: [String: Int] = [:]
        for case let path as String in FileManager.default.enumerator(atPath: root) ?? .init() {
            var information = stat()
            guard lstat(root + "/" + path, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { continue }
            files[path] = Int(information.st_size)
        }
        return files
    }

    private static func configuration(_ directory: String, _ clock: ManualClock) -> AvatarStore.Configuration {
        var configuration = AvatarStore.Configuration(directory: directory)
        configuration.clock = clock
        configuration.timeout = .seconds(10)
        #if HTTPOrigin
        configuration.http.allowsPrivateNetworks = true
        #endif
        return configuration
    }

    private static func remove(_ directory: String) {
        do {
            try FileManager.default.removeItem(atPath: directory)
        } catch {
            // What is left lies in the temporary directory; the test's own result matters more.
        }
    }
}

/// Index and files of a store do not agree at the end of a test.
public struct UnsoundStore: Error {
    /// What the verification found.
    public let report: VerificationReport
}
