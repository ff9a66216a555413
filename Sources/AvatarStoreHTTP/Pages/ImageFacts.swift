import AvatarCore
import AvatarMaintenance
import AvatarStore

/// The lines about an image on the page of a contact. They have what `avatars show` prints, except the path of the file:
/// a path of the server is nothing for its clients.
struct ImageFacts {
    let contact: String
    /// The entry of the image; `nil` for a contact without one.
    let details: AvatarDetails?
    /// The path of the image itself; `nil` without a file.
    let imagePath: String?

    /// The facts that most readers look for.
    var main: [ContactPage.Fact] {
        var facts = Facts()
        facts.add("id", contact)
        guard let details else { return facts.list }
        facts.add("source", source(details.overview))
        if let type = details.mediaType { facts.add("image", ([type] + size(details)).joined(separator: ", ")) }
        facts.add("fetched", details.fetched)
        facts.add("checked", details.overview.checkedAt)
        facts.add("fresh until", details.overview.freshUntil)
        if let failure = details.failure {
            let count = details.failureCount > 1 ? ", \(details.failureCount) times in a row" : ""
            facts.add("last failure", failure.rawValue + count)
        }
        return facts.list
    }

    /// Facts about the last response and the file.
    var technical: [ContactPage.Fact] {
        guard let details else { return [] }
        var facts = Facts()
        if details.overview.key.rawValue != details.overview.sourceURL {
            facts.add("key", details.overview.key.description)
        }
        facts.add("class", details.overview.storageClass.rawValue)
        facts.add("last access", details.overview.lastAccess)
        facts.add("next check", details.nextCheck)
        facts.add("ETag", details.overview.etag)
        facts.add("Last-Modified", details.lastModified)
        for line in (details.responseFields ?? "").split(separator: "\n") { facts.add("response", String(line)) }
        if let sha256 = details.sha256 {
            facts.list.append(.init(name: "SHA-256", value: imagePath.map { .link(sha256, path: $0) } ?? .text(sha256)))
        }
        return facts.list
    }

    /// The URL of the image as in messages: without its query, and of an image for an e-mail address only the host.
    private func source(_ item: AvatarListItem) -> String {
        guard let url = item.sourceURL else { return "own image" }
        return item.key.isEmailImage ? item.key.description : AvatarKey.redact(url)
    }

    /// Width and height, unless the image states none, and the length of the file.
    private func size(_ details: AvatarDetails) -> [String] {
        let pixels = details.width.flatMap { width in
            details.height.map { height in width > 0 && height > 0 ? "\(width) × \(height)" : nil } ?? nil
        }
        return [pixels, details.overview.sizeBytes.map { ByteSize.text($0) }].compactMap(\.self)
    }

    /// A list to which only facts with a value are added.
    private struct Facts {
        var list: [ContactPage.Fact] = []

        mutating func add(_ name: String, _ text: String?) {
            if let text { list.append(.init(name: name, value: .text(text))) }
        }

        mutating func add(_ name: String, _ time: Timestamp?) {
            if let time { list.append(.init(name: name, value: .time(time))) }
        }
    }
}
