import AvatarCore
import AvatarFoundation

/// The images of cards at the servers of their sources, as a sync reads the cards. The operator has named these servers, so their
/// addresses may be private. A URL there that another list names is judged as all others are.
final class ImagesAtSources: Sendable {
    /// The scheme and authority of each source's server, by the name of the source.
    private let origins: [String: String]
    /// The URLs of the images, by the scheme and authority of their servers.
    private let images = Locked<[String: FingerprintSet]>([:])

    /// No images yet; `nil` if none of `sources` has a server.
    init?(_ sources: [ContactSource]) {
        let found = sources.compactMap { source in source.origin.map { (source.name, $0) } }
        guard !found.isEmpty else { return nil }
        origins = Dictionary(found) { first, _ in first }
    }

    /// Notes the images of a card that are at the server of its source.
    func note(_ record: ContactRecord) {
        guard case .contact(let contact) = record, let source = contact.place?.list, let origin = origins[source] else {
            return
        }
        for url in contact.images.compactMap(\.url) {
            guard let key = AvatarKey(listed: url), key.originAndTarget.origin == origin else { continue }
            images.withLock { _ = $0[origin, default: FingerprintSet()].insert(key.rawValue) }
        }
    }

    /// The scheme and authority of the server that `url` is at, if a card of that server has it; otherwise `nil`.
    func origin(of url: AvatarKey) -> String? {
        images.withLock { images in
            guard !images.isEmpty else { return nil }
            let origin = url.originAndTarget.origin
            return images[origin]?.contains(url.rawValue) == true ? origin : nil
        }
    }
}
