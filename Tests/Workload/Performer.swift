package import AvatarFileSystem
package import AvatarFiles
package import AvatarStore
import AvatarStoreTesting

/// Runs the operations of a workload on its own store, one after the other.
package struct Performer: Sendable {
    package let store: AvatarStore
    private let origin: String
    private let clock: ManualClock
    /// Tells the origin which version of each image to serve.
    private let want: @Sendable ([Int: Int]) -> Void

    /// Opens the store in `directory`, which fetches from `origin`, such as `http://127.0.0.1:8080`.
    package init(directory: String, origin: String, fileSystem: any FileSystem = LocalFileSystem()) async throws {
        let wanted = WantedVersions()
        try await self.init(directory: directory, origin: origin, fileSystem, want: wanted.want) { configuration in
            #if HTTPOrigin
            configuration.http.allowsPrivateNetworks = true
            configuration.http.fieldsForHost = { _ in [wanted.field] }
            #endif
        }
    }

    /// Opens the store in `directory` on `fileSystem`.
    ///
    /// - Parameters:
    ///   - want: tells the origin which version of each image to serve.
    ///   - configure: sets how the store reaches the origin.
    package init(
        directory: String,
        origin: String,
        _ fileSystem: any FileSystem,
        bootID: BootID = .current,
        want: @escaping @Sendable ([Int: Int]) -> Void,
        configure: (inout AvatarStore.Configuration) -> Void
    ) async throws {
        let clock = ManualClock()
        var configuration = AvatarStore.Configuration(directory: directory)
        configuration.clock = clock
        configure(&configuration)
        store = try await AvatarStore.open(configuration, fileSystem: fileSystem, bootID: bootID)
        (self.origin, self.clock, self.want) = (origin, clock, want)
    }

    /// Runs one operation with the clock at the operation's time. Errors of the store become outcomes.
    package func perform(_ command: Command) async throws -> Outcome {
        let time = ManualClock().now().adding(seconds: Int64(command.tick))
        clock.advance(by: .seconds(time.seconds(since: clock.now())))
        do {
            return try await perform(command.operation)
        } catch let error as AvatarStoreError {
            return .refused(Outcome.Refusal(error.code, error.message))
        }
    }

    private func perform(_ operation: StoreOperation) async throws -> Outcome {
        switch operation {
        case .save(let name, let version, let storageClass):
            let bytes = Image(of: .own(name), version: version).bytes
            try await store.save(bytes, named: ImageKey.own(name).description, in: storageClass)
        case .fetch(let slot, let version, let storage, let policy):
            want([slot: version])
            let options = FetchOptions(policy: policy, storage: storage)
            let image = try await store.avatar(for: ImageKey.remote(slot).key(at: origin), options: options)
            return .image(Image.digest(of: image.bytes))
        case .read(let key):
            let image = try store.storedAvatar(for: key.key(at: origin))
            return image.map { .image(Image.digest(of: $0.bytes)) } ?? .nothing
        case .move(let key, let storageClass):
            _ = try await store.move(key.key(at: origin), to: storageClass)
        case .remove(let keys):
            _ = try await store.remove(keys.map { try $0.key(at: origin) })
        case .forget(let contact):
            _ = try await store.remove(contact: "\(contact)")
        case .trim(let target):
            try await store.trim(to: target)
        case .setBudget(let bytes):
            try await store.set(.budget, to: Int64(bytes))
        case .sync(let list, let storage, let batchSize):
            var options = SyncOptions()
            options.storage = storage
            options.batchSize = batchSize
            return try await sync(list, [:], options)
        case .link(let contact, let key):
            try await store.link([ContactLink(contact: "\(contact)", key: key.key(at: origin))])
        case .unlink(let contact, let key):
            try await store.unlink([ContactLink(contact: "\(contact)", key: key.key(at: origin))])
        case .reconcile(let list, let photos):
            var options = SyncOptions()
            options.prunes = true
            return try await sync(list, photos, options)
        }
        return .done
    }

    private func sync(
        _ list: [StoreOperation.Listed],
        _ photos: [Int: Int],
        _ options: SyncOptions
    ) async throws -> Outcome {
        want(Dictionary(list.map { ($0.slot, $0.version) }, uniquingKeysWith: { first, _ in first }))
        let contacts = list.map { listed in
            let photo = photos[listed.contact].map { version in
                ContactImage.photo(ContactPhoto(bytes: Image(of: .photo(listed.contact), version: version).bytes))
            }
            let url = ContactImage.url(ImageKey.remote(listed.slot).url(at: origin))
            return Contact(id: "\(listed.contact)", images: [photo, url].compactMap(\.self))
        }
        let report = try await store.sync(contacts: contacts, options: options)
        return .synced(wanted: report.wanted, leftOut: report.overBudget + report.failed + report.skipped)
    }
}
