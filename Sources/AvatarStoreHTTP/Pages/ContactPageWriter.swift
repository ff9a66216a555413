import AvatarCore
import AvatarMaintenance
import AvatarPlaceholder
import AvatarStore

/// Writes the pages about contacts into the folder of an export.
struct ContactPageWriter {
    let store: AvatarStore
    /// Which images are exported.
    let query: AvatarListQuery
    let folder: ExportFolder
    /// The time that the pages state.
    let now: Timestamp

    /// The paths between the pages of contacts.
    private let paths = StaticPaths(isFirstPage: false)

    init(store: AvatarStore, query: AvatarListQuery, folder: ExportFolder, now: Timestamp) {
        (self.store, self.query, self.folder, self.now) = (store, query, folder, now)
    }

    /// The image that the pages show for a contact.
    private struct Shown {
        let key: AvatarKey
        /// The exported image; `nil` if it has no file.
        let exported: ImageManifest.Entry?
    }

    /// Writes the page about `contact`.
    ///
    /// - Returns: its card for the gallery, with paths as in the folder of the pages; `nil` if the filter leaves it out.
    func write(_ contact: StoredContact) throws -> PageContact? {
        let shown = try shown(contact)
        guard shown?.exported != nil || !isFiltered else { return nil }
        let details = try shown.flatMap(details)
        let imagePath = shown?.exported.map { paths.image($0.file) }
        let isShown = shown?.exported?.mediaType.map(BrowserFormats.contain) ?? false
        let card = PageContact(
            id: contact.id,
            name: contact.name,
            state: details?.overview.state.rawValue,
            shownPath: try isShown ? imagePath ?? initials(of: contact) : initials(of: contact),
            detailPath: paths.contact(contact.id),
            standIn: !isShown ? nil : PageContact.standIn(details?.thumbHash)
        )
        let facts = ImageFacts(contact: contact.id, details: details, imagePath: imagePath)
        let most = ContactPage.mostSharers
        let sharers =
            try shown.map { try store.contacts(sharingImageOf: $0.key, besides: contact.id, limit: most + 1) } ?? []
        let page = ContactPage(
            frame: paths.frame(now),
            contact: card,
            imagePath: imagePath,
            isShown: isShown,
            reasons: details?.reasons ?? ["No list names an image for this contact."],
            facts: facts.main,
            technicalFacts: facts.technical,
            sharers: try named(sharers.prefix(most)),
            hasMoreSharers: sharers.count > most,
            time: PageTime(now: now, isRelative: false)
        )
        try folder.writePage(Array(page.html().utf8), to: card.detailPath)
        return card
    }

    /// Whether only a part of the images is exported.
    private var isFiltered: Bool {
        query.storageClass != nil || query.state != nil || query.host != nil || query.contact != nil
    }

    /// The image that the contact shows; with a filter, the first of its images that is exported.
    private func shown(_ contact: StoredContact) throws -> Shown? {
        guard let key = contact.key else { return nil }
        let keys = isFiltered ? try store.imageKeys(ofContact: contact.id) : [key]
        for key in keys {
            if let exported = try folder.image(of: key) { return Shown(key: key, exported: exported) }
        }
        return Shown(key: key, exported: nil)
    }

    /// The details of the image as it was exported: another process may have replaced or removed it since.
    private func details(_ shown: Shown) throws -> AvatarDetails? {
        guard var details = try store.summary(of: shown.key, withEvictionOrder: false) else { return nil }
        guard let exported = shown.exported, details.sha256 != exported.sha256 else { return details }
        // Without its metadata, an image has the size that it had.
        if details.sha256 != exported.original || details.mediaType != exported.mediaType {
            (details.width, details.height) = (nil, nil)
        }
        details.sha256 = exported.sha256
        details.mediaType = exported.mediaType
        details.overview.sizeBytes = exported.sizeBytes
        return details
    }

    /// The path of the initials of the contact. Contacts with equal initials in the same colour share the file.
    private func initials(of contact: StoredContact) throws -> String {
        let image = AvatarPlaceholder(id: contact.id, name: contact.name).svg()
        let name = "initials-\(StaticPaths.digest(image)).svg"
        if !folder.hasPage(name) { try folder.writePage(Array(image.utf8), to: name) }
        return paths.page(name)
    }

    /// The contacts `ids`, with links to those that have a page.
    private func named(_ ids: ArraySlice<String>) throws -> [ContactPage.Sharer] {
        let names = try store.names(ofContacts: Array(ids))
        return try ids.map { .init(label: names[$0] ?? $0, path: try hasPage($0) ? paths.contact($0) : nil) }
    }

    /// Whether the contact has a page: without a filter, all have.
    private func hasPage(_ contact: String) throws -> Bool {
        guard isFiltered else { return true }
        guard query.contact == nil else { return false }
        return try store.imageKeys(ofContact: contact).contains { try folder.image(of: $0) != nil }
    }
}

extension PageContact {
    /// The card with its paths as seen from the first page.
    func moved(by paths: StaticPaths) -> PageContact {
        var moved = self
        moved.shownPath = shownPath.hasPrefix("../") ? String(shownPath.dropFirst(3)) : paths.page(shownPath)
        moved.detailPath = paths.page(detailPath)
        return moved
    }
}
