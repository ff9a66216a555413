import AvatarStoreTesting

extension Picture {
    /// How many companies share the people who show a logo.
    private static let companies = 5

    /// The path at which person `number` is found; `nil` for a person without a picture.
    func path(ofPerson person: Person) -> String? {
        switch self {
        case .none: nil
        case .companyLogo: "/logos/\(person.number % (20 * Self.companies) / 20 + 1).png"
        case .portrait(.gif): "/photos/\(person.digits).gif"
        case .portrait(.bmp): "/photos/\(person.digits).bmp"
        default: "/photos/\(person.digits).png"
        }
    }

    /// What the origin answers at `path`.
    ///
    /// - Parameter elsewhere: Where an image is to be found that has moved.
    func response(at path: String, _ person: Person, elsewhere: String) -> LoopbackOrigin.Response {
        switch self {
        case .portrait(let format): Self.portrait(format, person)
        case .companyLogo: Self.png(for: path, lastModified: Self.longAgo)
        case .placeholder: Self.png(for: "nobody")
        case .moved: .redirect(to: elsewhere, status: 301)
        case .mislabelled: .image(SampleImage.identicon(for: path), mediaType: "text/plain", etag: "\"\(person.id)\"")
        case .slow: Self.png(for: path).delayed(by: .milliseconds(700))
        case .none, .deleted: .status(404)
        case .brokenServer: .status(500)
        case .webPage: .init(headers: ["Content-Type": "text/html"], body: .text("<!doctype html><p>Please sign in."))
        case .cutShort: Self.half(person)
        case .silence: .hang
        case .enormous: .init(body: .generated(byteCount: 64 << 20, beginning: SampleImage.identicon(for: path)))
        }
    }

    /// An image that names a day of freshness and an ETag.
    static func png(for seed: String, side: Int = 120, lastModified: String? = nil) -> LoopbackOrigin.Response {
        .image(
            SampleImage.identicon(for: seed, side: side),
            etag: "\"\(seed)\"",
            lastModified: lastModified,
            cacheControl: "max-age=86400"
        )
    }

    /// Servers differ in what they say of an image: a strong ETag, a weak one, or only when it was last changed.
    private static func portrait(_ format: Format, _ person: Person) -> LoopbackOrigin.Response {
        let seed = UInt64(person.number)
        return switch format {
        case .png:
            png(for: person.id, side: 100 + person.number % 7 * 10)
        case .gif:
            .image(SampleImage.gif(seed: seed), mediaType: "image/gif", etag: "W/\"\(person.id)\"")
        case .bmp:
            .image(SampleImage.bmp(seed: seed), mediaType: "image/bmp", lastModified: longAgo)
        }
    }

    /// Half an image: the connection breaks, or the file was cut before it came to the origin.
    private static func half(_ person: Person) -> LoopbackOrigin.Response {
        let bytes = SampleImage.identicon(for: person.id)
        let half = bytes.count / 2
        let breaks = person.number / 100 % 2 == 0
        return breaks ? .image(bytes).behaving(.cutShort(after: half)) : .image(Array(bytes[..<half]))
    }

    private static let longAgo = "Tue, 06 Jun 2023 08:30:00 GMT"
}
