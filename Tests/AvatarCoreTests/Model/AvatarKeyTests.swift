import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct AvatarKeyTests {
    @Test func namesAnOwnImage() throws {
        let key = try AvatarKey(name: "Anna Bell/#1")

        #expect(key.rawValue == "name:Anna Bell/#1")
        #expect(key.isOwnImage)
        #expect(!key.isURL)
        #expect(key.host == nil)
    }

    @Test(arguments: [
        ("7", 1, "contact:7"),
        ("7", 2, "contact:7#2"),
        ("a#2", 1, "contact:a#2#1"),
        ("a#2", 3, "contact:a#2#3"),
        ("a#02", 1, "contact:a#02"),
        ("a#0", 1, "contact:a#0"),
        ("a#", 1, "contact:a#"),
        ("#2", 1, "contact:#2#1"),
    ])
    func numbersThePhotosOfAContact(_ id: String, _ number: Int, _ expected: String) throws {
        let key = try AvatarKey(contact: id, number: number)

        #expect(key.rawValue == expected)
        #expect(key.isOwnImage)
        #expect(try AvatarKey(parsing: expected) == key)
    }

    @Test func keepsPhotosOfDifferentContactsApart() throws {
        #expect(try AvatarKey(contact: "a#2") != AvatarKey(contact: "a", number: 2))
        #expect(try AvatarKey(contact: "a#2#1") != AvatarKey(contact: "a#2"))
        #expect(try AvatarKey(contact: "x") != AvatarKey(name: "x"))
    }

    @Test(arguments: [
        ("https://A.example:443/p#f", "https://a.example/p"),
        (" HTTP://a.example", "http://a.example/"),
        ("name:Anna", "name:Anna"),
        ("name:\u{301}", "name:\u{301}"),
        ("contact:7", "contact:7"),
        ("contact:7#1", "contact:7"),
        ("contact:7#2", "contact:7#2"),
        ("person-7", "person-7"),
        ("s3://bucket/key", "s3://bucket/key"),
        ("Name:Anna", "Name:Anna"),
        ("https", "https"),
        ("httpd:1", "httpd:1"),
    ])
    func readsKeysAsUsersTypeThem(_ text: String, _ expected: String) throws {
        #expect(try AvatarKey(parsing: text).rawValue.utf8.elementsEqual(expected.utf8))
    }

    @Test(arguments: ["https:", "http:a", "HTTPS://", "https://a@b.example/"])
    func readsABadURLAsABadURL(_ text: String) throws {
        let error = try #require(throws: AvatarStoreError.self) { try AvatarKey(parsing: text) }

        #expect(error.code == .unsupportedURL)
    }

    @Test(arguments: [
        "", "name:", "contact:", "name:a\u{0}", "contact:a\u{0}b", "contact:#2", "a\nb", "a\u{7F}",
        "name:" + String(repeating: "é", count: 513), String(repeating: "a", count: 1_025),
    ])
    func refusesInvalidKeys(_ text: String) throws {
        let error = try #require(throws: AvatarStoreError.self) { try AvatarKey(parsing: text) }

        #expect(error.code == .invalidKey)
        #expect(error.message.utf8.count < 200)
    }

    @Test func takesNamesUpToTheLimit() throws {
        #expect(try AvatarKey(name: String(repeating: "é", count: 512)).rawValue.utf8.count == 1_029)
        #expect(try AvatarKey(custom: String(repeating: "a", count: 1_024)).rawValue.utf8.count == 1_024)
    }

    @Test func takesNoContactPhotoBelowNumberOne() {
        #expect(throws: AvatarStoreError.self) { try AvatarKey(contact: "7", number: 0) }
    }

    @Test(arguments: ["name:a", "contact:a", "http://a.example/", " https:x", "HTTPS:"])
    func refusesAnOwnKeyThatReadsLikeAnotherKind(_ text: String) throws {
        let error = try #require(throws: AvatarStoreError.self) { try AvatarKey(custom: text) }

        #expect(error.code == .invalidKey)
    }

    @Test func comparesKeysInFull() throws {
        let long = "https://a.example/" + String(repeating: "a", count: 1_000)

        #expect(try AvatarKey(url: long + "1") == AvatarKey(url: " \(long)1"))
        #expect(try AvatarKey(url: long + "1") != AvatarKey(url: long + "2"))
        #expect(try AvatarKey(url: long) != AvatarKey(url: long + "1"))
        #expect(try AvatarKey(url: long + "?a") != AvatarKey(url: long + "?A"))
    }

    @Test func comparesByBytesAndNotByLook() throws {
        let composed = try AvatarKey(name: "\u{E9}")
        let decomposed = try AvatarKey(name: "e\u{301}")

        #expect(composed.rawValue == decomposed.rawValue, "Swift calls these strings equal")
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
    }

    @Test(arguments: [
        ("https://a.example/p", "a.example:443"),
        ("http://a.example/p", "a.example:80"),
        ("https://a.example:8443/p", "a.example:8443"),
        ("http://[::1]/", "[::1]:80"),
        ("http://[::1]:8080/", "[::1]:8080"),
    ])
    func namesHostAndPort(_ url: String, _ expected: String) throws {
        let host = try #require(try AvatarKey(url: url).host)

        #expect(host.description == expected)
        #expect(HostName(expected) == host)
    }

    @Test(arguments: ["", "a", ":80", "a:", "a:b"])
    func readsNoHostWithoutNameAndPort(_ text: String) {
        #expect(HostName(text) == nil)
    }
}
