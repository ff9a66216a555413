import AvatarStore

/// What came of an operation.
package enum Outcome: Hashable, Sendable {
    case done
    /// An image with bytes of this SHA-256.
    case image(String)
    /// A read found nothing.
    case nothing
    /// An error of this code.
    case refused(String)
    /// So many different images were wanted, and so many of them left out.
    case synced(wanted: Int, leftOut: Int)
}

extension Outcome: LosslessStringConvertible {
    package var description: String {
        switch self {
        case .done: "done"
        case .image(let digest): "image \(digest)"
        case .nothing: "nothing"
        case .refused(let code): "refused \(code)"
        case .synced(let wanted, let leftOut): "synced \(wanted) \(leftOut)"
        }
    }

    package init?(_ description: String) {
        let words = description.split(separator: " ").map(String.init)
        switch (words.first, words.count) {
        case ("done", 1): self = .done
        case ("nothing", 1): self = .nothing
        case ("image", 2): self = .image(words[1])
        case ("refused", 2...): self = .refused(words[1])
        case ("synced", 3):
            guard let wanted = Int(words[1]), let leftOut = Int(words[2]) else { return nil }
            self = .synced(wanted: wanted, leftOut: leftOut)
        default: return nil
        }
    }
}
