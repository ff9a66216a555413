import AvatarContacts
import AvatarStore
import Foundation
import Testing

/// The samples in `ContactLists.md`.
@Suite(.timeLimit(.minutes(5)))
struct ContactListSampleTests {
    private static let page = "Sources/AvatarStore/AvatarStore.docc/ContactLists.md"

    @Test func samplesOfAllFormatsAreRead() async throws {
        let page = try Page(Self.page)
        for format in ContactList.Format.allCases {
            let samples = page.examples(in: format.rawValue)
            #expect(!samples.isEmpty, "\(format)")
            for (number, sample) in samples.enumerated() {
                let text = sample.joined(separator: "\n") + "\n"
                let list = ContactList(bytes: Array(text.utf8), format: format)
                var contacts: [Contact] = []
                for try await record in list {
                    guard case .contact(let contact) = record else {
                        Issue.record("\(format): \(record)")
                        continue
                    }
                    contacts.append(contact)
                }
                #expect(contacts.count == 2, "\(format) \(number)")
                // Further samples are lists as other programs export them.
                guard number == 0 else {
                    #expect(contacts.map { $0.name?.prefix(2) } == ["Ad", "Bo"], "\(format) \(number)")
                    continue
                }
                if format == .ldif {
                    #expect(contacts.map(\.images.count) == [1, 0] && contacts[0].avatarURL == nil)
                } else {
                    #expect(contacts.first?.avatarURL == "https://example.org/ada.png")
                }
                guard format != .text else { continue }
                #expect(contacts.map(\.id) == ["42", "43"])
                #expect(contacts.map { $0.name?.prefix(2) } == ["Ad", "Bo"])
                #expect(contacts.map(\.emails) == [["ada@example.org"], []])
            }
        }
    }

    /// The table of formats names all of them with their extensions.
    @Test func tableHasAllFormats() throws {
        let rows = try Page(Self.page).tableRows.filter { $0.count == 3 }
        #expect(Set(rows.map { $0[0].lowercased() }) == Set(ContactList.Format.allCases.map(\.rawValue)))
        for row in rows {
            for name in row[1].quotedWords {
                #expect(ContactList.Format(path: "people" + name)?.rawValue == row[0].lowercased(), "\(name)")
            }
        }
    }
}
