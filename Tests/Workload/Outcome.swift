package import AvatarStore

/// The result of an operation.
package enum Outcome: Hashable, Sendable {
    case done
    /// An image with bytes of this SHA-256.
    case image(String)
    /// A read without a result.
    case nothing
    case refused(Refusal)
    /// The number of different images wanted, and how many of them were skipped.
    case synced(wanted: Int, leftOut: Int)

    /// An error of the store. Errors with equal codes are equal.
    package struct Refusal: Hashable, Sendable, CustomStringConvertible {
        package let code: AvatarStoreError.Code
        package let message: String

        package init(_ code: AvatarStoreError.Code, _ message: String = "") {
            self.code = code
            self.message = message
        }

        package static func == (left: Refusal, right: Refusal) -> Bool { left.code == right.code }

        package func hash(into hasher: inout Hasher) { hasher.combine(code) }

        package var description: String { "\(code) \(message)" }
    }
}

extension Outcome: LosslessStringConvertible {
    package var description: String {
        switch self {
        case .done: "done"
        case .image(let digest): "image \(digest)"
        case .nothing: "nothing"
        case .refused(let refusal): "refused \(refusal)"
        case .synced(let wanted, let leftOut): "synced \(wanted) \(leftOut)"
        }
    }

    package init?(_ description: String) {
        let words = description.split(separator: " ").map(String.init)
        switch (words.first, words.count) {
        case ("done", 1): self = .done
        case ("nothing", 1): self = .nothing
        case ("image", 2): self = .image(words[1])
        case ("refused", 2...):
            let message = words[2...].joined(separator: " ")
            self = .refused(Refusal(AvatarStoreError.Code(rawValue: words[1]), message))
        case ("synced", 3):
            guard let wanted = Int(words[1]), let leftOut = Int(words[2]) else { return nil }
            self = .synced(wanted: wanted, leftOut: leftOut)
        default: return nil
        }
    }
}
