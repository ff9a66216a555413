package import AvatarStore

/// One call on a store.
package enum StoreOperation: Hashable, Sendable {
    case save(Int, version: Int, StorageClass)
    /// The origin serves `version` during the call.
    case fetch(Int, version: Int, FetchOptions.Storage, FetchOptions.Policy)
    case read(ImageKey)
    case move(ImageKey, to: StorageClass)
    case remove([ImageKey])
    /// Removes a contact.
    case forget(Int)
    /// `nil`: down to the low watermark.
    case trim(to: Int?)
    case setBudget(Int)
    case sync([Listed], FetchOptions.Storage, batchSize: Int)
    /// Links the contact and the image.
    case link(Int, ImageKey)
    /// Unlinks the contact and the image.
    case unlink(Int, ImageKey)
    /// A sync that unlinks contacts not in the list. Some contacts have an embedded photo of the given version.
    case reconcile([Listed], photos: [Int: Int])

    /// A line of a contact list.
    package struct Listed: Hashable, Sendable {
        package var contact: Int
        /// The remote image of the contact.
        package var slot: Int
        /// The version that the origin serves for it.
        package var version: Int

        package init(contact: Int, slot: Int, version: Int) {
            self.contact = contact
            self.slot = slot
            self.version = version
        }
    }

    /// The images that it may store.
    package var images: [Image] {
        switch self {
        case .save(let name, let version, _): [Image(of: .own(name), version: version)]
        case .fetch(let slot, let version, _, _): [Image(of: .remote(slot), version: version)]
        case .sync(let list, _, _): list.map { Image(of: .remote($0.slot), version: $0.version) }
        case .reconcile(let list, let photos):
            list.map { Image(of: .remote($0.slot), version: $0.version) }
                + photos.map { Image(of: .photo($0.key), version: $0.value) }
        case .read, .move, .remove, .forget, .trim, .setBudget, .link, .unlink: []
        }
    }
}

/// An operation of a script, which is one line of text.
package struct Command: Hashable, Sendable {
    package var number: Int
    /// The store's time during the call, in seconds after the manual clock's start.
    package var tick: Int
    package var operation: StoreOperation

    package init(number: Int, tick: Int, _ operation: StoreOperation) {
        self.number = number
        self.tick = tick
        self.operation = operation
    }
}
