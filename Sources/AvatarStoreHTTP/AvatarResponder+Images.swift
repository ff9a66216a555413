import AvatarCore
import AvatarDigest
import AvatarPlaceholder
import AvatarStore
import HTTPTypes

/// Images: of a contact, and by the digest of their bytes.
extension AvatarResponder {
    /// An image of at most this many bytes is read at once; a larger one is read while it is sent.
    private static let mostBytesAtOnce = 64 << 10
    /// The look-ups after which a file that is missing each time is given up. Each eviction and replacement may cost one.
    private static let mostLooks = 4
    /// An image must not load or run anything, even if a browser shows an SVG by itself.
    private static let policy = "default-src 'none'; sandbox"
    /// An SVG image may have styles.
    private static let policyOfSVG = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

    /// `GET /contacts/ID/picture`.
    func image(
        ofContact id: String,
        _ target: RequestTarget,
        _ request: HTTPRequest
    ) throws -> AvatarResponse {
        let kind = target.query["placeholder"] ?? "none"
        guard kind == "none" || kind == "initials" else {
            return .problem(.badRequest, "`placeholder` must be initials or none.")
        }
        let use = target.query["for"] ?? "any"
        guard use == "any" || use == "browser" else {
            return .problem(.badRequest, "`for` must be browser or any.")
        }
        let wish = try RenditionWish(target.query)
        let now = store.configuration.clock.now()
        let found = try respond(
            to: request,
            as: wish.rendition,
            isForBrowsers: use == "browser",
            with: { try store.image(of: id) }
        ) { given, _ in
            let lifetime = given.original.freshUntil.map { min(max(60, $0.seconds(since: now)), 86_400) } ?? 86_400
            var fields: HTTPFields = [
                .cacheControl: "private, max-age=\(lifetime), stale-while-revalidate=86400"
            ]
            fields[.contentLocation] = given.addressed.map { Self.imagePath($0) + wish.query }
            return fields
        }
        if case .response(let response) = found { return response }
        guard let contact = try store.contact(id) else {
            return .problem(.notFound, "The store has no contact with this id.")
        }
        guard kind == "initials" else {
            if case .withheld = found { return Self.withheld }
            if case .notForBrowsers = found {
                return .problem(.notFound, "The image has a format that browsers do not show.", reason: "format")
            }
            return .problem(.notFound, "The contact has no image.")
        }
        return placeholder(of: contact, wish.size ?? 128, request)
    }

    /// `GET /images/SHA256.EXT`, where SHA256 is the digest of the image as it is sent, without its metadata. With a size or a
    /// format, the response has a rendition of it. The image of such a path never changes.
    func image(named name: String, _ target: RequestTarget, _ request: HTTPRequest) throws -> AvatarResponse {
        let wish = try RenditionWish(target.query)
        let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, parts[0] == parts[0].lowercased() else { return Self.unknownImage }
        let found = try respond(
            to: request,
            as: wish.rendition,
            addressedBy: parts[0],
            with: {
                let image = try store.image(withDigest: parts[0]) ?? store.image(withDigestOfCopy: parts[0])
                return image?.fileExtension == parts[1] ? image : nil
            },
            fields: { _, isAsAsked in
                // The rendition may be made later.
                let lifetime = isAsAsked ? "max-age=31536000, immutable" : "max-age=300"
                return [.cacheControl: "\(imageVisibility), \(lifetime)"]
            }
        )
        return switch found {
        case .response(let response): response
        case .withheld: Self.withheld
        case .nothing, .notForBrowsers: Self.unknownImage
        }
    }

    private static var unknownImage: AvatarResponse {
        .problem(.notFound, "The store has no image with this name.")
    }

    /// The response for an image that has metadata, which cannot be taken out or must be asked for by another digest.
    private static var withheld: AvatarResponse {
        .problem(.notFound, "The image has metadata, and this server sends none.", reason: "metadata")
    }

    /// The path of the bytes of `image`, which stays the same as long as they do.
    static func imagePath(_ image: StoredImage) -> String {
        "/images/\(image.sha256).\(image.fileExtension)"
    }

    /// The result of a look for an image.
    enum Found {
        case response(AvatarResponse)
        /// The image has metadata, which cannot be taken out, or its path has the digest of the original.
        case withheld
        /// Browsers do not show its format, and the request asked for no other image.
        case notForBrowsers
        /// There is no image, or its file is missing.
        case nothing
    }

    /// The image of a response.
    struct GivenImage {
        /// The image as it is stored.
        let original: StoredImage
        /// The image whose bytes are sent: the original, its copy without metadata, or a rendition.
        let sent: StoredImage
        /// The open file if `sent` is a view of it that is not stored; else `nil`.
        var open: OpenImage?
        /// The image whose digest makes the path of this one; `nil` if no path has it.
        var addressed: StoredImage?
    }

    /// The response with the image that `look` finds.
    ///
    /// - Parameter rendition: the requested rendition. If it cannot be made, the response has the original.
    /// - Parameter isForBrowsers: whether only an image is given that browsers show. Default: no.
    /// - Parameter digest: the digest in the path, which must be that of the image without its metadata; `nil` without one.
    /// - Parameter fields: the fields that depend on the image, and on whether the response has the requested rendition.
    /// - Throws: `PreparationNeeded` if the image must be made first; an error of the store.
    func respond(
        to request: HTTPRequest,
        as rendition: Rendition? = nil,
        isForBrowsers: Bool = false,
        addressedBy digest: String? = nil,
        with look: () throws -> StoredImage?,
        fields: (_ image: GivenImage, _ isAsAsked: Bool) -> HTTPFields
    ) throws -> Found {
        let now = store.configuration.clock.now()
        for _ in 0..<Self.mostLooks {
            guard let original = try look() else { return .nothing }
            guard let image = try given(original, as: rendition, addressedBy: digest) else { return .withheld }
            let sent = image.sent
            guard !isForBrowsers || BrowserFormats.contain(sent.mediaType) else { return .notForBrowsers }
            let conditions = Conditions(
                etag: "\"\(sent.sha256)\"",
                modified: sent.published,
                length: sent.sizeBytes
            )
            var fields = fields(image, rendition == nil || sent.isRendition)
            fields[.eTag] = conditions.etag
            fields[.lastModified] = HTTPDate.format(sent.published)
            fields[.contentSecurityPolicy] = sent.mediaType == "image/svg+xml" ? Self.policyOfSVG : Self.policy
            if conditions.isAnother(request.headerFields, now: now) {
                return .response(
                    .problem(.preconditionFailed, "The image is another than If-Match or If-Unmodified-Since allows.")
                )
            }
            if conditions.isNotModified(request.headerFields, now: now) {
                return .response(
                    AvatarResponse(head: HTTPResponse(status: .notModified, headerFields: fields), body: .none)
                )
            }
            fields[.contentType] = sent.mediaType
            fields[.acceptRanges] = "bytes"
            // A range is defined for GET only (RFC 9110 section 14.2).
            let part = request.method == .get ? conditions.part(request.headerFields, now: now) : .whole
            guard let body = try body(of: image, part) else { continue }
            return .response(AvatarResponse(head: head(part, of: sent, fields), body: body))
        }
        return .nothing
    }

    /// The image to send for `original`; `nil` if it has metadata that must not be sent.
    private func given(
        _ original: StoredImage,
        as rendition: Rendition?,
        addressedBy digest: String?
    ) throws -> GivenImage? {
        let namesOriginal = digest == original.sha256
        if original.hasMetadata == false || servesMetadata && (digest == nil || namesOriginal) {
            return try given(original, as: rendition)
        }
        if namesOriginal {
            // Its path is the digest of the image without its metadata, unless a closer look finds none.
            guard original.hasMetadata == nil, try withoutMetadata(original)?.sent.sha256 == digest else { return nil }
            return try given(original, as: rendition)
        }
        if let rendition, case let made = try rendered(original, as: rendition), made.isRendition {
            let copy = try store.storedWithoutMetadata(original)
            return GivenImage(original: original, sent: made, addressed: copy?.isRendition == false ? copy : nil)
        }
        return try withoutMetadata(original)
    }

    /// The image to send for `original`, which may be sent as it is.
    private func given(_ original: StoredImage, as rendition: Rendition?) throws -> GivenImage {
        let sent = try rendition.map { try rendered(original, as: $0) } ?? original
        return GivenImage(original: original, sent: sent, addressed: original)
    }

    /// The image to send for `original`, which has metadata or may have some; `nil` if it cannot be taken out.
    ///
    /// - Throws: `PreparationNeeded` if it must be made first.
    private func withoutMetadata(_ original: StoredImage) throws -> GivenImage? {
        if let stored = try store.storedWithoutMetadata(original) {
            return GivenImage(original: original, sent: stored, addressed: stored.isRendition ? nil : stored)
        }
        guard let prepared, prepared.original == original.sha256 else {
            throw PreparationNeeded(kind: .withoutMetadata, original: original)
        }
        return switch prepared.image {
        case .stored(let image):
            GivenImage(original: original, sent: image, addressed: image.isRendition ? nil : image)
        case .open(let open): GivenImage(original: original, sent: open.image, open: open)
        case .none: nil
        }
    }

    /// The rendition of `original`, or `original` if the rendition cannot be made.
    private func rendered(_ original: StoredImage, as rendition: Rendition) throws -> StoredImage {
        if let made = try store.rendition(rendition, of: original) { return made }
        guard givesOriginals || store.configuration.renditions == nil else {
            throw PreparationNeeded(kind: .rendition(rendition), original: original)
        }
        return original
    }

    /// The status and the fields of a part of `image`.
    private func head(_ part: Conditions.Part, of image: StoredImage, _ fields: HTTPFields) -> HTTPResponse {
        var fields = fields
        switch part {
        case .whole:
            fields[.contentLength] = "\(image.sizeBytes)"
            return HTTPResponse(status: .ok, headerFields: fields)
        case .range(let range):
            fields[.contentLength] = "\(range.count)"
            fields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(image.sizeBytes)"
            return HTTPResponse(status: .partialContent, headerFields: fields)
        case .unsatisfiable:
            fields[.contentLength] = "0"
            fields[.contentRange] = "bytes */\(image.sizeBytes)"
            fields[.contentType] = nil
            // A cache would give it to those who ask for the whole image.
            fields[.cacheControl] = "no-store"
            return HTTPResponse(status: .rangeNotSatisfiable, headerFields: fields)
        }
    }

    /// The bytes of a part of `image`, in memory if they are few; `nil` if the file is missing.
    private func body(of image: GivenImage, _ part: Conditions.Part) throws -> AvatarResponse.Body? {
        let range: Range<Int>
        switch part {
        case .whole: range = 0..<image.sent.sizeBytes
        case .range(let asked): range = asked
        case .unsatisfiable: return AvatarResponse.Body.none
        }
        guard let open = try image.open ?? store.open(image.sent) else { return nil }
        guard range.count <= Self.mostBytesAtOnce else { return .file(open, range) }
        let bytes = try open.bytes(at: range.lowerBound, count: range.count)
        return bytes.count == range.count ? .bytes(bytes) : nil
    }

    /// The initials of the contact, for an hour at most: an image may come.
    private func placeholder(
        of contact: StoredContact,
        _ size: Int,
        _ request: HTTPRequest
    ) -> AvatarResponse {
        let placeholder = AvatarPlaceholder(id: contact.id, name: contact.name)
        return drawing(placeholder.svg(side: max(16, size)), cache: "private, max-age=600", request)
    }

    /// The response with the SVG image `text`, which is drawn for the request.
    func drawing(_ text: String, cache: String, _ request: HTTPRequest) -> AvatarResponse {
        let bytes = Array(text.utf8)
        let digest = Hexadecimal.text(SHA256.hash(bytes))
        let conditions = Conditions(etag: "\"\(digest)\"", modified: nil, length: bytes.count)
        let fields: HTTPFields = [.eTag: conditions.etag, .contentSecurityPolicy: Self.policyOfSVG]
        if conditions.isNotModified(request.headerFields, now: store.configuration.clock.now()) {
            var fields = fields
            fields[.cacheControl] = cache
            return AvatarResponse(head: HTTPResponse(status: .notModified, headerFields: fields), body: .none)
        }
        return AvatarResponse(.ok, AvatarPlaceholder.mediaType, bytes, cache: cache, fields: fields)
    }
}

/// The requested size, shape and format.
private struct RenditionWish {
    /// The valid range of `size`, in pixels. Renditions have the sizes of `Rendition.sizes`; an SVG can have any size.
    private static let sizes = 1...4096

    /// The requested size in pixels; `nil` for none.
    let size: Int?
    /// The requested rendition; `nil` for the original.
    let rendition: Rendition?

    /// Parses the parameters `size`, `format` and `square`. Without a size, the other two mean the largest one.
    ///
    /// - Throws: `invalidConfiguration` for an invalid parameter, which makes the response 400.
    init(_ query: [String: String]) throws(AvatarStoreError) {
        func fault(_ name: String, _ rule: String) -> AvatarStoreError {
            let value = query[name]?.prefix(40) ?? ""
            return AvatarStoreError(.invalidConfiguration, "`\(name)` must be \(rule), not \"\(value)\".")
        }
        size = query["size"].map { Int($0) ?? 0 }
        if let size, !Self.sizes.contains(size) { throw fault("size", "a number from 1 to \(Self.sizes.upperBound)") }
        guard let format = Rendition.Format(rawValue: query["format"] ?? "original") else {
            throw fault("format", "original, jpeg, png or webp")
        }
        guard let fit = Self.fit(square: query["square"] ?? "0") else { throw fault("square", "1 or 0") }
        let isOriginal = size == nil && format == .original && fit == .inside
        rendition = isOriginal ? nil : Rendition(size: size ?? Self.sizes.upperBound, format: format, fit: fit)
    }

    /// The shape that a value of the parameter `square` means; `nil` if it has no meaning.
    private static func fit(square: String) -> Rendition.Fit? {
        switch square {
        case "1", "true": .square
        case "0", "false": .inside
        default: nil
        }
    }

    /// The query that requests the rendition; empty without one.
    var query: String {
        guard let rendition else { return "" }
        let format = rendition.format == .original ? "" : "&format=\(rendition.format.rawValue)"
        return "?size=\(rendition.size)" + format + (rendition.fit == .square ? "&square=1" : "")
    }
}
