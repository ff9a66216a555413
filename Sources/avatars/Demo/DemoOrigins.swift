import AvatarLoopback

/// The origins of the demo: real HTTP servers on ports of this machine's loopback interface.
struct DemoOrigins: Sendable {
    /// How many origins run.
    static let count = 4

    /// The running servers. The last one has the logos.
    private let origins: [LoopbackOrigin]

    /// Starts all origins with the images of `contacts`.
    ///
    /// - Throws: `LoopbackOriginError` if one cannot start; the others are stopped then.
    static func start(serving contacts: [DemoContact]) async throws -> DemoOrigins {
        var started: [LoopbackOrigin] = []
        do {
            for _ in 0..<count { started.append(try await LoopbackOrigin.start()) }
        } catch {
            for origin in started { try await origin.stop() }
            throw error
        }
        let origins = DemoOrigins(origins: started)
        contacts.forEach(origins.serve)
        return origins
    }

    /// The image's URL as the contact list gives it; `nil` for a contact without an image.
    func url(of contact: DemoContact) -> String? {
        contact.image.path(of: contact).map { origin(of: contact).url($0) }
    }

    /// Serves another image at the contact's URL from now on.
    func replaceImage(of contact: DemoContact) {
        guard let path = contact.image.path(of: contact) else { return }
        origin(of: contact).setResponse(DemoImage.png(for: contact.id + "-new", side: 150), for: path)
    }

    /// Stops all origins. From then on connections are refused.
    func stop() async throws {
        for origin in origins { try await origin.stop() }
    }

    // MARK: Counts

    /// Requests since the last `resetCounts()`, whatever their response was.
    var requestCount: Int { origins.reduce(0) { $0 + $1.requestCount } }

    /// Body bytes sent since the last `resetCounts()`.
    var bytesSent: Int { origins.reduce(0) { $0 + $1.bytesSent } }

    /// Sets the counts of all origins to 0.
    func resetCounts() {
        origins.forEach { $0.resetCounts() }
    }

    // MARK: Serving

    /// Sets the response at the contact's URL, and at the target of its redirect if it has one.
    private func serve(_ contact: DemoContact) {
        guard let path = contact.image.path(of: contact) else { return }
        let archive = neighbour(of: contact)
        let newPath = "/archive" + path
        let response = contact.image.response(for: contact, at: path, movedTo: archive.url(newPath))
        origin(of: contact).setResponse(response, for: path)
        if contact.image == .moved { archive.setResponse(DemoImage.png(for: contact.id), for: newPath) }
    }

    /// The last origin has the logos; the others share the photos.
    private func origin(of contact: DemoContact) -> LoopbackOrigin {
        contact.image == .companyLogo ? origins[Self.count - 1] : origins[contact.number % (Self.count - 1)]
    }

    /// Another origin than the one that has the contact's photo. It serves the targets of redirects.
    private func neighbour(of contact: DemoContact) -> LoopbackOrigin {
        origins[(contact.number + 1) % (Self.count - 1)]
    }
}

extension DemoImage {
    /// How many companies the contacts with a logo work for.
    private static let companies = 5

    /// The path of the contact's image; `nil` for a contact without one.
    func path(of contact: DemoContact) -> String? {
        switch self {
        case .none: nil
        case .companyLogo: "/logos/\(contact.number % (20 * Self.companies) / 20 + 1).png"
        case .portrait(.gif): "/photos/\(contact.digits).gif"
        case .portrait(.bmp): "/photos/\(contact.digits).bmp"
        default: "/photos/\(contact.digits).png"
        }
    }

    /// The origin's response at `path`.
    ///
    /// - Parameter newURL: The target of the redirect for an image that has moved.
    func response(for contact: DemoContact, at path: String, movedTo newURL: String) -> LoopbackOrigin.Response {
        switch self {
        case .portrait(let format): Self.portrait(format, of: contact)
        case .companyLogo: Self.png(for: path, lastModified: Self.longAgo)
        case .placeholder: Self.png(for: "placeholder")
        case .moved: .redirect(to: newURL, status: 301)
        case .mislabelled: .image(SampleImage.identicon(for: path), mediaType: "text/plain", etag: "\"\(contact.id)\"")
        case .slow: Self.png(for: path).delayed(by: .milliseconds(700))
        case .none, .deleted: .status(404)
        case .brokenServer: .status(500)
        case .webPage: .init(headers: ["Content-Type": "text/html"], body: .text("<!doctype html><p>Please sign in."))
        case .cutShort: Self.half(of: contact)
        case .silence: .hang
        case .enormous: .init(body: .generated(byteCount: 64 << 20, beginning: SampleImage.identicon(for: path)))
        }
    }

    /// An image that is fresh for a day and has an ETag.
    static func png(for seed: String, side: Int = 120, lastModified: String? = nil) -> LoopbackOrigin.Response {
        .image(
            SampleImage.identicon(for: seed, side: side),
            etag: "\"\(seed)\"",
            lastModified: lastModified,
            cacheControl: "max-age=86400"
        )
    }

    /// A portrait with the validator of its format, as servers differ: a strong ETag (PNG), a weak one (GIF), or only a
    /// `Last-Modified` (BMP).
    private static func portrait(_ format: Format, of contact: DemoContact) -> LoopbackOrigin.Response {
        let seed = UInt64(contact.number)
        return switch format {
        case .png:
            png(for: contact.id, side: 100 + contact.number % 7 * 10)
        case .gif:
            .image(SampleImage.gif(seed: seed), mediaType: "image/gif", etag: "W/\"\(contact.id)\"")
        case .bmp:
            .image(SampleImage.bmp(seed: seed), mediaType: "image/bmp", lastModified: longAgo)
        }
    }

    /// Half an image: for some contacts the connection breaks, for others the origin's own file is cut short.
    private static func half(of contact: DemoContact) -> LoopbackOrigin.Response {
        let bytes = SampleImage.identicon(for: contact.id)
        let half = bytes.count / 2
        let breaks = contact.number / 100 % 2 == 0
        return breaks ? .image(bytes).behaving(.cutShort(after: half)) : .image(Array(bytes[..<half]))
    }

    /// A fixed date in the past, so that it is a strong validator (RFC 9110 section 8.8.2.2).
    private static let longAgo = "Tue, 06 Jun 2023 08:30:00 GMT"
}
