package import AvatarStore

/// An image of a workload.
package enum ImageKey: Hashable, Sendable {
    /// An image saved under a name.
    case own(Int)
    /// An image at the origin.
    case remote(Int)
    /// The photo embedded in a contact.
    case photo(Int)

    /// Whether it was saved under a name.
    package var isOwn: Bool { if case .own = self { true } else { false } }

    /// The image's key in a store that fetches from `origin`, such as `http://127.0.0.1:8080`.
    package func key(at origin: String) throws -> AvatarKey {
        switch self {
        case .own: try AvatarKey(name: description)
        case .remote: try AvatarKey(url: url(at: origin))
        case .photo(let contact): try AvatarKey(contact: "\(contact)")
        }
    }

    /// The image's URL at `origin`.
    package func url(at origin: String) -> String {
        origin + "/" + description + ".png"
    }

    /// The image with the index's key `key`.
    package init?(key: String) {
        let name = key.split(separator: "/").last.map(String.init) ?? key
        self.init(
            name.replacing("name:", with: "").replacing("contact:", with: "p").replacing(".png", with: "")
        )
    }
}

extension ImageKey: LosslessStringConvertible {
    package init?(_ description: String) {
        guard let number = Int(description.dropFirst()) else { return nil }
        switch description.first {
        case "n": self = .own(number)
        case "u": self = .remote(number)
        case "p": self = .photo(number)
        default: return nil
        }
    }

    package var description: String {
        switch self {
        case .own(let number): "n\(number)"
        case .remote(let number): "u\(number)"
        case .photo(let number): "p\(number)"
        }
    }
}
