import AvatarContacts
import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
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

    // MARK: Lists without a field for images

    private static func withoutImage(
        _ text: String,
        as format: ContactList.Format
    ) async throws -> ContactList.FieldsWithoutImage? {
        var iterator = ContactList.of(text, as: format).makeAsyncIterator()
        #expect(iterator.fieldsWithoutImage == nil)
        while try await iterator.next() != nil {}
        return iterator.fieldsWithoutImage
    }

    @Test(arguments: [
        ("id;Full Name;;Room\n1;Ada;;7\n", ContactList.Format.csv, ["id", "Full Name", "Room"], false),
        ("id,Work Mail,E-mail Address\n1,,\n", .csv, ["id", "Work Mail", "E-mail Address"], true),
        (#"{"id":1,"n\u0061me":"Ada","Room":{"photo":"7"}}"#, .ndjson, ["id", "Room"], false),
        (#"[{"name":"x"},{"id":1},{"id":2,"email":"a@a.example"}]"#, .json, ["id"], true),
    ])
    func fieldsOfAListWithoutImagesAreNamed(
        text: String,
        format: ContactList.Format,
        names: [String],
        hasEmails: Bool
    ) async throws {
        let fields = try #require(try await Self.withoutImage(text, as: format))

        #expect(fields.names == names && fields.hasEmails == hasEmails)
    }

    @Test(arguments: [
        ("id,Avatar URL\n1,\n", ContactList.Format.csv), ("id,name\n", .csv), ("[]", .json),
        (#"[{"id":1},{"id":2,"Photo":null},{"id":3}]"#, .json), (#"{"id":1,"avatar_url":""}"#, .ndjson),
        (#"{"name":"no id"}"#, .ndjson), ("https://a.example/p\n", .text),
        ("BEGIN:VCARD\nVERSION:4.0\nUID:1\nFN:Ada\nEND:VCARD\n", .vcard),
    ])
    func otherListsHaveNone(text: String, format: ContactList.Format) async throws {
        #expect(try await Self.withoutImage(text, as: format) == nil)
    }

    @Test(arguments: ContactList.imageFieldNames)
    func eachUsualNameOfTheImageIsRead(name: String) async throws {
        let images = Contact(id: "1", avatarURL: "https://a.example/p").images

        #expect(try await ContactList.of("id,\(name)\n1,https://a.example/p\n", as: .csv).contact().images == images)
        #expect(
            try await ContactList.of(#"{"id":1,"\#(name)":"https://a.example/p"}"#, as: .ndjson).contact().images
                == images
        )
    }
}
