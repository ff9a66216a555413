import AvatarContacts
import AvatarCore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct VCardPhotoTests {
    private static let gif = "GIF87a"
    private static let base64 = Data(gif.utf8).base64EncodedString()

    private static func image(_ line: String, version: String = "3.0") async throws -> ContactImage? {
        let images = try await ContactList.card("UID:1", line, version: version).contact().images
        #expect(images.count <= 1)
        return images.first
    }

    @Test(arguments: [
        "PHOTO:https://example.com/a.jpg", "PHOTO;VALUE=URI:https://example.com/a.jpg",
        "PHOTO;VALUE=uri;TYPE=JPEG:https://example.com/a.jpg", "PHOTO;URL:https://example.com/a.jpg",
        "PHOTO;VALUE=URL;TYPE=GIF: https://example.com/a.jpg ", "photo;value=\"uri\":https://example.com/a.jpg",
        "item1.PHOTO:https\\://example.com/a.jpg", "a.b.c.PHOTO;MEDIATYPE=image/jpeg:https://example.com/a.jpg",
        "PHOTO;ENCODING=b;TYPE=JPEG:https://example.com/a.jpg",
        "PHOTO;ENCODING=QUOTED-PRINTABLE:https://example=2Ecom/a.=\r\njpg",
        "PHOTO;X-A=\"a:b;c=d\":https://example.com/a.jpg", "PHOTO;X-A=a^'b^nc;VALUE=uri:https://example.com/a.jpg",
        "PHOTO;X-A=\"open:https://example.com/a.jpg", "PHOTO ; VALUE = uri :https://example.com/a.jpg",
    ])
    func photoAtAURL(line: String) async throws {
        #expect(try await Self.image(line) == .url("https://example.com/a.jpg"))
    }

    @Test(arguments: [
        ("PHOTO:https://example.com/a\\,b\\;c\\\\d", "https://example.com/a,b;c\\d"),
        ("PHOTO:https://example.com/my photo.png", "https://example.com/my photo.png"),
        ("PHOTO:https://example.com/é", "https://example.com/é"), ("PHOTO;VALUE=uri:ada.png", "ada.png"),
        ("PHOTO:/photos/ada.png", "/photos/ada.png"), ("PHOTO:C:\\photos\\ada.png", "C:\\photos\\ada.png"),
        ("PHOTO;VALUE=uri:file:///home/ada/a.png", "file:///home/ada/a.png"), ("PHOTO;VALUE=CID:cid:a@b", "cid:a@b"),
    ])
    func urlIsKeptAsTheCardSpellsIt(line: String, url: String) async throws {
        #expect(try await Self.image(line) == .url(url))
    }

    @Test(arguments: [
        "PHOTO;ENCODING=b;TYPE=GIF:\(base64)", "PHOTO;ENCODING=\"b\";TYPE=\"gif\":\(base64)",
        "PHOTO;BASE64;GIF:\(base64)", "PHOTO;GIF;ENCODING=BASE64:\(base64)", "PHOTO;BASE64=:\(base64)",
        "PHOTO;TYPE=GIF:\(base64)", "PHOTO:\(base64)", "PHOTO;VALUE=URI:\(base64)",
        "PHOTO:data:image/gif;base64,\(base64)",
        "PHOTO;VALUE=URI:data:image/gif;base64\\,\(base64)", "PHOTO;VALUE=uri:DATA:image/gif;x=y;BASE64,\(base64)",
        "PHOTO;ENCODING=b;TYPE=GIF:data:image/gif;base64,\(base64)", "PHOTO:data:;base64,\(base64)",
        "PHOTO:data:image/gif,GIF87a", "PHOTO:data:image/gif,%47%49F8%37a", "PHOTO:data:,GIF87%61",
        "PHOTO:data:image/gif;base64,R0lGODdh%0D%0A", "PHOTO:data:image/gif;base64 ,R0lG ODdh",
        "PHOTO;VALUE=uri:da\r\n ta:image/gif;bas\r\n e64,R0lG\r\n ODdh",
    ])
    func embeddedPhoto(line: String) async throws {
        #expect(try await Self.image(line) == .photo(ContactPhoto(bytes: Array(Self.gif.utf8), line: 4)))
    }

    @Test(arguments: [
        ("QQ==", "A"), ("QUI=", "AB"), ("QUJD", "ABC"), ("QQ", "A"), ("QUI", "AB"), ("Q U\tI =", "AB"), ("QR==", "A"),
        ("QUJDRA==", "ABCD"), ("Pz8/Pj4+", "???>>>"),
    ])
    func base64WithAndWithoutPadding(base64: String, text: String) async throws {
        #expect(try await Self.image("PHOTO;ENCODING=b:\(base64)")?.bytes == Array(text.utf8))
    }

    @Test(arguments: [
        "PHOTO:", "PHOTO;ENCODING=b;TYPE=JPEG:", "PHOTO;VALUE=uri:  ", "PHOTO;ENCODING=b:\r\n  \r\n", "PHOTO:data:,",
        "PHOTO:data:image/gif;base64,", "PHOTO;ENCODING=b:====",
        "PHOTO;CHARSET=UTF-16;ENCODING=QUOTED-PRINTABLE:=FE=FF",
    ])
    func emptyPhotoIsNoImage(line: String) async throws {
        #expect(try await Self.image(line) == nil)
    }

    @Test(arguments: [
        ("PHOTO;ENCODING=b:AAAAA", "is base64 that is cut short: one digit is left over"),
        ("PHOTO;ENCODING=b:AA!A", "is not base64: it contains `!`"),
        ("PHOTO;ENCODING=b:AA==AAAA", "is not base64: it continues after its padding"),
        ("PHOTO;ENCODING=BASE64:ada.png", "is not base64: it contains `.`"),
        ("PHOTO:data:image/png;base64", "is a `data:` URI without a comma before its data"),
        ("PHOTO:data:image/png;base64,A?AA", "is not base64: it contains `?`"),
        ("PHOTO:data:image/gif,%4", "is a `data:` URI with a `%` without two hexadecimal digits"),
        ("PHOTO:data:image/gif,%zz", "is a `data:` URI with a `%` without two hexadecimal digits"),
    ])
    func brokenPhotoIsKeptAsUnreadable(line: String, problem: String) async throws {
        let fault = UnreadableContactImage(number: 1, line: 4, reason: "`PHOTO` in line 4 \(problem)")

        #expect(try await Self.image(line) == .unreadable(fault))
    }

    @Test func urlOver64KiBIsUnreadable() async throws {
        let long = "https://example.com/" + String(repeating: "a", count: 65_536)
        let fault = UnreadableContactImage(
            number: nil,
            line: 4,
            reason: "`PHOTO` in line 4 is longer than the limit of 64 KiB"
        )

        #expect(try await Self.image("PHOTO:\(long)") == .unreadable(fault))
    }

    @Test func preferredPhotoComesFirst() async throws {
        let four = ContactList.card(
            "UID:1",
            "PHOTO:https://example.com/none",
            "PHOTO;PREF=20:https://example.com/20",
            "PHOTO;PREF=\"3\":https://example.com/3",
            "PHOTO;PREF=101:https://example.com/wrong",
            "PHOTO;PREF=20:https://example.com/20b",
            version: "4.0"
        )
        let three = ContactList.card(
            "UID:1",
            "PHOTO:https://example.com/a",
            "PHOTO;TYPE=JPEG,pref:https://example.com/b",
            "PHOTO;TYPE=pref;VALUE=uri:https://example.com/c"
        )
        let two = ContactList.card(
            "UID:1",
            "PHOTO;URL:https://example.com/a",
            "PHOTO;PREF;URL:https://example.com/b",
            version: "2.1"
        )

        #expect(
            try await four.contact().images.map(\.url)
                == ["3", "20", "20b", "none", "wrong"].map { "https://example.com/\($0)" }
        )
        #expect(
            try await three.contact().images.map(\.url) == ["b", "c", "a"].map { "https://example.com/\($0)" }
        )
        #expect(try await two.contact().images.map(\.url) == ["b", "a"].map { "https://example.com/\($0)" })
    }

    @Test func embeddedPhotosAreNumbered_unreadableOnesToo() async throws {
        let contact = try await ContactList.card(
            "UID:ada",
            "PHOTO;ENCODING=b:\(Self.base64)",
            "PHOTO:https://example.com/a",
            "PHOTO;TYPE=pref;ENCODING=b:!",
            "PHOTO;ENCODING=b:QQ=="
        ).contact()

        #expect(contact.avatarURL == "https://example.com/a")
        let photos = contact.images.compactMap { image -> ContactPhoto? in
            guard case .photo(let photo) = image else { return nil }
            return photo
        }
        #expect(photos.map(\.number) == [2, 3])
        #expect(photos.map(\.line) == [4, 7])
        #expect(
            try photos.map { try AvatarKey(contact: contact.id, number: $0.number).rawValue } == [
                "contact:ada#2", "contact:ada#3",
            ]
        )
    }

    @Test func logosComeAfterPhotos_onlyIfIncluded() async throws {
        var list = ContactList.card(
            "UID:1",
            "LOGO;ENCODING=b:QQ==",
            "LOGO;TYPE=pref:https://example.com/logo",
            "PHOTO:https://example.com/a"
        )
        #expect(try await list.contact().images == [.url("https://example.com/a")])

        list.includesLogos = true

        let logos: [ContactImage] = [
            .url("https://example.com/logo"), .photo(ContactPhoto(bytes: [65], line: 4)),
        ]
        #expect(try await list.contact().images == [.url("https://example.com/a")] + logos)
    }
}
