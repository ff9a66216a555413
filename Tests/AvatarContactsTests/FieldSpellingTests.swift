import AvatarContacts
import AvatarCore
import Testing

struct FieldSpellingTests {
    @Test(arguments: [
        #"{"ID":"1","NAME":"Ada","AvatarUrl":"https://a.example/p","E_Mail":"a@a.example"}"#,
        #"{"Id":"1","name":"Ada","avatar-url":"https://a.example/p","emails":["a@a.example"]}"#,
        #"{"i_d":"1","Name":"Ada","PHOTO":"https://a.example/p","e-mails":{"a":[1,"]"]},"eMail":["a@a.example"]}"#,
        #" {"x":{"id":7,"image":[{"id":"\""}]},"id":"1","ID":2,"_name_":"Ada","Picture":"https://a.example/p","#
            + #""Email":"a@a.example"} "#,
    ])
    func fieldsAreReadInAnySpelling(object: String) async throws {
        let ada = Contact(id: "1", name: "Ada", avatarURL: "https://a.example/p", emails: ["a@a.example"])

        #expect(try await ContactList.of(object + "\n", as: .ndjson).contact() == ada)
        #expect(try await ContactList.of("[\(object)]", as: .json).contact() == ada)
    }

    @Test func theUsualSpellingWins() async throws {
        let ids = #""ID":"2","id":"1""#
        let images = #""Avatar_URL":"https://a.example/2","avatarURL":null,"lowdataurl":"https://a.example/s""#

        let contact = try await ContactList.of("{\(ids),\(images)}", as: .ndjson).contact()

        #expect(contact.id == "1" && contact.images.isEmpty)
        #expect(contact.lowDataURL == "https://a.example/s")
    }

    @Test(arguments: [
        (#"{"ID":true}"#, "`ID` must be a string or a number, not a boolean"),
        (#"{"id":"1","Photo":7}"#, "`Photo` must be a string, not a number"),
        (#"{"_id_":null}"#, "`id` is missing"), (#"{"ids":"1"}"#, "`id` is missing"),
    ])
    func faultNamesTheFieldAsTheListSpellsIt(object: String, reason: String) async throws {
        #expect(try await ContactList.of(object, as: .ndjson).record() == .unreadable(line: 1, reason: reason))
    }

    @Test func recordsOfOneListMayDiffer() async throws {
        let lines = [#"{"ID":"1"}"#, #"{"id":"2","ID":"x"}"#, #"{"Id":"3"}"#, #"{"id":"4"}"#]

        let ids = try await ContactList.of(lines.joined(separator: "\n"), as: .ndjson).records().map(\.id)

        #expect(ids == ["1", "2", "3", "4"])
    }

    // MARK: Fields that are not read

    private static func unread(_ text: String, as format: ContactList.Format = .ndjson) async throws -> String? {
        var iterator = ContactList.of(text, as: format).makeAsyncIterator()
        #expect(iterator.unreadImageField == nil)
        while try await iterator.next() != nil {}
        return iterator.unreadImageField
    }

    @Test(arguments: [
        "portraitUrl", "profile_image_url", "Thumbnail", "iconLink", "companyLogo", "photos", "url", "profileURL",
    ])
    func imageUnderAnotherNameIsNoticed(name: String) async throws {
        #expect(try await Self.unread(#"{"id":1,"\#(name)":"https:\/\/a.example\/p"}"#) == name)
        #expect(try await Self.unread(#"{"id":1,"\#(name)": "HTTP://a.example"}"#) == name)
        #expect(try await Self.unread("id,\(name)\n1,\n2,https://a.example/p\n", as: .csv) == name)
    }

    @Test(arguments: [
        #"{"id":1,"website":"https://a.example"}"#, #"{"id":1,"portraitUrl":"ada.png"}"#,
        #"{"id":1,"portraitUrl":["https://a.example"]}"#, #"{"id":1,"x":{"portraitUrl":"https://a.example"}}"#,
        #"{"id":1,"avatarURL":"https://a.example","logo":"https://a.example/l"}"#,
        #"{"id":1,"url":"https://a.example"}"# + "\n" + #"{"id":2,"photo":"https://a.example/p"}"#,
        #"{"id":1,"AVATAR":"https://a.example"}"#,
    ])
    func otherFieldsAreNot(text: String) async throws {
        #expect(try await Self.unread(text) == nil)
    }

    @Test func theFirstFieldWithAWordForAnImageIsNamed() async throws {
        let lines = [
            #"{"id":1,"html_url":"https://a.example"}"#, #"{"id":2,"avatar":"https://a.example"}"#,
            #"{"id":3,"iconURL":"https://a.example","logo":"https://a.example"}"#,
        ]

        #expect(try await Self.unread(lines.joined(separator: "\n")) == "iconURL")
    }
}
