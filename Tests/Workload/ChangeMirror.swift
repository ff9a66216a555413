package import AvatarStore
import Foundation

/// What a reader of the changes knows: which contact has which picture. It goes by the changes alone, and each has to
/// fit what came before.
package struct ChangeMirror: Codable, Sendable {
    /// The number of the last change that was dealt with.
    package private(set) var sequence: Int64 = 0
    /// The digest of each image that a contact has: by key, then by contact.
    package private(set) var pictures: [String: [String: String]] = [:]
    /// Changes that did not fit.
    package private(set) var faults: [String] = []

    /// What an earlier reader left in the file at `path`; nothing, if there is none.
    package init(file path: String) throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        self = try JSONDecoder().decode(ChangeMirror.self, from: Data(contentsOf: URL(filePath: path)))
    }

    /// Acknowledges what was read: this state, or the one before it, is what the next reader finds.
    package func keep(in path: String) throws {
        try JSONEncoder().encode(self).write(to: URL(filePath: path), options: .atomic)
    }

    /// Takes over a change.
    package mutating func apply(_ change: AvatarChange) {
        let key = change.key.rawValue
        var known = pictures[key] ?? [:]
        require(change.sequence > sequence, change, "is not after \(sequence)")
        switch change.kind {
        case .added:
            for owner in change.owners {
                require(known[owner] == nil, change, "is not new to \(owner)")
                require(known.values.allSatisfy { $0 == change.digest }, change, "is another picture than others have")
                known[owner] = change.digest
            }
        case .changed:
            require(
                known.keys.sorted() == change.owners.sorted(),
                change,
                "has other owners than \(known.keys.sorted())"
            )
            require(known.values.allSatisfy { $0 != change.digest }, change, "changes nothing")
            for owner in change.owners { known[owner] = change.digest }
        case .removed:
            for owner in change.owners {
                require(known[owner] == change.digest, change, "was not what \(owner) had")
                known[owner] = nil
            }
        }
        pictures[key] = known.isEmpty ? nil : known
        sequence = change.sequence
    }

    private mutating func require(_ isRight: Bool, _ change: AvatarChange, _ complaint: String) {
        if !isRight { faults.append("\(change.sequence) \(change.kind) \(change.key.rawValue): \(complaint)") }
    }
}
