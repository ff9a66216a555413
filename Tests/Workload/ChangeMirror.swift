package import AvatarStore
import Foundation

/// A reader of the change feed that tracks which contact has which image. It knows the change events only, and checks
/// that each fits the ones before.
package struct ChangeMirror: Codable, Sendable {
    /// The sequence number of the last event processed.
    package private(set) var sequence: Int64 = 0
    /// The digests of the contacts' images, by key, then by contact.
    package private(set) var images: [String: [String: String]] = [:]
    /// Events that contradict the earlier ones.
    package private(set) var faults: [String] = []

    /// Reads the state that an earlier reader wrote to the file at `path`; empty if the file does not exist.
    package init(file path: String) throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        self = try JSONDecoder().decode(ChangeMirror.self, from: Data(contentsOf: URL(filePath: path)))
    }

    /// Writes the state atomically: the next reader finds this state or the one before it.
    package func keep(in path: String) throws {
        try JSONEncoder().encode(self).write(to: URL(filePath: path), options: .atomic)
    }

    /// Applies an event.
    package mutating func apply(_ change: AvatarChange) {
        let key = change.key.rawValue
        var known = images[key] ?? [:]
        require(change.sequence > sequence, change, "is not after \(sequence)")
        switch change.kind {
        case .added:
            for owner in change.contacts {
                require(known[owner] == nil, change, "is not new to \(owner)")
                require(known.values.allSatisfy { $0 == change.digest }, change, "is another picture than others have")
                known[owner] = change.digest
            }
        case .changed:
            require(
                known.keys.sorted() == change.contacts.sorted(),
                change,
                "has other owners than \(known.keys.sorted())"
            )
            require(known.values.allSatisfy { $0 != change.digest }, change, "changes nothing")
            for owner in change.contacts { known[owner] = change.digest }
        case .erased:
            for (key, known) in images {
                let rest = known.filter { !change.erases(contact: $0.key) }
                images[key] = rest.isEmpty ? nil : rest
            }
            known = [:]
        case .removed:
            for owner in change.contacts {
                require(known[owner] == change.digest, change, "was not what \(owner) had")
                known[owner] = nil
            }
        }
        images[key] = known.isEmpty ? nil : known
        sequence = change.sequence
    }

    private mutating func require(_ isRight: Bool, _ change: AvatarChange, _ complaint: String) {
        if !isRight { faults.append("\(change.sequence) \(change.kind) \(change.key.rawValue): \(complaint)") }
    }
}
