import AvatarContacts
import AvatarStore
import AvatarStoreHTTP
import AvatarFoundation

/// `avatars demo`: syncs 1,000 contacts from loopback origins, with images that exist, images that fail, origins that
/// go down and a budget that shrinks.
///
/// It uses the store as any program would. After each step it compares its claims with the requests that the origins
/// counted and with the files on disk, and prints whether each claim held. The steps are in
/// `Demonstration+Steps.swift`.
final class Demonstration {
    /// The key of the image that is saved as a document.
    static let documentName = "our-logo"

    /// The contacts of the list, in its order.
    let contacts: [DemoContact]
    /// The servers of the images.
    let origins: DemoOrigins
    /// The contact list, read from the file that the demo leaves behind.
    let list: ContactList
    /// The number of contacts in `list`.
    let total: Int
    /// The store that the demo shows.
    let store: AvatarStore
    /// The output.
    let page: DemoPage
    /// The contact whose image the later steps follow.
    let guest: DemoContact
    /// The URL of the guest's image.
    let guestURL: String
    /// The report of the first sync, which the later steps compare with.
    var firstSync = SyncReport()

    /// - Throws: `DemoError` if no contact has a portrait of its own; `AvatarStoreError` if `list` cannot be read.
    private init(
        contacts: [DemoContact],
        origins: DemoOrigins,
        list: ContactList,
        store: AvatarStore,
        page: DemoPage
    ) throws {
        guard let guest = contacts.first(where: { $0.image == .portrait(.png) }), let url = origins.url(of: guest)
        else {
            throw DemoError(failedClaims: ["a contact of the list has a portrait"])
        }
        (self.contacts, self.origins, self.list) = (contacts, origins, list)
        total = try list.validate()
        (self.store, self.page, self.guest) = (store, page, guest)
        guestURL = url
    }

    // MARK: Running

    /// Runs the demo in about five seconds; every request stays on loopback.
    ///
    /// - Parameters:
    ///   - directory: The folder to leave the store and `contacts.json` in, so that the reader can try commands on them; it must
    ///     be empty or new. `nil`: nothing is left but the pages.
    ///   - withGallery: Whether to export the store as pages at the end, to a folder beside the first one: a folder
    ///     inside a store holds nothing else.
    ///   - page: Receives the text.
    ///   - timeout: The store's timeout for one fetch. One image never arrives, so the first sync takes this long. On a
    ///     machine so busy that another image takes as long, a claim fails.
    /// - Returns: the path of the first page; `nil` without a gallery.
    /// - Throws: `AvatarStoreError.unusableRoot`, with nothing written, if `directory` cannot be used; `DemoError` at
    ///   the end if a claim failed; the errors of the store and `LoopbackOriginError`.
    @discardableResult
    static func run(
        keep directory: String?,
        withGallery: Bool = false,
        on page: DemoPage,
        timeout: Duration = .seconds(2)
    ) async throws -> String? {
        let place = try DemoPlace(keep: directory, withGallery: withGallery)
        let contacts = DemoContact.all
        let origins = try await DemoOrigins.start(serving: contacts)
        let portrait = try await finally(origins.stop) {
            let store = try await AvatarStore.open(configuration(place, timeout: timeout))
            // After opening: a new store needs an empty folder.
            try place.write(contacts, on: origins)
            return try await finally(store.close) {
                let demonstration = try Demonstration(
                    contacts: contacts,
                    origins: origins,
                    list: ContactList.open(file: place.contactsFile),
                    store: store,
                    page: page
                )
                try await demonstration.showSteps(in: place)
                if withGallery { _ = try await store.exportGallery(to: place.gallery) }
                return demonstration.guestURL
            }
        }
        if directory != nil {
            page.showCommands(for: place, portrait: portrait)
        } else {
            // The pages stay where they are opened from; they need no store.
            place.removeStore()
            page.showHowToKeep()
        }
        try page.throwIfAClaimFailed()
        return withGallery ? place.gallery + "/index.html" : nil
    }

    /// Runs the steps in their order. Each relies on the ones before it.
    private func showSteps(in place: DemoPlace) async throws {
        page.showTitle(contactCount: total, in: place)
        try await showFirstSync()
        try await showSecondSync()
        try await showRevalidation()
        try await showChangedImage()
        try await showOutage()
        try await showShrinkingBudget()
        try showIndex()
    }

    /// The configuration of the demo's store.
    ///
    /// - Parameter timeout: the time limit for one image.
    private static func configuration(_ place: DemoPlace, timeout: Duration) -> AvatarStore.Configuration {
        var configuration = AvatarStore.Configuration(directory: place.directory)
        configuration.timeout = timeout
        #if HTTPOrigin
        // The address guard blocks loopback by default.
        configuration.http.allowsPrivateNetworks = true
        #endif
        return configuration
    }

    /// Runs `body`, then `cleanUp` even if `body` throws. An error of `body` takes precedence over one of `cleanUp`.
    private static func finally<Result>(
        _ cleanUp: () async throws -> Void,
        _ body: () async throws -> Result
    ) async throws -> Result {
        let result: Result
        do {
            result = try await body()
        } catch {
            do {
                try await cleanUp()
            } catch {
                // The first error says more.
            }
            throw error
        }
        try await cleanUp()
        return result
    }

    // MARK: Used by the steps

    /// Syncs the list. The origins' counts start at zero.
    ///
    /// - Throws: `CancellationError` if the task is cancelled; the store's errors.
    func sync(
        includingFresh: Bool = false,
        limit: Int? = nil,
        progress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
    ) async throws -> SyncReport {
        var options = SyncOptions()
        options.checksAll = includingFresh
        options.limit = limit
        origins.resetCounts()
        let report = try await store.sync(list, options: options, total: total, progress: progress)
        // A cancelled sync returns a partial report, which the claims do not fit.
        try Task.checkCancellation()
        return report
    }

    /// The files in `caches`, as they are on disk.
    func cachedFiles() throws -> FolderSnapshot {
        try FolderSnapshot(of: store.configuration.layout.cachesRoot)
    }

    /// The name of the contact `id` in the list; `id` itself if the list does not have it.
    func name(ofContact id: String) -> String {
        contacts.first { $0.id == id }?.name ?? id
    }
}

/// The demo ran to its end, but at least one of its claims failed.
struct DemoError: Error, CustomStringConvertible {
    /// The failed claims, each with the actual result.
    let failedClaims: [String]

    /// A sentence that lists them all.
    var description: String {
        "These claims of the demo failed: \(failedClaims.joined(separator: "; "))."
    }
}

/// The folder of the demo: a store, and the contact list that filled it.
struct DemoPlace: Sendable {
    /// The absolute path of the store.
    let directory: String

    /// The path of the contact list.
    var contactsFile: String { directory + "/contacts.json" }

    /// The path of the folder with the pages.
    var gallery: String { directory + "-gallery" }

    /// Creates the folder `path`, or uses it if it exists and is empty. `nil` creates a new temporary folder.
    ///
    /// - Parameter withGallery: whether the demo needs the folder `gallery` too.
    /// - Throws: `unusableRoot`, with nothing changed, if `path` or `gallery` is a file or a folder with content, or if the
    ///   folder cannot be created.
    init(keep path: String?, withGallery: Bool) throws(AvatarStoreError) {
        if let path {
            directory = URL(fileURLWithPath: path).standardizedFileURL.path
        } else {
            let name = "avatars-demo-" + String(UInt32.random(in: 0x1000_0000 ... .max), radix: 16)
            directory = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
        }
        do {
            if withGallery { _ = try Self.exists(gallery) }
            guard try !Self.exists(directory) else { return }
            try FileManager.default.createDirectory(
                atPath: directory,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch let error as AvatarStoreError {
            throw error
        } catch {
            throw AvatarStoreError(
                .unusableRoot,
                "The demo cannot use the folder \"\(directory)\": \(Self.reason(error)).",
                underlying: error
            )
        }
    }

    /// The words of the system for an error of the disk.
    private static func reason(_ error: any Error) -> String {
        let cause = (error as? CocoaError)?.underlying as? POSIXError
        return cause.map { String(cString: strerror($0.code.rawValue)) } ?? "\(error)"
    }

    /// Whether the folder exists already.
    ///
    /// - Throws: `unusableRoot` if `path` is a file, or a folder that is not empty.
    private static func exists(_ path: String) throws -> Bool {
        guard let isFolder = FileManager.default.isFolder(atPath: path) else { return false }
        guard isFolder else {
            throw AvatarStoreError(.unusableRoot, "\"\(path)\" is a file. The demo needs an empty or new folder.")
        }
        guard try FileManager.default.contentsOfDirectory(atPath: path).isEmpty else {
            throw AvatarStoreError(.unusableRoot, "\"\(path)\" is not empty. The demo needs an empty or new folder.")
        }
        return true
    }

    /// Deletes the store and the list. A failure leaves them in the system's temporary folder.
    func removeStore() {
        do {
            try FileManager.default.removeItem(atPath: directory)
        } catch {
            // The system empties its temporary folder by itself.
        }
    }

    /// Writes the contact list in the form that an address book exports.
    func write(_ contacts: [DemoContact], on origins: DemoOrigins) throws {
        let records = contacts.map { Record(id: $0.id, name: $0.name, avatarURL: origins.url(of: $0)) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try encoder.encode(records).write(to: URL(fileURLWithPath: contactsFile))
    }

    /// A contact as an element of the JSON list.
    private struct Record: Encodable {
        /// The contact's id, by which a later sync recognises the contact.
        let id: String
        /// Not used by a sync; for the reader of the file.
        let name: String
        /// `nil`, and then left out of the file, for a contact without an image.
        let avatarURL: String?
    }
}

/// The regular files below a folder, to tell whether anything in it has changed.
struct FolderSnapshot: Equatable {
    /// Size and modification time of one file.
    struct File: Equatable {
        /// The length of the file in bytes.
        let sizeBytes: Int
        /// The time of the last write. It reveals a file that was written again with the same bytes.
        let modified: Date
    }

    /// The files by their path relative to the folder.
    let files: [String: File]

    /// The sum of the sizes, in bytes.
    var bytes: Int { files.values.reduce(0) { $0 + $1.sizeBytes } }

    /// Reads the names, sizes and times of all files below `folder`.
    ///
    /// - Throws: an error of the disk.
    init(of folder: String) throws {
        var files: [String: File] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            let file = folder + "/" + path
            var status = stat()
            guard lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
                let modified = try FileManager.default.attributesOfItem(atPath: file)[.modificationDate] as? Date
            else { continue }
            files[path] = File(sizeBytes: Int(status.st_size), modified: modified)
        }
        self.files = files
    }
}

/// A stored image as it is at one moment.
struct StoredImage: Equatable {
    /// The content of the image file.
    let bytes: [UInt8]
    /// The digest of the bytes in lowercase hex digits.
    let sha256: String

    /// Reads the stored image for `url`; sends no request.
    ///
    /// - Throws: `noSuchEntry` if no image is stored for it.
    init(_ url: String, in store: AvatarStore) throws {
        guard let image = try store.storedAvatar(for: url), let digest = try store.details(for: image.key)?.sha256
        else {
            throw AvatarStoreError(.noSuchEntry, "No image is stored for \"\(AvatarKey.redact(url))\".")
        }
        bytes = image.bytes
        sha256 = digest
    }
}
