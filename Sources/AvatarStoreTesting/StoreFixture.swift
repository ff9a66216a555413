package import AvatarFileSystem
@_exported public import AvatarLoopback
public import AvatarMaintenance
public import AvatarStore
import AvatarFoundation

/// An open store in a directory of its own, a loopback origin and a clock that the test moves.
///
/// The store may fetch from loopback, and its timeout is 10 seconds.
public struct StoreFixture: Sendable {
    /// The store's directory, under the temporary directory. `withStore` removes it.
    public let directory: String
    /// Serves the images.
    public let origin: LoopbackOrigin
    /// The store's time.
    public let clock: ManualClock
    /// The open store.
    public let store: AvatarStore

    /// Runs `body` with a new store and a new origin, then closes, verifies and removes them.
    ///
    /// - Parameters:
    ///   - endsSound: Whether the store must pass verification after `body`. Default: true.
    ///   - configure: Changes the configuration before the store opens. Default: no change.
    ///   - body: The test.
    /// - Returns: the result of `body`.
    /// - Throws: `UnsoundStore` if the verification finds faults; `AvatarStoreError` if the store cannot be opened or
    ///   closed; `LoopbackOriginError` if the origin cannot start; the errors of `body`.
    public static func withStore<Result>(
        endsSound: Bool = true,
        _ configure: (inout AvatarStore.Configuration) -> Void = { _ in },
        _ body: (StoreFixture) async throws -> Result
    ) async throws -> Result {
        try await withStore(on: LocalFileSystem(), endsSound: endsSound, configure, body)
    }

    /// As the public `withStore`, with the store's file calls on `fileSystem`.
    package static func withStore<Result>(
        on fileSystem: any FileSystem,
        endsSound: Bool = true,
        _ configure: (inout AvatarStore.Configuration) -> Void = { _ in },
        _ body: (StoreFixture) async throws -> Result
    ) async throws -> Result {
        let directory = FileManager.default.temporaryDirectory.path + "/avatar-store-" + UUID().uuidString
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

    /// Opens the fixture's store a second time, as another process would. The caller closes it.
    ///
    /// - Parameter configure: Changes the fixture's default configuration. Default: no change.
    /// - Throws: `AvatarStoreError` if the store cannot be opened.
    public func openAgain(
        _ configure: (inout AvatarStore.Configuration) -> Void = { _ in }
    ) async throws -> AvatarStore {
        var configuration = Self.configuration(directory, clock)
        configure(&configuration)
        return try await AvatarStore.open(configuration)
    }

    /// Serves an image at `path` from now on.
    ///
    /// - Parameters:
    ///   - bytes: The body; it need not be an image.
    ///   - path: The path, which begins with a slash.
    ///   - etag: The `ETag`, with its quotes. Default: none.
    ///   - cacheControl: The `Cache-Control`. Default: `max-age=3600`.
    /// - Returns: the image's URL.
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

    /// The regular files below the root of `storageClass`: their lengths in bytes by their paths relative to the root.
    public func files(in storageClass: StorageClass) -> [String: Int] {
        let root = store.configuration.layout.root(of: storageClass)
        var files: [String: Int] = [:]
        for path in Self.paths(below: root) {
            var information = stat()
            guard lstat(root + "/" + path, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { continue }
            files[path] = Int(information.st_size)
        }
        return files
    }

    private static func paths(below root: String) -> [String] {
        do {
            return try FileManager.default.subpathsOfDirectory(atPath: root)
        } catch {
            // A root that is not there has no files.
            return []
        }
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
            // The rest stays in the temporary directory. The test's own result matters more.
        }
    }
}

/// A store whose index and files disagree at the end of a test.
public struct UnsoundStore: Error {
    /// The report of the verification, with at least one fault.
    public let report: VerificationReport
}
