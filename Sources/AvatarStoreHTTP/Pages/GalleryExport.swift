import AvatarCore
public import AvatarMaintenance
public import AvatarStore

extension AvatarStore {
    /// Copies each stored image that matches `query` into `directory`, as `exportImages(_:to:as:withCards:withoutMetadata:progress:)`
    /// does, with pages for people: `index.html` shows all contacts with their images, and each contact has a page that
    /// explains the state of the image. The pages need no server and no network, and link to each other by relative paths.
    ///
    /// Without a filter, contacts without an image are on the pages too, with their initials. With a filter, the pages show
    /// the contacts that have one of the exported images. The pages are in the folder `pages`, which
    /// `importImages(from:in:named:progress:)` passes over. Memory does not grow with the number of contacts, and by about 50
    /// bytes for each image.
    ///
    /// The images are written without their metadata, unless `Setting.servesMetadata` is 1. If metadata cannot be taken out of an
    /// image and no rendition of it can be made, the pages show initials in its place.
    ///
    /// - Parameter query: the images to export; its limit and position are ignored. Default: all.
    /// - Parameter directory: an absolute path. It is created if it is missing, and must be empty.
    /// - Parameter progress: called after each image.
    /// - Throws: as `exportImages(_:to:as:withCards:withoutMetadata:progress:)`. The files written so far are removed then.
    public func exportGallery(
        _ query: AvatarListQuery = AvatarListQuery(),
        to directory: String,
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> ExportReport {
        try await exportImages(query, to: directory, progress: progress) { folder in
            try GalleryExport(store: self, query: query, folder: folder, now: self.configuration.clock.now()).run()
        }
    }
}

/// The pages of one export. Each contact is read once, in the order of the names.
struct GalleryExport {
    /// The number of contacts on one page of the gallery.
    static let pageSize = 120

    let store: AvatarStore
    /// Which images are exported.
    let query: AvatarListQuery
    let folder: ExportFolder
    /// The time that the pages state.
    let now: Timestamp

    /// Writes all pages.
    ///
    /// - Returns: their number.
    func run() throws -> Int {
        try folder.writePage(PageFrame.iconImage, to: StaticPaths.iconName)
        let writer = ContactPageWriter(store: store, query: query, folder: folder, now: now)
        var letters = LetterIndex()
        var contacts = 0
        var pages = 0
        // The first page names all letters, so it is written last.
        var first: [PageContact] = []
        var pending: [PageContact] = []
        func flush(hasNext: Bool) throws {
            pages += 1
            if pages == 1 { first = pending } else { try writeGallery(pending, number: pages, hasNext: hasNext) }
            pending = []
        }
        try forEachContact { contact in
            guard var card = try writer.write(contact) else { return }
            // Only now is it certain that another page follows.
            if pending.count == Self.pageSize { try flush(hasNext: true) }
            contacts += 1
            card.anchor = letters.anchor(for: card.label, onPage: pages + 1)
            pending.append(card)
        }
        try flush(hasNext: false)
        try writeFirstPage(first, pages: pages, contacts: contacts, letters)
        return pages + contacts
    }

    /// The contacts in the order of their names; only the one that the query names, if it names one.
    private func forEachContact(_ body: (StoredContact) throws -> Void) throws {
        if let id = query.contact {
            if let contact = try store.contact(id) { try body(contact) }
            return
        }
        var after: String?
        repeat {
            let page = try store.contacts(after: after, limit: Self.pageSize)
            for contact in page.contacts {
                try Task.checkCancellation()
                try body(contact)
            }
            after = page.next
        } while after != nil
    }

    /// Writes a page of the gallery other than the first one.
    private func writeGallery(_ contacts: [PageContact], number: Int, hasNext: Bool) throws {
        let paths = StaticPaths(isFirstPage: false)
        var links = [PageLink(label: "First page", path: paths.home, relation: "first")]
        links.append(PageLink(label: "Previous page", path: paths.gallery(number - 1), relation: "prev"))
        if hasNext { links.append(PageLink(label: "Next page", path: paths.gallery(number + 1), relation: "next")) }
        let page = GalleryPage(
            frame: paths.frame(now),
            contacts: contacts,
            isContinued: true,
            links: links,
            position: "Page \(number)"
        )
        try folder.writePage(Array(page.html().utf8), to: paths.gallery(number))
    }

    /// Writes the page to begin with.
    private func writeFirstPage(_ cards: [PageContact], pages: Int, contacts: Int, _ letters: LetterIndex) throws {
        let paths = StaticPaths(isFirstPage: true)
        // The cards were made for the folder of the other pages.
        let cards = cards.map { $0.moved(by: paths) }
        let count = "\(contacts) \(contacts == 1 ? "contact" : "contacts")"
        let page = GalleryPage(
            frame: paths.frame(now, count: count),
            contacts: cards,
            links: pages > 1 ? [PageLink(label: "Next page", path: paths.gallery(2), relation: "next")] : [],
            letters: pages > 1 ? letters.links(paths) : [],
            position: pages > 1 ? "Page 1 of \(pages)" : nil
        )
        try folder.writeFirstPage(Array(page.html().utf8))
    }
}

/// The first letters of the names, and where the contacts with them begin.
struct LetterIndex {
    /// The most letters that are shown: a list of Chinese names has thousands.
    private static let mostLetters = 60

    private var seen: Set<String> = []
    private var letters: [(text: String, page: Int, anchor: String)] = []

    /// The fragment for a contact that is the first with its letter; `nil` for any other.
    mutating func anchor(for label: String, onPage page: Int) -> String? {
        let first = AvatarStore.sortName(of: label).first { !$0.isWhitespace } ?? "#"
        let text = Self.text(first)
        guard seen.insert(text).inserted else { return nil }
        let anchor = "letter-\(letters.count + 1)"
        letters.append((text, page, anchor))
        return anchor
    }

    /// The letters with their paths, at most 60 at equal distances.
    func links(_ paths: StaticPaths) -> [PageLetter] {
        Self.some(of: letters).map { letter in
            PageLetter(
                text: letter.text,
                path: (letter.page == 1 ? "" : paths.gallery(letter.page)) + "#" + letter.anchor
            )
        }
    }

    /// At most 60 of `letters` at equal distances.
    static func some<Letter>(of letters: [Letter]) -> [Letter] {
        let step = (letters.count + mostLetters - 1) / mostLetters
        return letters.enumerated().filter { $0.offset % max(1, step) == 0 }.map(\.element)
    }

    /// The letter of names that begin with `first`: all but letters are together.
    static func text(_ first: Character) -> String { first.isLetter ? String(first).uppercased() : "#" }
}
