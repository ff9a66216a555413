import AvatarContacts
import AvatarCore
import Foundation
import Testing

/// The lists and photos in the folder `Samples`.
enum Sample {
    static func bytes(_ name: String) throws -> [UInt8] {
        let url = try #require(Bundle.module.url(forResource: name, withExtension: nil, subdirectory: "Samples"))
        return Array(try Data(contentsOf: url))
    }

    /// The contacts in the list `name`, whose records must all be readable.
    static func contacts(_ name: String, includesLogos: Bool = false) async throws -> [Contact] {
        var list = ContactList(bytes: try bytes(name), format: .vcard, name: name)
        list.includesLogos = includesLogos
        let records = try await list.records()
        #expect(try list.validate() == records.count)
        return try records.map { try #require($0.contact, "\($0)") }
    }

    static var jpeg: [UInt8] { get throws { try bytes("ada.jpg") } }
    static var gif: [UInt8] { get throws { try bytes("grace.gif") } }
}

extension ContactList {
    /// A list of vCards with these lines.
    static func cards(_ lines: String..., eol: String = "\r\n") -> ContactList {
        .of(lines.map { $0 + eol }.joined(), as: .vcard)
    }

    /// A list of one card with these lines between `VERSION` and `END`.
    static func card(_ lines: String..., version: String = "3.0") -> ContactList {
        let all = ["BEGIN:VCARD", "VERSION:\(version)"] + lines + ["END:VCARD"]
        return .of(all.map { $0 + "\r\n" }.joined(), as: .vcard)
    }

    /// A list of one card with these lines of bytes.
    static func card(_ lines: [[UInt8]], version: String = "2.1") -> ContactList {
        let all = [Array("BEGIN:VCARD\r\nVERSION:\(version)".utf8)] + lines + [Array("END:VCARD".utf8)]
        return ContactList(bytes: all.flatMap { $0 + Array("\r\n".utf8) }, format: .vcard, name: "people")
    }

    /// The only record of the list.
    func record() async throws -> ContactRecord {
        let records = try await records()
        #expect(records.count == 1)
        return try #require(records.first)
    }

    /// The only contact of the list.
    func contact() async throws -> Contact {
        let record = try await record()
        return try #require(record.contact, "\(record)")
    }
}

extension ContactRecord {
    /// The contact; `nil` if the record is unreadable.
    var contact: Contact? {
        guard case .contact(let contact) = self else { return nil }
        return contact
    }
}

extension ContactImage {
    /// The bytes of an embedded photo; `nil` for any other image.
    var bytes: [UInt8]? {
        guard case .photo(let photo) = self else { return nil }
        return photo.bytes
    }

    /// The reason of an unreadable image; `nil` for any other image.
    var reason: String? {
        guard case .unreadable(let image) = self else { return nil }
        return image.reason
    }
}
