import ArgumentParser
import AvatarStore
import AvatarFoundation
import Logging

/// The options of every command: where the store is, and how much is printed.
struct StoreOptions: ParsableArguments {
    /// The store directory as given. `layout` makes it absolute.
    @Option(
        name: .customLong("store"),
        help: ArgumentHelp(
            "Folder of the store. Default: $AVATARS_STORE, else \(StoreOptions.defaultPlaces).",
            valueName: "dir"
        ),
        completion: .directory
    )
    var directory: String?

    /// Drops progress, notes and summaries. Data, warnings and errors stay.
    @Flag(name: .shortAndLong, help: "Print data, warnings and errors only: no progress, notes or summary.")
    var quiet = false

    /// Sets the log level `debug`. Progress then appears as plain lines, which log lines do not tear apart.
    @Flag(name: .shortAndLong, help: "Log to standard error, with a line per request.")
    var verbose = false

    #if os(Linux)
    /// The default directories as the help names them; `StoreLocation` decides.
    private static let defaultPlaces = "~/.cache/avatars and ~/.local/share/avatars"
    #else
    /// The default directories as the help names them; `StoreLocation` decides.
    private static let defaultPlaces = "avatars in the folders Caches and Application Support"
    #endif

    /// - Throws: `ValidationError` if `--store` is empty.
    func validate() throws {
        if directory?.isEmpty == true { throw ValidationError("--store must not be empty. Name a folder.") }
    }

    /// The absolute paths of the store's parts.
    var layout: StoreLayout { location.layout }

    /// The place of the store.
    var location: StoreLocation { StoreLocation(directory: directory) }

    /// Prints `text` on standard error, unless `--quiet` was given.
    func note(_ text: String) {
        if !quiet { Message.note(text) }
    }

    /// Opens the store, runs `body` and closes the store, even if `body` fails.
    ///
    /// - Parameters:
    ///   - access: `.readOnly`; `.readWriteExisting`, which fails without a store; or `.readWrite`, which makes one.
    ///   - makesRoom: whether the command frees the disk, so that a full disk must not stop it. Default: no.
    ///   - configure: changes the configuration before the store is opened.
    /// - Throws: `AvatarStoreError` if the store cannot be opened or closed; the error of `body` or `configure`.
    func withStore<Result>(
        _ access: AvatarStore.Configuration.Access,
        makesRoom: Bool = false,
        configure: (inout AvatarStore.Configuration) async throws -> Void = { _ in },
        _ body: (AvatarStore) async throws -> Result
    ) async throws -> Result {
        var configuration = configuration(access)
        try await configure(&configuration)
        let store = try await makesRoom ? AvatarStore.openMakingRoom(configuration) : AvatarStore.open(configuration)
        return try await Self.run(body, with: store)
    }

    /// As `withStore(.readOnly)`, but synchronous, for commands that only look something up.
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

    /// As `withStore(.readOnly)`, for the dry run of a command that may make a store: where no store exists, `body`
    /// gets an empty one in a temporary folder, which is deleted afterwards.
    func withStoreOrEmptyOne<Result>(
        configure: (inout AvatarStore.Configuration) async throws -> Void = { _ in },
        _ body: (AvatarStore) async throws -> Result
    ) async throws -> Result {
        do {
            return try await withStore(.readOnly, configure: configure, body)
        } catch let error as AvatarStoreError where error.code == .noStore && hasRoomForAStore {
            let folder = FileManager.default.temporaryDirectory.appending(path: "avatars-dry-run-\(UUID().uuidString)")
            defer { Self.remove(folder) }
            var configuration = configuration(.readWrite)
            try await configure(&configuration)
            configuration.layout = StoreLayout(directory: folder.path(percentEncoded: false))
            return try await Self.run(body, with: try await AvatarStore.open(configuration))
        }
    }

    /// Deletes the temporary store of a dry run. A failure is ignored.
    private static func remove(_ folder: URL) {
        do {
            try FileManager.default.removeItem(at: folder)
        } catch {
            // The system empties its temporary folder by itself.
        }
    }

    /// Whether a store could be made: the directory of its index does not exist or is empty.
    private var hasRoomForAStore: Bool {
        let directory = layout.indexPath.parentPath
        guard FileManager.default.fileExists(atPath: directory) else { return true }
        do {
            return try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty
        } catch {
            // A file, or a folder that cannot be read.
            return false
        }
    }

    /// As `withStore(.readWrite)`, but a store that cannot be written is opened for reading, with a warning.
    ///
    /// A failure to close the store is a warning too, because the images read are complete.
    func withStoreForReads<Result>(
        configure: (inout AvatarStore.Configuration) async throws -> Void,
        _ body: (AvatarStore) async throws -> Result
    ) async throws -> Result {
        var configuration = configuration(.readWrite)
        try await configure(&configuration)
        let store = try await openForReads(configuration)
        return try await Self.run(body, with: store) { error in
            // Only the times of the last accesses were lost.
            Message.warning("The store could not be closed: \(error) The images read are complete.")
        }
    }

    /// Opens a store for writing, or for reading with a warning if it cannot be written.
    ///
    /// - Throws: the error of the attempt to write if there is no store to read.
    private func openForReads(_ configuration: AvatarStore.Configuration) async throws -> AvatarStore {
        do {
            return try await AvatarStore.open(configuration)
        } catch let unwritable as AvatarStoreError where [.readOnly, .diskFull].contains(unwritable.code) {
            var configuration = configuration
            configuration.access = .readOnly
            do {
                let store = try await AvatarStore.open(configuration)
                Message.warning("\(unwritable.message) Only stored images are available; nothing is fetched.")
                return store
            } catch let error as AvatarStoreError where error.code == .noStore {
                throw unwritable
            }
        }
    }

    /// Runs `body` and closes `store`.
    ///
    /// - Parameter closeFailed: called with the error if closing fails; `nil` to throw that error.
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

    /// The configuration of the store at `layout` with `access`; with `--verbose` it logs to standard error. Warns of root's
    /// writes into the store of another user.
    func configuration(_ access: AvatarStore.Configuration.Access) -> AvatarStore.Configuration {
        var configuration = AvatarStore.Configuration(layout: layout)
        configuration.access = access
        if access != .readOnly { RootWarning.print(for: layout) }
        if verbose {
            configuration.logger = Logger(label: "avatars") { TerminalLog(label: $0) }
            configuration.logger.logLevel = .debug
            configuration.logger.debug("opening the store", metadata: ["index": "\(configuration.layout.indexPath)"])
        }
        return configuration
    }
}
