import AvatarCore
import Foundation
import Testing

@testable import AvatarContacts

/// Lists in LDIF (RFC 2849).
@Suite(.timeLimit(.minutes(5)))
struct LDIFListTests {
    private static let samples = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/Samples/"

    private static func contacts(_ text: String) async throws -> [Contact] {
        try await ContactList.of(text, as: .ldif).records().compactMap { record in
            guard case .contact(let contact) = record else {
                Issue.record("\(record)")
                return nil
            }
            return contact
        }
    }

    private static func reason(_ text: String) async throws -> String? {
        let records = try await ContactList.of(text, as: .ldif).records()
        guard records.count == 1, case .unreadable(_, let reason, _, _)? = records.first else { return nil }
        return reason
    }

    /// As `ldapsearch` of OpenLDAP 2.5 has printed it, with comments and the result of the search.
    @Test func answerOfOpenLDAPIsRead() async throws {
        let list = try ContactList.open(file: Self.samples + "openldap.ldif")
        let photo = try #require(FileManager.default.contents(atPath: Self.samples + "ada.jpg"))
        #expect(try list.validate() == 3)

        var contacts: [Contact] = []
        for try await case .contact(let contact) in list { contacts.append(contact) }

        #expect(contacts.map(\.name) == ["Ada", "Bjørn Sørensen", "Zoë O, Müller"])
        #expect(contacts[0].emails == ["ada@example.org", "countess@example.org"])
        #expect(contacts[0].id == "81b90f8a-7ee8-1041-806a-c1f573ccb1a9")
        guard case .photo(let found)? = contacts[0].images.first else {
            Issue.record("\(contacts[0].images)")
            return
        }
        #expect(found.bytes == Array(photo) && found.number == 1)
        #expect(contacts[1].images.isEmpty && contacts[2].images.isEmpty)
    }

    @Test(arguments: [
        ("entryUUID: e-1\nobjectGUID:: AAECAwQFBgcICQoLDA0ODw==\nuid: u", "e-1"),
        ("objectGUID:: AAECAwQFBgcICQoLDA0ODw==\nuid: u", "03020100-0504-0706-0809-0a0b0c0d0e0f"),
        ("UID: u", "u"), ("uid;lang-en: u", "u"), ("mail: a@b.example", "uid=x,dc=example"),
    ])
    func idIsTheMostLastingOne(attributes: String, id: String) async throws {
        let contacts = try await Self.contacts("dn: uid=x,dc=example\n\(attributes)\n")
        #expect(contacts.map(\.id) == [id])
    }

    @Test func linesAreFolded_andCommentsAndLineEndsDoNotMatter() async throws {
        let text =
            "version: 1\r\n# a comment\r\n  that goes on\r\ndn: uid=a\r\n ,dc=x\r\nuid: a\r\ncn: A\r\n da \r\n\r\n\r\n"
        #expect(try await Self.contacts(text).map(\.name) == ["Ada"])
        #expect(try await Self.contacts("dn: uid=a\nuid: a\ncn: A\n#x\n da\n").map(\.name) == ["A"])
    }

    @Test func photosComeInTheirOrder_andOneThatCannotBeDecodedKeepsItsNumber() async throws {
        let text = "dn: uid=a\nuid: a\njpegPhoto;binary:: AQ==\njpegPhoto:: ***=\nphoto:: Aw==\nthumbnailPhoto:: Ag==\n"
        let images = try await Self.contacts(text)[0].images
        #expect(
            images.map { image -> [UInt8]? in
                if case .photo(let photo) = image { photo.bytes } else { nil }
            } == [[1], nil, [2], [3]]
        )
        guard case .unreadable(let broken) = images[1] else { return }
        #expect(broken.number == 2 && broken.reason == "`jpegPhoto` is not base64: it contains `*`")
    }

    /// A list must not make the program read files.
    @Test func filesThatValuesNameAreNotRead() async throws {
        let text = "dn: uid=a\nuid: a\njpegPhoto:< file://\(Self.samples)ada.jpg\n"
        guard case .unreadable(let image)? = try await Self.contacts(text)[0].images.first else {
            Issue.record("the file was read")
            return
        }
        #expect(image.reason == "`jpegPhoto` is a reference to a file, which is not read")
        #expect(
            try await Self.reason("dn:< file:///etc/passwd\n") == "`dn` is a reference to a file, which is not read"
        )
    }

    @Test func changesAreUnreadable_andTheRestGoesOn() async throws {
        let text = "dn: uid=a\nchangetype: modify\nreplace: cn\ncn: B\n-\n\ndn: uid=b\nchangetype: add\nuid: b\n"
        let records = try await ContactList.of(text, as: .ldif).records()
        #expect(records.count == 2 && records.map(\.id) == [nil, "b"])
        let reason = try await Self.reason("dn: uid=a\nchangetype: modify\nadd: cn\ncn: z\n-\n")
        #expect(reason?.contains("is a change (`changetype: modify`)") == true)
    }

    @Test func recordWithoutADNIsUnreadable() async throws {
        let records = try await ContactList.of("dn: uid=a\nuid: a\n\nuid: b\n\nref: ldap://other\n", as: .ldif)
            .records()
        #expect(records.map(\.id) == ["a", nil])
    }

    @Test(arguments: ["<html>\n", "{\"id\": 1}\n", "BEGIN:VCARD\nEND:VCARD\n", "no colon\n", "uid: a\n"])
    func anotherFormatIsNotLDIF(text: String) throws {
        #expect(try ContactList.of(text, as: .ldif).fault()?.contains("this is not LDIF") == true)
    }

    @Test func emptyListHasNoContact() async throws {
        for text in ["", "\n\n", "version: 1\n", "# comment\nsearch: 2\nresult: 0 Success\n"] {
            #expect(try ContactList.of(text, as: .ldif).validate() == 0)
        }
    }

    /// As a server with a limit ends a search.
    @Test func searchWithoutAllEntriesIsUnreadable() throws {
        let text = "dn: uid=a\nuid: a\n\n# search result\nsearch: 2\nresult: "
        #expect(try ContactList.of(text + "0 Success\n", as: .ldif).fault() == nil)
        let fault = try ContactList.of(text + "4 Size limit exceeded\n", as: .ldif).fault()
        #expect(fault?.contains("did not return all entries: its result is `4 Size limit exceeded`") == true)
    }

    /// A pruning sync of half a list would unlink the other half.
    @Test func listThatIsCutWithinAPhotoIsUnreadable() throws {
        let text = "dn: uid=a\nuid: a\njpegPhoto:: /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBw\n cJCQ"
        #expect(try ContactList.of(text + "gK\n", as: .ldif).fault() == nil)
        #expect(try ContactList.of(text, as: .ldif).fault()?.contains("cut short") == true)
    }

    @Test func entryOverTheLimitIsUnreadable() async throws {
        let photo = String(repeating: "AAAA\n ", count: 30)
        let text = "dn: uid=a\nuid: a\njpegPhoto:: \(photo)\n\ndn: uid=b\nuid: b\n"
        func ids(limit: Int) throws -> [String?] {
            let source = ListSource(name: "people", bytes: Array(text.utf8))
            var splitter = LDIFSplitter(cursor: ListCursor(source: source), limit: limit)
            var earlier = EarlierRecords()
            var ids: [String?] = []
            while let record = try splitter.next() { ids.append(record.contact(after: &earlier).id) }
            return ids
        }
        #expect(try ids(limit: 100) == [nil, "b"])
        #expect(try ids(limit: 1000) == ["a", "b"])
    }
}
