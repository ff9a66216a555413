import AvatarCore
import AvatarDigest
import AvatarPlaceholder
import AvatarStore
import HTTPTypes

/// Pictures: of a contact, and by the digest of their bytes.
extension AvatarResponder {
    /// A picture of at most this many bytes is read at once; a larger one is read while it is sent.
    private static let mostBytesAtOnce = 64 << 10
    /// The look-ups after which a file that is missing each time is given up. Each eviction and replacement may cost one.
    private static let mostLooks = 4
    /// A picture must not load or run anything, even if a browser shows an SVG by itself.
    private static let policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

    /// `GET /contacts/ID/picture`.
    func picture(
        ofContact id: String,
        _ target: RequestTarget,
        _ request: HTTPRequest
    ) throws -> AvatarResponse {
        let kind = target.query["placeholder"] ?? "none"
        guard kind == "none" || kind == "initials" else {
            return .problem(.badRequest, "`placeholder` must be initials or none.")
        }
        let wish: RenditionWish
        switch RenditionWish.parse(target.query) {
        case .success(let parsed): wish = parsed
        case .failure(let fault): return .problem(.badRequest, fault.reason)
        }
        let now = store.configuration.clock.now()
        let stored = try respond(to: request, as: wish.rendition, with: { try store.picture(of: id) }) { picture, _ in
            let lifetime = picture.freshUntil.map { min(max(60, $0.seconds(since: now)), 86_400) } ?? 86_400
            return [
                .cacheControl: "private, max-age=\(lifetime), stale-while-revalidate=86400",
                .contentLocation: Self.imagePath(picture) + wish.query,
            ]
        }
        if let stored { return stored }
        guard let contact = try store.contact(id) else {
            return .problem(.notFound, "The store has no contact with this id.")
        }
        guard kind == "initials" else { return .problem(.notFound, "The contact has no image.") }
        return placeholder(of: contact, wish.size ?? 128, request)
    }

    /// `GET /images/SHA256.EXT`, where SHA256 is the digest of the original. The picture of such a path never changes.
    func image(named name: String, _ target: RequestTarget, _ request: HTTPRequest) throws -> AvatarResponse {
        let wish: RenditionWish
        switch RenditionWish.parse(target.query) {
        case .success(let parsed): wish = parsed
        case .failure(let fault): return .problem(.badRequest, fault.reason)
        }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let found =
            parts.count == 2 && parts[0] == parts[0].lowercased()
            ? try respond(
                to: request,
                as: wish.rendition,
                with: {
                    let picture = try store.picture(withDigest: parts[0])
                    return picture?.fileExtension == parts[1] ? picture : nil
                },
                fields: { _, isAsAsked in
                    // The rendition may be made later.
                    let lifetime = isAsAsked ? "max-age=31536000, immutable" : "max-age=300"
                    return [.cacheControl: "\(imageVisibility), \(lifetime)"]
                }
            ) : nil
        return found ?? .problem(.notFound, "The store has no image with this name.")
    }

    /// The path of the bytes of `picture`, which stays the same as long as they do.
    static func imagePath(_ picture: StoredPicture) -> String {
        "/images/\(picture.sha256).\(picture.fileExtension)"
    }

    /// The response with the picture that `look` finds; `nil` if it finds none or the file is missing.
    ///
    /// - Parameter rendition: the requested rendition. If it cannot be made, the response has the original.
    /// - Parameter fields: the fields that depend on the picture, and on whether the response has the requested rendition.
    /// - Throws: `RenditionNeeded` if the rendition must be made first; an error of the store.
    func respond(
        to request: HTTPRequest,
        as rendition: Rendition? = nil,
        with look: () throws -> StoredPicture?,
        fields: (_ picture: StoredPicture, _ isAsAsked: Bool) -> HTTPFields
    ) throws -> AvatarResponse? {
        let now = store.configuration.clock.now()
        for _ in 0..<Self.mostLooks {
            guard let original = try look() else { return nil }
            let picture = try rendition.map { try self.picture(original, as: $0) } ?? original
            let conditions = Conditions(
                etag: "\"\(picture.sha256)\"",
                modified: picture.published,
                length: picture.sizeBytes
            )
            var fields = fields(original, rendition == nil || picture.isRendition)
            fields[.eTag] = conditions.etag
            fields[.lastModified] = HTTPDate.format(picture.published)
            fields[.contentSecurityPolicy] = Self.policy
            if conditions.isNotModified(request.headerFields, now: now) {
                return AvatarResponse(head: HTTPResponse(status: .notModified, headerFields: fields), body: .none)
            }
            fields[.contentType] = picture.mediaType
            fields[.acceptRanges] = "bytes"
            // A range is defined for GET only (RFC 9110 section 14.2).
            let part = request.method == .get ? conditions.part(request.headerFields, now: now) : .whole
            guard let body = try body(of: picture, part) else { continue }
            return AvatarResponse(head: head(part, of: picture, fields), body: body)
        }
        return nil
    }

    /// The rendition of `original`, or `original` if the rendition cannot be made.
    private func picture(_ original: StoredPicture, as rendition: Rendition) throws -> StoredPicture {
        if let made = try store.rendition(rendition, of: original) { return made }
        guard givesOriginals || store.configuration.renditions == nil else {
            throw RenditionNeeded(rendition: rendition, picture: original)
        }
        return original
    }

    /// The status and the fields of a part of `picture`.
    private func head(_ part: Conditions.Part, of picture: StoredPicture, _ fields: HTTPFields) -> HTTPResponse {
        var fields = fields
        switch part {
        case .whole:
            fields[.contentLength] = "\(picture.sizeBytes)"
            return HTTPResponse(status: .ok, headerFields: fields)
        case .range(let range):
            fields[.contentLength] = "\(range.count)"
            fields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(picture.sizeBytes)"
            return HTTPResponse(status: .partialContent, headerFields: fields)
        case .unsatisfiable:
            fields[.contentLength] = "0"
            fields[.contentRange] = "bytes */\(picture.sizeBytes)"
            fields[.contentType] = nil
            return HTTPResponse(status: .rangeNotSatisfiable, headerFields: fields)
        }
    }

    /// The bytes of a part of `picture`, in memory if they are few; `nil` if the file is missing.
    private func body(of picture: StoredPicture, _ part: Conditions.Part) throws -> AvatarResponse.Body? {
        let range: Range<Int>
        switch part {
        case .whole: range = 0..<picture.sizeBytes
        case .range(let asked): range = asked
        case .unsatisfiable: return AvatarResponse.Body.none
        }
        guard let open = try store.open(picture) else { return nil }
        guard range.count <= Self.mostBytesAtOnce else { return .file(open, range) }
        let bytes = try open.bytes(at: range.lowerBound, count: range.count)
        return bytes.count == range.count ? .bytes(bytes) : nil
    }

    /// The initials of the contact, for an hour at most: a picture may come.
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
        let digest = SHA256.hash(bytes).map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }
        let conditions = Conditions(etag: "\"\(digest.joined())\"", modified: nil, length: bytes.count)
        let fields: HTTPFields = [.eTag: conditions.etag, .contentSecurityPolicy: Self.policy]
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
    /// An invalid parameter.
    struct Fault: Error {
        let reason: String
    }

    /// The valid range of `size`, in pixels. Renditions have the sizes of `Rendition.sizes`; an SVG can have any size.
    private static let sizes = 1...4096

    /// The requested size in pixels; `nil` for none.
    let size: Int?
    /// The requested rendition; `nil` for the original.
    let rendition: Rendition?

    /// Parses the parameters `size`, `format` and `square`. Without a size, the other two mean the largest one.
    static func parse(_ query: [String: String]) -> Result<RenditionWish, Fault> {
        let size = query["size"].map { Int($0) ?? 0 }
        if let size, !sizes.contains(size) {
            let text = query["size"]?.prefix(40) ?? ""
            return .failure(Fault(reason: "`size` must be a number from 1 to \(sizes.upperBound), not \"\(text)\"."))
        }
        guard let format = Rendition.Format(rawValue: query["format"] ?? "original") else {
            let text = query["format"]?.prefix(40) ?? ""
            return .failure(Fault(reason: "`format` must be original, jpeg, png or webp, not \"\(text)\"."))
        }
        guard let fit = fit(square: query["square"] ?? "0") else {
            let text = query["square"]?.prefix(40) ?? ""
            return .failure(Fault(reason: "`square` must be 1 or 0, not \"\(text)\"."))
        }
        guard size != nil || format != .original || fit == .square else {
            return .success(RenditionWish(size: nil, rendition: nil))
        }
        let rendition = Rendition(size: size ?? sizes.upperBound, format: format, fit: fit)
        return .success(RenditionWish(size: size, rendition: rendition))
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
