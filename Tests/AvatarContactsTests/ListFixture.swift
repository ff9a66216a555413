import AvatarContacts
import AvatarCore
import Foundation
import Testing

extension ContactList {
    /// A list in memory with the name `people`.
    static func of(_ text: String, as format: Format) -> ContactList {
        ContactList(bytes: Array(text.utf8), format: format, name: "people")
    }

    /// All records, in their order.
    func records() async throws -> [ContactRecord] {
        var records: [ContactRecord] = []
        for try await record in self { records.append(record) }
        return records
    }

    /// The message of the error that `validate()` throws; `nil` if it throws none.
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
    /// The record of a contact with an id, and with the URL of an image if there is one.
    static func contact(id: String, _ avatarURL: String? = nil) -> ContactRecord {
        .contact(Contact(id: id, avatarURL: avatarURL))
    }

    /// The id of the contact; `nil` if the record is unreadable.
    var id: String? {
        guard case .contact(let contact) = self else { return nil }
        return contact.id
    }

    /// The line of an unreadable record; `nil` for a contact.
    var unreadableLine: Int? {
        guard case .unreadable(let line, _, _, _) = self else { return nil }
        return line
    }

    /// The reason of an unreadable record; `nil` for a contact.
    var unreadableReason: String? {
        guard case .unreadable(_, let reason, _, _) = self else { return nil }
        return reason
    }
}

/// Runs `body` with an empty directory, and removes the directory afterwards.
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
