import ArgumentParser
import AvatarStore
import Foundation
import Logging

/// Which store, and how much is said: the options of every command.
struct StoreOptions: ParsableArguments {
    @Option(
        name: .customLong("store"),
        help: ArgumentHelp(
            "One directory for everything. Default: $AVATARS_STORE, else the places of this system for caches and data.",
            valueName: "dir"
        ),
        completion: .directory
    )
    var directory: String?

    @Flag(name: .shortAndLong, help: "Print data, warnings and errors only: no progress, notes or summary.")
    var quiet = false

    @Flag(name: .shortAndLong, help: "Log to standard error.")
    var verbose = false

    func validate() throws {
        if directory?.isEmpty == true { throw ValidationError("--store names no directory.") }
    }

    /// Where the store has its parts.
    var layout: StoreLayout { StoreLocation(directory: directory).layout }

    /// Says something that `--quiet` keeps back.
    func note(_ text: String) {
        if !quiet { Message.note(text) }
    }

    /// Opens the store, runs `body` and closes the store.
    ///
    /// - Parameter configure: changes how the store is opened.
    func withStore<Result>(
        _ access: AvatarStore.Configuration.Access,
        configure: (inout AvatarStore.Configuration) throws -> Void = { _ in },
        _ body: (AvatarStore) async throws -> Result
    ) async throws -> Result {
        var configuration = configuration(access)
        try configure(&configuration)
        return try await Self.run(body, with: try await AvatarStore.open(configuration))
    }

    /// As `withStore(.readOnly)`, for a command that waits for nobody.
    func withStoreToLookAt<Result>(_ body: (AvatarStore) throws -> Result) throws -> Result {
        let store = try AvatarStore.openForReading(configuration(.readOnly))
        let result = Swift.Result { try body(store) }
        do {
            try store.closeForReading()
        } catch {
            if case .success = result { throw error }
            store.configuration.logger.warning("the store could not be closed", metadata: ["error": "\(error)"])
        }
        return try result.get()
    }

    /// As `withStore(.readOnly)`, for the dry run of a command that may make a store: without a store, `body` gets an empty
    /// one in a folder for temporary files.
    func withStoreOrEmptyOne<Result>(_ body: (AvatarStore) async throws -> Result) async throws -> Result {
        do {
            return try await withStore(.readOnly, body)
        } catch let error as AvatarStoreError where error.code == .noStore && hasRoomForAStore {
            let folder = FileManager.default.temporaryDirectory.appending(path: "avatars-dry-run-\(UUID().uuidString)")
            defer { Self.remove(folder) }
            var configuration = configuration(.readWrite)
            configuration.layout = StoreLayout(directory: folder.path(percentEncoded: false))
            return try await Self.run(body, with: try await AvatarStore.open(configuration))
        }
    }

    private static func remove(_ folder: URL) {
        do {
            try FileManager.default.removeItem(at: folder)
        } catch {
            // It lies in the system's folder for temporary files, which empties itself.
        }
    }

    /// Whether nothing is in the way of a new store.
    private var hasRoomForAStore: Bool {
        let directory = (layout.indexPath as NSString).deletingLastPathComponent
        guard FileManager.default.fileExists(atPath: directory) else { return true }
        do {
            return try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty
        } catch {
            // A file, or a folder that cannot be read.
            return false
        }
    }

    /// As `withStore(.readWrite)`; a store that cannot be written is opened for reading instead, with a warning.
    func withStoreForReads<Result>(
        configure: (inout AvatarStore.Configuration) throws -> Void,
        _ body: (AvatarStore) async throws -> Result
    ) async throws -> Result {
        var configuration = configuration(.readWrite)
        try configure(&configuration)
        let store = try await openForReads(configuration)
        return try await Self.run(body, with: store) { error in
            // What was read is good; what could not be written is when.
            Message.warning("The store could not be closed: \(error)")
        }
    }

    private func openForReads(_ configuration: AvatarStore.Configuration) async throws -> AvatarStore {
        do {
            return try await AvatarStore.open(configuration)
        } catch let unwritable as AvatarStoreError where [.readOnly, .diskFull].contains(unwritable.code) {
            var configuration = configuration
            configuration.access = .readOnly
            do {
                let store = try await AvatarStore.open(configuration)
                Message.warning("\(unwritable.message) Only what is stored can be given.")
                return store
            } catch let error as AvatarStoreError where error.code == .noStore {
                throw unwritable
            }
        }
    }

    /// Runs `body` and closes the store; a failure to close it is an error, unless `closeFailed` is there for it.
    private static func run<Result>(
        _ body: (AvatarStore) async throws -> Result,
        with store: AvatarStore,
        closeFailed: ((any Error) -> Void)? = nil
    ) async throws -> Result {
        let result: Result
        do {
            result = try await body(store)
        } catch {
            let failure = error
            do {
                try await store.close()
            } catch {
                store.configuration.logger.warning("the store could not be closed", metadata: ["error": "\(error)"])
            }
            throw failure
        }
        do {
            try await store.close()
        } catch {
            guard let closeFailed else { throw error }
            closeFailed(error)
        }
        return result
    }

    /// How the store is opened.
    func configuration(_ access: AvatarStore.Configuration.Access) -> AvatarStore.Configuration {
        var configuration = AvatarStore.Configuration(layout: layout)
        configuration.access = access
        if verbose {
            configuration.logger = Logger(label: "avatars") { StreamLogHandler.standardError(label: $0) }
            configuration.logger.logLevel = .debug
            configuration.logger.debug("opening the store", metadata: ["index": "\(configuration.layout.indexPath)"])
        }
        return configuration
    }
}
