import AvatarContacts
import AvatarStore
import Foundation

/// The folder that the demonstration leaves behind: a store, and the contact list it was filled from.
struct DemoPlace: Sendable {
    /// The absolute path of the store.
    let directory: String

    var contactsFile: String { directory + "/contacts.json" }

    /// Makes the folder `path`, or takes it if it is there and empty; `nil`: a new one for temporary files.
    ///
    /// - Throws: `unusableRoot`, with nothing touched, if something else is there or the folder cannot be made.
    init(keep path: String?) throws(AvatarStoreError) {
        if let path {
            directory = URL(fileURLWithPath: path).standardizedFileURL.path
        } else {
            let name = "avatars-demo-" + String(UInt32.random(in: 0x1000_0000 ... .max), radix: 16)
            directory = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
        }
        do {
            guard try !Self.isThere(directory) else { return }
            try FileManager.default.createDirectory(
                atPath: directory,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch let error as AvatarStoreError {
            throw error
        } catch {
            throw AvatarStoreError(
                .unusableRoot,
                "\(directory) cannot be used for the demo: \(error.localizedDescription)",
                underlying: error
            )
        }
    }

    /// Whether the folder is there already.
    ///
    /// - Throws: `unusableRoot` if it is not empty, or no folder.
    private static func isThere(_ path: String) throws -> Bool {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else { return false }
        guard isDirectory.boolValue else {
            throw AvatarStoreError(.unusableRoot, "\(path) is a file; the demo needs a folder that is empty or new.")
        }
        guard try FileManager.default.contentsOfDirectory(atPath: path).isEmpty else {
            throw AvatarStoreError(.unusableRoot, "\(path) is not empty; the demo needs a folder that is empty or new.")
        }
        return true
    }

    /// Writes the contact list as an address book would export it.
    func writeContacts(_ people: [Person], _ origins: Origins) throws {
        let records = people.map { Record(id: $0.id, name: $0.name, avatarURL: origins.url(of: $0)) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try encoder.encode(records).write(to: URL(fileURLWithPath: contactsFile))
    }

    private struct Record: Encodable {
        let id: String
        let name: String
        /// Left out for a person without a picture.
        let avatarURL: String?
    }
}
