import AvatarCore
import AvatarFiles
import AvatarIndex

/// The images of a contact that stand in the list itself.
struct ListedPhotos: Sendable {
    var contact: String
    var photos: [ContactPhoto]
    var unreadable: [UnreadableContactImage]
    /// Whether the contact has an image at a URL too, which is an item of its own.
    var hasURL: Bool

    /// `nil` if `contact` has none.
    init?(_ contact: Contact) {
        self.contact = contact.id
        photos = Self.numbered(contact.images.compactMap { if case .photo(let photo) = $0 { photo } else { nil } })
        unreadable = contact.images.compactMap { if case .unreadable(let image) = $0 { image } else { nil } }
        hasURL = contact.avatarURL != nil
        if photos.isEmpty && unreadable.isEmpty { return nil }
    }

    /// The photos with numbers of their own: one that is taken or below 1 becomes the next free one.
    private static func numbered(_ photos: [ContactPhoto]) -> [ContactPhoto] {
        var taken: Set<Int> = []
        return photos.map { photo in
            var photo = photo
            photo.number = max(1, photo.number)
            while !taken.insert(photo.number).inserted { photo.number += 1 }
            return photo
        }
    }

    var byteCount: Int { photos.reduce(0) { $0 + $1.bytes.count } }

    /// What the photo is stored under.
    func key(of number: Int) throws(AvatarStoreError) -> AvatarKey {
        try AvatarKey(contact: contact, number: number)
    }
}

extension ContactPhoto {
    var place: ListPlace { ListPlace(list: list, line: line) }
}

extension UnreadableContactImage {
    var place: ListPlace { ListPlace(list: list, line: line) }
}

/// Photos that came inside contacts: documents under the contact's own key, written only if their bytes are new.
extension SyncRun {
    func sort(_ listed: ListedPhotos) async throws {
        noteName(listed.contact)
        if !listed.hasURL {
            report.contacts += 1
            done += 1
        }
        for image in listed.unreadable { try countUnreadable(image, of: listed) }
        let linked = try store.index.imageKeys(of: listed.contact)
        var isReadable = listed.unreadable.isEmpty
        for photo in listed.photos {
            let isSaved = try save(photo, as: listed.key(of: photo.number), of: listed.contact, linked)
            isReadable = isReadable && isSaved
        }
        try await unlinkFormerPhotos(of: listed, linked)
        if isReadable { try noteFormerImages(of: listed, linked) }
    }

    /// - Returns: whether the photo is an image, and stored or about to be.
    private func save(
        _ photo: ContactPhoto,
        as key: AvatarKey,
        of contact: String,
        _ linked: [AvatarKey]
    ) throws -> Bool {
        guard try !store.isStored(photo.bytes, as: key) else {
            report.saved += 1
            if !linked.contains(key) { collectLink(key, contact) }
            return true
        }
        do {
            let image = try store.stage(photo.bytes, .documents, limits, fetcher.places)
            let change = Change(key: key, owners: [contact], content: .image(image, validation: nil))
            collected.append(Collected(change: change))
            return true
        } catch let error as AvatarStoreError where error.code == .imageRefused {
            report.unreadable += 1
            report.add(photo.place.failure(.notImage, error.message, key: key.rawValue, contact: contact))
            return false
        }
    }

    /// What an earlier list gave stays.
    private func countUnreadable(_ image: UnreadableContactImage, of listed: ListedPhotos) throws {
        report.unreadable += 1
        let key = try image.number.map { try listed.key(of: $0).rawValue }
        let kind = image.number == nil ? FailureKind.badRecord : .notImage
        report.add(image.place.failure(kind, "\(image.reason).", key: key, contact: listed.contact))
    }

    /// The list is the truth for the contacts it names: photos that it has no more are not theirs any more.
    private func unlinkFormerPhotos(of listed: ListedPhotos, _ linked: [AvatarKey]) async throws {
        let numbers = listed.photos.map(\.number) + listed.unreadable.compactMap(\.number)
        let current = Set(try numbers.map(listed.key(of:)))
        let former = linked.filter { $0.isContactPhoto && !current.contains($0) }
        try await writer.unlink(former.map { (listed.contact, $0) })
    }

    /// Notes the images of a contact that were fetched, from a URL that the list has no more or by an address: the photos take
    /// their place.
    private func noteFormerImages(of listed: ListedPhotos, _ linked: [AvatarKey]) throws {
        let former = linked.filter { $0.isEmailImage || (!listed.hasURL && !$0.isOwnImage) }
        guard !former.isEmpty else { return }
        replacedImages.append((listed.contact, former, try listed.photos.map { try listed.key(of: $0.number) }))
    }

    /// Notes the contacts that had photos in an earlier list and have URLs instead in this one.
    func noteFormerPhotos(in items: [SyncItem]) throws {
        var withPhotos: Set<String> = []
        for case .photos(let listed) in items { withPhotos.insert(listed.contact) }
        let others: [(contact: String, keys: [AvatarKey])] = items.compactMap { item in
            switch item {
            case .listed(let url, let contact, _): (contact, [Self.key(url)].compactMap(\.self))
            case .candidates(let keys, let contact, _): (contact, keys)
            default: nil
            }
        }
        .filter { !$0.keys.isEmpty && !withPhotos.contains($0.contact) }
        for (other, photos) in zip(others, try store.index.photoKeys(of: others.map(\.contact))) where !photos.isEmpty {
            replacedImages.append((other.contact, photos, other.keys))
        }
    }

    /// An image of an earlier list stays until one that takes its place is there.
    func unlinkReplacedImages() async throws {
        guard failure == nil else { return }
        for (contact, former, successors) in replacedImages {
            let images = try store.index.entries(for: successors)
            guard images.contains(where: { $0?.file != nil }) else { continue }
            try await writer.unlink(former.map { (contact, $0) })
        }
    }

    /// Counts a photo that was committed.
    func settle(photo key: AvatarKey, _ committed: ChangeResult) {
        switch committed {
        case .stored(let file, let isChanged):
            report.saved += 1
            note(key, .stored(isChanged: isChanged))
            protect(file)
        case .recorded:
            break
        case .overBudget(let error), .superseded(let error):
            report.unreadable += 1
            add(FetchFailure(kind: .storage, message: error.message), key, of: nil)
        }
    }
}
