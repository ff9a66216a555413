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
        photos = contact.images.compactMap { if case .photo(let photo) = $0 { photo } else { nil } }
        unreadable = contact.images.compactMap { if case .unreadable(let image) = $0 { image } else { nil } }
        hasURL = contact.avatarURL != nil
        if photos.isEmpty && unreadable.isEmpty { return nil }
    }

    var byteCount: Int { photos.reduce(0) { $0 + $1.bytes.count } }

    /// What the photo is stored under.
    func key(of number: Int) throws(AvatarStoreError) -> AvatarKey {
        try AvatarKey(contact: contact, number: number)
    }
}

/// Photos that came inside contacts: documents under the contact's own key, written only if their bytes are new.
extension SyncRun {
    func sort(_ listed: ListedPhotos) async throws {
        guard isContact(listed.contact), listed.contact.utf8.count <= AvatarKey.maximumNameBytes else {
            hasUnreadableRecord = true
            if !listed.hasURL { countUnreadable("A contact's id is empty, too long or holds NUL.") }
            return
        }
        if !listed.hasURL {
            report.contacts += 1
            done += 1
        }
        for image in listed.unreadable { try countUnreadable(image, of: listed) }
        let linked = try store.index.imageKeys(of: listed.contact)
        for photo in listed.photos {
            try save(photo, as: listed.key(of: photo.number), of: listed.contact, linked)
        }
        try await unlinkFormerPhotos(of: listed, linked)
    }

    private func save(
        _ photo: ContactPhoto,
        as key: AvatarKey,
        of contact: String,
        _ linked: [AvatarKey]
    ) throws {
        if let entry = try store.index.entry(for: key), let file = entry.file, store.roots.contains(file),
            entry.sha256 == ContentDigest.sha256(photo.bytes)
        {
            report.saved += 1
            if !linked.contains(key) { collectLink(key, contact) }
            return
        }
        do {
            let image = try store.stage(photo.bytes, .documents, limits, fetcher.places)
            let change = Change(key: key, owners: [contact], content: .image(image, validation: nil))
            collected.append(Collected(change: change))
        } catch let error as AvatarStoreError where error.code == .imageRefused {
            report.unreadable += 1
            let message = "Line \(photo.line): \(error.message)"
            report.add(.init(key: key.rawValue, kind: .notImage, message: message))
        }
    }

    /// What an earlier list gave stays.
    private func countUnreadable(_ image: UnreadableContactImage, of listed: ListedPhotos) throws {
        report.unreadable += 1
        let key = try image.number.map { try listed.key(of: $0).rawValue }
        let message = "Line \(image.line): \(image.reason)."
        report.add(.init(key: key, kind: image.number == nil ? .badRecord : .notImage, message: message))
    }

    /// The list is the truth for the contacts it names: photos that it has no more are not theirs any more, nor is a
    /// picture found by an address.
    private func unlinkFormerPhotos(of listed: ListedPhotos, _ linked: [AvatarKey]) async throws {
        let numbers = listed.photos.map(\.number) + listed.unreadable.compactMap(\.number)
        let current = Set(try numbers.map(listed.key(of:)))
        let former = linked.filter { ($0.isContactPhoto && !current.contains($0)) || $0.isEmailImage }
        try await writer.unlink(former.map { (listed.contact, $0) })
    }

    /// Notes who had photos in an earlier list, and has a URL instead in this one.
    func noteFormerPhotos(in items: [SyncItem]) throws {
        var withPhotos: Set<String> = []
        for case .photos(let listed) in items { withPhotos.insert(listed.contact) }
        let others: [(contact: String, url: String)] = items.compactMap { item in
            guard case .listed(let url, let contact, _) = item, !withPhotos.contains(contact) else { return nil }
            return (contact, url)
        }
        for (other, photos) in zip(others, try store.index.photoKeys(of: others.map(\.contact))) {
            guard !photos.isEmpty, let key = Self.key(other.url) else { continue }
            formerPhotos.append((other.contact, photos, [key]))
        }
    }

    /// A photo of an earlier list stays until the image that takes its place is there.
    func unlinkReplacedPhotos() async throws {
        guard failure == nil else { return }
        for (contact, photos, successors) in formerPhotos {
            let images = try store.index.entries(for: successors)
            guard images.contains(where: { $0?.file != nil }) else { continue }
            try await writer.unlink(photos.map { (contact, $0) })
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
            report.add(.init(key: key.rawValue, kind: .storage, message: error.message))
        }
    }
}
