import AvatarCore
import AvatarPlaceholder
import AvatarStore
import Crypto
import HTTPTypes

/// Pictures: of a contact, and by the digest of their bytes.
extension AvatarResponder {
    /// A picture of at most this many bytes is read at once; a larger one is read while it is sent.
    private static let mostBytesAtOnce = 64 << 10
    /// The look-ups after which a file that is missing each time is given up. Each eviction and replacement may cost one.
    private static let mostLooks = 4
    /// The range of `size`, in pixels.
    private static let sizes = 1...4096
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
        let size = target.query["size"].map { Int($0) ?? 0 } ?? 128
        guard Self.sizes.contains(size) else {
            return .problem(.badRequest, "`size` must be a number between 1 and \(Self.sizes.upperBound).")
        }
        let now = store.configuration.clock.now()
        let stored = try respond(to: request, with: { try store.picture(of: id) }) { picture in
            let lifetime = picture.freshUntil.map { min(max(60, $0.seconds(since: now)), 86_400) } ?? 86_400
            return [
                .cacheControl: "private, max-age=\(lifetime), stale-while-revalidate=86400",
                .contentLocation: Self.imagePath(picture),
            ]
        }
        if let stored { return stored }
        guard let contact = try store.contact(id) else {
            return .problem(.notFound, "The store has no contact with this id.")
        }
        guard kind == "initials" else { return .problem(.notFound, "The contact has no picture.") }
        return placeholder(of: contact, size, request)
    }

    /// `GET /images/SHA256.EXT`. The bytes of such a path never change.
    func image(named name: String, _ request: HTTPRequest) throws -> AvatarResponse {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let found =
            parts.count == 2 && parts[0] == parts[0].lowercased()
            ? try respond(
                to: request,
                with: {
                    let picture = try store.picture(withDigest: parts[0])
                    return picture?.fileExtension == parts[1] ? picture : nil
                },
                fields: { _ in [.cacheControl: "\(imageVisibility), max-age=31536000, immutable"] }
            ) : nil
        return found ?? .problem(.notFound, "The store has no image with this name.")
    }

    /// The path of the bytes of `picture`, which stays the same as long as they do.
    static func imagePath(_ picture: StoredPicture) -> String {
        "/images/\(picture.sha256).\(picture.fileExtension)"
    }

    /// The answer with the picture that `look` finds; `nil` if it finds none or the file is missing.
    func respond(
        to request: HTTPRequest,
        with look: () throws -> StoredPicture?,
        fields: (StoredPicture) -> HTTPFields
    ) throws -> AvatarResponse? {
        let now = store.configuration.clock.now()
        for _ in 0..<Self.mostLooks {
            guard let picture = try look() else { return nil }
            let conditions = Conditions(
                etag: "\"\(picture.sha256)\"",
                modified: picture.published,
                length: picture.sizeBytes
            )
            var fields = fields(picture)
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

    /// The answer with the SVG image `text`, which is made for the request.
    func drawing(_ text: String, cache: String, _ request: HTTPRequest) -> AvatarResponse {
        let bytes = Array(text.utf8)
        let digest = SHA256.hash(data: bytes).map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }
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
