import AvatarContacts
import AvatarCore
import Testing

/// Lists of other systems: names in parts, fields that the caller names, images in the list itself.
@Suite(.timeLimit(.minutes(5)))
struct AnyListTests {
    /// The bytes of `hi`, as RFC 2397 writes them.
    private static let data = "data:image/png;base64,aGk="

    private static func contact(
        _ object: String,
        _ columns: [ContactList.Column: [String]] = [:]
    ) async throws -> Contact? {
        var list = ContactList.of(object, as: .ndjson)
        list.columns = columns
        guard case .contact(let contact)? = try await list.records().first else { return nil }
        return contact
    }

    private static func reason(_ object: String, _ columns: [ContactList.Column: [String]]) async throws -> String? {
        var list = ContactList.of(object, as: .ndjson)
        list.columns = columns
        return try await list.records().first?.unreadableReason
    }

    // MARK: Names

    @Test(arguments: [
        (#""firstName":"Ada","lastName":"Nowak""#, "Ada Nowak"),
        (#""last_name":"Nowak","first_name":"Ada""#, "Ada Nowak"),
        (#""surname":"Nowak","givenName":" Ada ","name":" ""#, "Ada Nowak"),
        (#""fullName":"Ada N.","firstName":"Ada""#, "Ada N."),
        (#""name":"Ada","lastName":"Nowak""#, "Ada"),
        (#""displayName":"A. Nowak","company":"Example""#, "A. Nowak"),
        (#""company":"Example","organization":{"name":"x"},"firstName":7"#, "Example"),
        (#""name":null,"Given-Name":"Zo\u00eb","familyName":"""#, "Zo\u{eb}"),
    ])
    func nameComesFromItsParts(members: String, name: String) async throws {
        #expect(try await Self.contact("{\"id\":1,\(members)}")?.name == name)
    }

    @Test func fieldsThatAreNoTextsGiveNoName() async throws {
        #expect(try await Self.contact(#"{"id":1,"firstName":["Ada"],"nickname":null,"surname":{}}"#)?.name == nil)
        #expect(try await Self.contact(#"{"id":1,"name":""}"#)?.name == "")
    }

    // MARK: Fields that the caller names

    @Test func namedFieldsTakeThePlaceOfKnownOnes() async throws {
        let columns: [ContactList.Column: [String]] = [
            .id: ["Employee-Number"], .name: ["first", "last"], .email: ["work", "home"], .photo: ["portrait"],
        ]
        let contact = try await Self.contact(
            """
            {"employee_number": 7, "id": 1, "name": "x", "first": "Ada", "last": "Nowak", "email": "no@a.example", \
            "work": "ada@a.example", "home": [{"value": "ada@b.example"}], "photo": "https://a.example/no", \
            "portrait": "https://a.example/ada"}
            """,
            columns
        )
        let expected = Contact(
            id: "7",
            name: "Ada Nowak",
            avatarURL: "https://a.example/ada",
            emails: ["ada@a.example", "ada@b.example"]
        )
        #expect(contact == expected)
        #expect(try await Self.reason(#"{"id":1}"#, columns) == "`Employee-Number` is missing")
        #expect(
            try await Self.reason(#"{"id":1,"portrait":7,"employeeNumber":1}"#, columns)
                == "`portrait` must be a string, not a number"
        )
    }

    @Test(arguments: [
        #"{"id":1,"picture":{"large":"https://a.example/l","small":"https://a.example/s"}}"#,
        #"{"id":1,"picture":[{"large":"https://a.example/l"},{"large":"https://a.example/m"}]}"#,
        #"{"id":1,"picture.large":"https://a.example/l","picture":7}"#,
        #"{"id":1,"Picture":{"LARGE":["https://a.example/l"]}}"#,
    ])
    func pathLeadsIntoObjects(object: String) async throws {
        let contact = try await Self.contact(object, [.photo: ["picture.large"]])
        #expect(contact == Contact(id: "1", avatarURL: "https://a.example/l"))
    }

    @Test(arguments: [#"{"id":1,"picture":7}"#, #"{"id":1,"picture":[]}"#, #"{"id":1}"#, #"{"id":1,"picture":{}}"#])
    func pathToNothingIsNoImage(object: String) async throws {
        #expect(try await Self.contact(object, [.photo: ["picture.large"]]) == Contact(id: "1"))
    }

    // MARK: The address as the id

    @Test(arguments: [
        (#"{"email":"ada@a.example"}"#, "ada@a.example"),
        (#"{"emails":["ada@a.example","b@a.example"]}"#, "ada@a.example"),
        (#"{"email":[{"address":"ada@a.example"}],"id":9}"#, "ada@a.example"),
    ])
    func addressMayBeTheID(object: String, id: String) async throws {
        let contact = try await Self.contact(object, [.id: ["email"]])
        #expect(contact?.id == id && contact?.emails.first == id)
        #expect(try await Self.reason(#"{"id":1}"#, [.id: ["email"]]) == "`email` is missing")
    }

    @Test func addressMayBeTheIDOfARow() async throws {
        let rows = """
            First Name,E-mail 1 - Value,E-mail 2 - Value
            Ada,ada@a.example ::: ada@b.example,ada@c.example
            Bo,,bo@c.example
            Cy,,

            """
        for name in ["email", "E-mail 1 - Value"] {
            var list = ContactList.of(rows, as: .csv)
            list.columns = [.id: [name]]
            let ids = try await list.records().map(\.id)
            #expect(ids[0] == "ada@a.example")
            #expect(name == "email" ? ids[1] == "bo@c.example" : ids[1]?.hasPrefix("row-") == true)
            #expect(ids[2]?.hasPrefix("row-") == true)
        }
    }

    // MARK: Images in the list

    @Test func imageMayBeInTheList() async throws {
        let photo = ContactImage.photo(ContactPhoto(bytes: Array("hi".utf8), line: 1))
        #expect(try await Self.contact("{\"id\":1,\"photo\":\"\(Self.data)\"}")?.images == [photo])
        #expect(try await Self.contact(#"{"id":1,"avatar":" DATA:image\/png;base64,aG%6b= "}"#)?.images.count == 1)
        #expect(try await Self.contact(#"{"id":1,"photo":"data:,hi"}"#)?.images == [photo])
        #expect(try await Self.contact(#"{"id":1,"photo":"data:image/png;base64,"}"#)?.images == [])
        let rows = try await ContactList.of("id,photo\n1,\"\(Self.data)\"\n", as: .csv).records()
        guard case .contact(let row)? = rows.first else { return #expect(Bool(false)) }
        #expect(row.images == [.photo(ContactPhoto(bytes: Array("hi".utf8), line: 2))])
    }

    @Test(arguments: [
        ("data:image/png;base64,a", "the image is base64 that is cut short: one digit is left over"),
        ("data:image/png", "the image is a `data:` URI without a comma before its data"),
        ("data:,%zz", "the image is a `data:` URI with a `%` without two hexadecimal digits"),
    ])
    func damagedImageSaysWhy(uri: String, reason: String) async throws {
        let contact = try await Self.contact("{\"id\":1,\"photo\":\"\(uri)\"}")
        guard case .unreadable(let image)? = contact?.images.first else { return #expect(Bool(false)) }
        #expect(image.reason == reason && image.line == 1)
    }
}
