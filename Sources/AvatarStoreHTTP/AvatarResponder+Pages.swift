import AvatarMaintenance
import AvatarStore
import HTTPTypes

/// The pages for people.
extension AvatarResponder {
    /// The number of contacts on one page of the gallery.
    private static let pageSize = 60
    /// A browser may load images from here and apply the style of the page, and nothing else.
    private static let policy =
        "default-src 'none'; img-src 'self'; \(PageStyle.policy); form-action 'self'; base-uri 'none'; "
        + "frame-ancestors 'none'"
    /// The pages of a server: their paths begin at its root.
    static let frame = PageFrame(home: "/", icon: "/favicon.svg", search: "/", policy: nil, footer: nil)

    /// The frame of the response to `request`: with a logout for a browser that is logged in.
    private func frame(_ request: HTTPRequest) -> PageFrame {
        var frame = Self.frame
        if isLoggedIn(request) { frame.logout = "/logout" }
        return frame
    }

    /// `GET /`.
    func gallery(_ target: RequestTarget, _ request: HTTPRequest) throws -> AvatarResponse {
        let query = target.query["query"] ?? ""
        let gallery =
            if query.isEmpty, target.query["after"] == nil {
                try numberedGallery(target, request)
            } else {
                try searchedGallery(query, after: target.query["after"], request)
            }
        return html(.ok, gallery.html())
    }

    /// A page of the contacts that a search finds, or after a position.
    private func searchedGallery(_ query: String, after: String?, _ request: HTTPRequest) throws -> GalleryPage {
        let page = try store.contacts(matching: query, after: after, limit: Self.pageSize)
        var links: [PageLink] = []
        if after != nil {
            links.append(PageLink(label: "First page", path: Self.galleryPath(query: query), relation: "first"))
        }
        if let next = page.next {
            let path = Self.galleryPath(query: query, after: next)
            links.append(PageLink(label: "Next page", path: path, relation: "next"))
        }
        let isAll = after == nil && page.next == nil && !page.contacts.isEmpty
        return GalleryPage(
            frame: frame(request),
            contacts: page.contacts.map { PageContact($0, imageSize: 192) },
            query: query,
            isContinued: after != nil,
            links: page.contacts.isEmpty ? [] : links,
            position: isAll ? Self.text(ofCount: page.contacts.count) : nil
        )
    }

    /// A page of all contacts, with the numbers of the other pages and the first letters of the names.
    private func numberedGallery(_ target: RequestTarget, _ request: HTTPRequest) throws -> GalleryPage {
        let outline = try store.contactOutline(outline)
        let pages = max(1, (outline.count + Self.pageSize - 1) / Self.pageSize)
        // Beyond the last page is nothing, however far.
        let number = min(max(1, target.query["page"].flatMap { Int($0) } ?? 1), pages + 1)
        let page = try store.contacts(skipping: (number - 1) * Self.pageSize, limit: Self.pageSize, outline)
        var gallery = GalleryPage(frame: frame(request), contacts: [], isContinued: number > 1)
        guard !page.contacts.isEmpty else { return gallery }
        var previous: Unicode.Scalar?
        gallery.contacts = page.contacts.map { contact in
            var card = PageContact(contact, imageSize: 192)
            let first = AvatarStore.sortName(of: card.label).unicodeScalars.first
            if pages > 1, let first, first != previous { card.anchor = Self.anchor(first) }
            previous = first
            return card
        }
        let count = Self.text(ofCount: outline.count)
        gallery.position = pages > 1 ? "Page \(number) of \(pages.grouped), \(count)" : count
        gallery.links = pages > 1 ? Self.links(from: number, of: pages) : []
        gallery.letters = pages > 1 ? Self.letters(outline) : []
        return gallery
    }

    /// The links from page `number`: to its neighbours, some pages around it, the first and the last.
    private static func links(from number: Int, of pages: Int) -> [PageLink] {
        func path(_ page: Int) -> String { page == 1 ? "/" : "/?page=\(page)" }
        var links: [PageLink] = []
        if number > 1 { links.append(PageLink(label: "Previous page", path: path(number - 1), relation: "prev")) }
        let shown = ([1, pages] + (number - 2...number + 2)).filter { (1...pages).contains($0) }
        for page in Set(shown).sorted() {
            links.append(PageLink(label: page.grouped, path: page == number ? nil : path(page)))
        }
        if number < pages { links.append(PageLink(label: "Next page", path: path(number + 1), relation: "next")) }
        return links
    }

    /// The first letters with the numbers of their contacts, and with the pages on which they begin.
    private static func letters(_ outline: ContactOutline) -> [PageLetter] {
        var counts: [String: Int] = [:]
        var firsts: [(text: String, letter: ContactOutline.Letter)] = []
        for letter in outline.letters {
            let text = LetterIndex.text(Character(letter.first))
            if counts[text] == nil { firsts.append((text, letter)) }
            counts[text, default: 0] += letter.count
        }
        return LetterIndex.some(of: firsts).map { text, letter in
            let page = letter.place / pageSize + 1
            let path = (page == 1 ? "/" : "/?page=\(page)") + "#" + anchor(letter.first)
            return PageLetter(text: text, path: path, count: counts[text])
        }
    }

    /// The fragment of the first contact on a page whose sort name begins with `first`.
    private static func anchor(_ first: Unicode.Scalar) -> String { "letter-" + String(first.value, radix: 16) }

    private static func text(ofCount count: Int) -> String {
        count.grouped + (count == 1 ? " contact" : " contacts")
    }

    /// `GET /contacts/ID`.
    func page(ofContact id: String, _ request: HTTPRequest) throws -> AvatarResponse {
        guard let contact = try store.contact(id) else {
            let page = StatusPage(
                frame: frame(request),
                title: "Not found",
                text: "The store has no contact with this id."
            )
            return html(.notFound, page.html())
        }
        let details = try contact.key.flatMap { try store.summary(of: $0, withEvictionOrder: true) }
        let sharers = try contact.key.map {
            try store.contacts(sharingImageOf: $0, besides: id, limit: ContactPage.mostSharers + 1)
        }
        let imagePath = details.flatMap { self.imagePath($0, contact: id) }
        let facts = ImageFacts(contact: id, details: details, imagePath: imagePath)
        let page = ContactPage(
            frame: frame(request),
            contact: PageContact(contact, imageSize: 512),
            imagePath: imagePath,
            isShown: details?.mediaType.map(BrowserFormats.contain) ?? false,
            reasons: details?.reasons ?? ["No list names an image for this contact."],
            facts: facts.main,
            technicalFacts: facts.technical,
            sharers: try named((sharers ?? []).prefix(ContactPage.mostSharers)),
            hasMoreSharers: sharers?.count ?? 0 > ContactPage.mostSharers,
            time: PageTime(now: store.configuration.clock.now(), isRelative: true)
        )
        return html(.ok, page.html())
    }

    /// The contacts `ids` as links to their pages.
    private func named(_ ids: ArraySlice<String>) throws -> [ContactPage.Sharer] {
        let names = try store.names(ofContacts: Array(ids))
        return ids.map { .init(label: names[$0] ?? $0, path: Self.detailPath($0)) }
    }

    /// The path of the image alone; `nil` if its file is missing. The digest of a file with metadata leads to nothing, so the
    /// path of such an image is that of the contact's image.
    private func imagePath(_ details: AvatarDetails, contact: String) -> String? {
        guard details.isFilePresent, let sha256 = details.sha256, let type = details.fileExtension else { return nil }
        guard details.hasMetadata == false || servesMetadata else { return Self.contactImagePath(contact) }
        return "/images/\(sha256).\(type)"
    }

    func html(_ status: HTTPResponse.Status, _ text: String) -> AvatarResponse {
        AvatarResponse(
            status,
            "text/html; charset=utf-8",
            Array(text.utf8),
            cache: "private, no-cache",
            fields: [.contentSecurityPolicy: Self.policy]
        )
    }

    private static func galleryPath(query: String, after: String? = nil) -> String {
        var parameters: [String] = []
        if !query.isEmpty { parameters.append("query=" + RequestTarget.encoded(query)) }
        if let after { parameters.append("after=" + RequestTarget.encoded(after)) }
        return parameters.isEmpty ? "/" : "/?" + parameters.joined(separator: "&")
    }
}

extension PageContact {
    /// `contact` with its paths on this server.
    ///
    /// - Parameter imageSize: the size of the image in pixels, twice that of its place on the page, for dense screens.
    init(_ contact: StoredContact, imageSize: Int) {
        self.init(
            id: contact.id,
            name: contact.name,
            state: contact.state?.rawValue,
            shownPath: AvatarResponder.contactImagePath(
                contact.id,
                "placeholder=initials&size=\(imageSize)&for=browser"
            ),
            detailPath: AvatarResponder.detailPath(contact.id),
            standIn: contact.hasFile ? Self.standIn(contact.thumbHash) : nil
        )
    }
}
