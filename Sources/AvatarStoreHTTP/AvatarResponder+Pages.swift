import AvatarMaintenance
import AvatarStore
import HTTPTypes

/// The pages for people.
extension AvatarResponder {
    /// The number of contacts on one page of the gallery.
    private static let pageSize = 60
    /// A browser may load pictures from here and apply the style of the page, and nothing else.
    private static let policy =
        "default-src 'none'; img-src 'self'; \(PageStyle.policy); form-action 'self'; base-uri 'none'; "
        + "frame-ancestors 'none'"
    /// The pages of a server: their paths begin at its root.
    private static let frame = PageFrame(home: "/", icon: "/favicon.svg", search: "/", policy: nil, footer: nil)

    /// `GET /`.
    func gallery(_ target: RequestTarget) throws -> AvatarResponse {
        let query = target.query["query"] ?? ""
        let page = try store.contacts(matching: query, after: target.query["after"], limit: Self.pageSize)
        var links: [PageLink] = []
        if target.query["after"] != nil {
            links.append(PageLink(label: "First page", path: Self.galleryPath(query: query), relation: "first"))
        }
        if let next = page.next {
            let path = Self.galleryPath(query: query, after: next)
            links.append(PageLink(label: "Next page", path: path, relation: "next"))
        }
        let gallery = GalleryPage(
            frame: Self.frame,
            contacts: page.contacts.map { PageContact($0, pictureSize: 192) },
            query: query,
            isContinued: target.query["after"] != nil,
            links: page.contacts.isEmpty ? [] : links
        )
        return html(.ok, gallery.html())
    }

    /// `GET /contacts/ID`.
    func page(ofContact id: String) throws -> AvatarResponse {
        guard let contact = try store.contact(id) else {
            let page = StatusPage(
                frame: Self.frame,
                title: "Not found",
                text: "The store has no contact with this id."
            )
            return html(.notFound, page.html())
        }
        let details = try contact.key.flatMap { try store.summary(of: $0, withEvictionOrder: true) }
        let sharers = try contact.key.map {
            try store.contacts(sharingPictureOf: $0, besides: id, limit: ContactPage.mostSharers + 1)
        }
        let imagePath = details.flatMap { self.imagePath($0, contact: id) }
        let facts = PictureFacts(contact: id, details: details, imagePath: imagePath)
        let page = ContactPage(
            frame: Self.frame,
            contact: PageContact(contact, pictureSize: 512),
            imagePath: imagePath,
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
    /// path of such an image is that of the contact's picture.
    private func imagePath(_ details: AvatarDetails, contact: String) -> String? {
        guard details.isFilePresent, let sha256 = details.sha256, let type = details.fileExtension else { return nil }
        guard details.hasMetadata == false || servesMetadata else { return Self.picturePath(contact) }
        return "/images/\(sha256).\(type)"
    }

    private func html(_ status: HTTPResponse.Status, _ text: String) -> AvatarResponse {
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
    /// - Parameter pictureSize: the size of the picture in pixels, twice that of its place on the page, for dense screens.
    init(_ contact: StoredContact, pictureSize: Int) {
        self.init(
            id: contact.id,
            name: contact.name,
            state: contact.state?.rawValue,
            picturePath: AvatarResponder.picturePath(contact.id, "placeholder=initials&size=\(pictureSize)"),
            detailPath: AvatarResponder.detailPath(contact.id),
            standIn: contact.hasFile ? Self.standIn(contact.thumbHash) : nil
        )
    }
}
