import AvatarCore
import AvatarFiles
import AvatarWriter

/// An image of your own, to be saved together with others.
public struct OwnImage: Hashable, Sendable {
    /// The name that it is stored under, as `name:NAME`: 1 to 1,024 bytes without NUL.
    public var name: String
    /// The contact whose image it is; `nil` for an image without one.
    public private(set) var contact: String?
    /// The bytes of the image file.
    public var bytes: [UInt8]

    /// An image to store under `name`.
    public init(named name: String, bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
    }

    /// An image to store for the contact `id`, as `AvatarStore.save(_:forContact:in:)` does.
    public init(forContact id: String, bytes: [UInt8]) {
        name = "contact/" + id
        contact = id
        self.bytes = bytes
    }

    /// - Throws: `invalidKey` for a name or a contact outside the limits.
    fileprivate var key: AvatarKey {
        get throws(AvatarStoreError) {
            if let contact { try AvatarKey(savedForContact: contact) } else { try AvatarKey(name: name) }
        }
    }
}

/// Saves many images: it stages one batch while the one before is committed.
actor ImageSaving {
    /// The number of images committed together.
    static let batchSize = 256

    private let storageClass: StorageClass
    private let writable: StoreParts.Writable
    private let intake: ImageIntake
    private var results: [Result<AvatarKey, AvatarStoreError>] = []

    /// Its own thread, because writing and hashing block for long.
    private let thread = StoreThread(label: "avatar-store.saving")

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.asUnownedSerialExecutor()
    }

    /// Images to be stored in `storageClass`, by the limits in force now.
    ///
    /// - Throws: `readOnly` in a store that is open for reading only; an error of the index.
    init(_ parts: StoreParts, _ storageClass: StorageClass) throws {
        self.storageClass = storageClass
        writable = try parts.requireWritable()
        intake = parts.intake(try parts.limits())
    }

    /// Saves `images`; the results are in their order.
    ///
    /// - Throws: an error of the index or the disk; `CancellationError`. Committed batches stay.
    package func run(_ images: [OwnImage]) async throws -> [Result<AvatarKey, AvatarStoreError>] {
        try await withThrowingTaskGroup(of: [Result<AvatarKey, AvatarStoreError>].self) { group in
            var rest = images[...]
            while !rest.isEmpty {
                try Task.checkCancellation()
                let batch = try stage(rest.prefix(Self.batchSize))
                rest = rest.dropFirst(Self.batchSize)
                do {
                    results += try await group.next() ?? []
                } catch {
                    discard(batch)
                    throw error
                }
                group.addTask { [writer = writable.writer, rules = RoomRules(intake.limits)] in
                    try await Self.commit(batch, with: writer, under: rules)
                }
            }
            results += try await group.next() ?? []
        }
        try await writable.writer.settle()
        return results
    }

    /// One image: staged, or refused.
    private typealias Staged = Result<Change, AvatarStoreError>

    /// Stages a batch. An image that is refused has its error in its place.
    ///
    /// - Throws: an error of the disk, after the batch was discarded.
    private func stage(_ images: ArraySlice<OwnImage>) throws -> [Staged] {
        var batch: [Staged] = []
        do {
            for image in images {
                do {
                    batch.append(.success(try stage(image)))
                } catch let error as AvatarStoreError where [.imageRefused, .invalidKey].contains(error.code) {
                    batch.append(.failure(error))
                }
            }
        } catch {
            discard(batch)
            throw error
        }
        return batch
    }

    private func stage(_ image: OwnImage) throws -> Change {
        let key = try image.key
        let staged = try intake.stage(image.bytes, in: storageClass, at: writable.places)
        return Change(key: key, owners: image.contact.map { [$0] } ?? [], content: .image(staged, validation: nil))
    }

    /// Removes the staged files of a batch.
    private func discard(_ batch: [Staged]) {
        let files = writable.places.files(of: storageClass)
        for case .success(let change) in batch {
            if let image = change.image { files.staging.discard(image) }
        }
    }

    /// Commits a batch; the results are in the order of the batch.
    private static func commit(
        _ batch: [Staged],
        with writer: StoreWriter,
        under rules: RoomRules
    ) async throws -> [Result<AvatarKey, AvatarStoreError>] {
        let changes = batch.compactMap { if case .success(let change) = $0 { change } else { nil } }
        var committed = try await writer.commit(changes, rules).results[...]
        return batch.map { staged in
            staged.flatMap { change in
                do throws(AvatarStoreError) {
                    try committed.popFirst()?.requireStored(change.key)
                    return .success(change.key)
                } catch {
                    return .failure(error)
                }
            }
        }
    }
}
