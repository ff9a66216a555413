import AvatarContacts
import AvatarCore
import Foundation
import Testing

extension ContactList {
    /// The list `text` is, held in memory.
    static func of(_ text: String, as format: Format) -> ContactList {
        ContactList(bytes: Array(text.utf8), format: format, name: "people")
    }

    /// All records, in their order.
    func records() async throws -> [ContactRecord] {
        var records: [ContactRecord] = []
        for try await record in self { records.append(record) }
        return records
    }

    /// What `validate()` says against the list; `nil` if it is sound.
    func fault() throws -> String? {
        do {
            _ = try validate()
            return nil
        } catch {
            #expect(error.code == .unreadableList)
            return error.message
        }
    }
}

extension ContactRecord {
    /// A person with nothing but an id and perhaps a picture.
    static func person(_ id: String, _ avatarURL: String? = nil) -> ContactRecord {
        .contact(Contact(id: id, avatarURL: avatarURL))
    }

    /// The person's id; `nil` if the record cannot be read.
    var id: String? {
        guard case .contact(let contact) = self else { return nil }
        return contact.id
    }

    /// The line of a record that cannot be read.
    var unreadableLine: Int? {
        guard case .unreadable(let line, _, _) = self else { return nil }
        return line
    }

    /// Why the record cannot be read.
    var unreadableReason: String? {
        guard case .unreadable(_, let reason, _) = self else { return nil }
        return reason
    }
}

/// Runs `body` with an empty directory that is gone afterwards.
func withTemporaryDirectory(_ body: (URL) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "avatars-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let result: Result<Void, any Error>
    do {
        result = .success(try await body(directory))
    } catch {
        result = .failure(error)
    }
    try FileManager.default.removeItem(at: directory)
    try result.get()
}
