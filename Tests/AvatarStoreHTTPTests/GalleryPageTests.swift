import AvatarStore
import AvatarStoreTesting
import Foundation
import HTTPTypes
import Testing

@testable import AvatarStoreHTTP

/// The pages of the gallery, by number and by letter.
@Suite(.timeLimit(.minutes(5)))
struct GalleryPageTests {
    /// 20,000 contacts: 10,000 Adas, 9,000 Bens, 999 Zoës and the fox.
    private static let people =
        (0..<10_000).map { Contact(id: "a\($0)", name: "Ada \($0 + 10_000)") }
        + (0..<9000).map { Contact(id: "b\($0)", name: "ben Stone\($0)") }
        + (0..<1000).map { Contact(id: "z\($0)", name: $0 == 0 ? "🦊" : "Zoë Quinn\($0)") }

    private func ask(_ path: String, _ fixture: StoreFixture) -> Answer {
        ResponderFixture(store: fixture, responder: AvatarResponder(store: fixture.store)).ask(path)
    }

    /// The ids of the contacts on a page, in their order.
    private func ids(_ text: String) -> [String] {
        text.matches(of: /<a href="\/contacts\/([^"]*)"><img/).map { String($0.1) }
    }

    @Test func twentyThousandContactsHavePagesByNumberAndLetter() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await fixture.store.sync(contacts: Self.people)
            let first = ask("/", fixture).text
            #expect(first.contains("Page 1 of 334, 20,000 contacts"))
            #expect(
                first.contains("<strong aria-current=\"page\">1</strong>")
                    && first.contains("href=\"/?page=334\">334</a>")
            )
            #expect(first.contains("rel=\"next\" href=\"/?page=2\">Next page</a>") && !first.contains("rel=\"prev\""))
            #expect(!first.contains("<script"))
            let letters = first.matches(of: /<a href="([^"]*)">([^ ]) <small>([0-9,]*)<\/small><\/a>/).map {
                "\($0.2) \($0.3) \($0.1)"
            }
            #expect(
                letters == [
                    "A 10,000 /#letter-61", "B 9,000 /?page=167#letter-62", "Z 999 /?page=317#letter-7a",
                    "# 1 /?page=334#letter-1f98a",
                ]
            )

            // Each page that a letter leads to has the first contact with it.
            let ben = ask("/?page=167", fixture).text
            #expect(ben.contains("<li id=\"letter-62\"><a href=\"/contacts/b0\">"))
            let expected: [String] = (9960..<10_000).map { "a\($0)" } + ["b0"]
            #expect(Array(ids(ben).prefix(41)) == expected)
            #expect(ben.contains("rel=\"prev\" href=\"/?page=166\"") && ben.contains("href=\"/?page=165\">165</a>"))
            #expect(ask("/?page=334", fixture).text.contains("<li id=\"letter-1f98a\">"))
            // All pages together have each contact once.
            var all: [String] = []
            for page in 1...334 { all += ids(ask("/?page=\(page)", fixture).text) }
            #expect(all.count == 20_000 && Set(all).count == 20_000)
            for page in ["335", "9223372036854775807"] {
                #expect(ask("/?page=\(page)", fixture).text.contains("There are no more contacts"))
            }
            for page in ["0", "-1", "x", ""] { #expect(ids(ask("/?page=\(page)", fixture).text).first == "a0") }
        }
    }

    @Test func countsFollowTheStore() async throws {
        try await StoreFixture.withStore { fixture in
            let people = (0..<61).map { Contact(id: "\($0)", name: "Ada \($0)") }
            let responder = ResponderFixture(store: fixture, responder: AvatarResponder(store: fixture.store))
            #expect(responder.ask("/").text.contains("The store has no contacts yet"))
            for (count, text) in [(1, "1 contact<"), (60, "60 contacts<"), (61, "Page 1 of 2, 61 contacts<")] {
                _ = try await fixture.store.sync(contacts: Array(people.prefix(count)))
                #expect(responder.ask("/").text.contains(">" + text), "\(text)")
            }
            #expect(!responder.ask("/").text.contains("class=\"letters\""))
            _ = try await fixture.store.remove(contact: "60", erasing: true)
            #expect(responder.ask("/").text.contains(">60 contacts<"))
        }
    }

    @Test func searchFindsAnyWord() async throws {
        try await ResponderFixture.with { fixture in
            let found = fixture.ask("/?query=LOVE").text
            #expect(ids(found) == ["ada"] && found.contains(">1 contact<") && found.contains("value=\"LOVE\""))
            #expect(ids(fixture.ask("/?query=bold+be").text) == ["ben"])
            #expect(fixture.ask("/?query=ove").text.contains("No name has “<bdi>ove</bdi>”"))
            let contacts = try #require(
                try fixture.ask("/contacts?query=co+z").object()["contacts"] as? [[String: Any]]
            )
            #expect(contacts.map { $0["id"] as? String } == [ResponderFixture.oddID])
        }
    }

    /// Images that browsers do not show. A rendition of them is made if the decoder can.
    @Test(arguments: ["heic-still.heic", "tiff-plain.tiff", "jpeg2000-box.jp2"], [false, true])
    func formatThatBrowsersDoNotShowIsARenditionOrInitials(name: String, canDecode: Bool) async throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../AvatarImagesTests/Fixtures/images/\(name)")
        let bytes = try [UInt8](Data(contentsOf: file))
        try await StoreFixture.withStore {
            if canDecode { $0.renditions = SampleMaker() }
        } _: { fixture in
            try await fixture.store.save(bytes, forContact: "ada")
            let responder = AvatarResponder(store: fixture.store, configuration: .init(servesMetadata: true))
            func ask(_ path: String) async -> Answer {
                let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: path)
                return Answer(await responder.respond(to: request))
            }
            let gallery = await ask("/").text
            let source = try #require(gallery.firstMatch(of: /<img src="([^"]*)"/))
            let path = String(source.1).replacing("&amp;", with: "&")

            let shown = await ask(path)
            let page = await ask("/contacts/ada").text
            let withoutSize = await ask("/contacts/ada/picture?placeholder=initials&for=browser")
            let program = await ask("/contacts/ada/picture?placeholder=initials")

            #expect(shown.status == 200)
            #expect(shown.fields[.contentType] == (canDecode ? "image/png" : "image/svg+xml"))
            #expect(withoutSize.fields[.contentType] == "image/svg+xml")
            #expect(page.contains("alt=\"Initials of ada\"") && page.contains("/images/"))
            #expect(program.bytes == bytes)
            let none = await ask("/contacts/ada/picture?for=browser")
            #expect(none.status == 404 && none.text.contains("\"reason\":\"format\""))
            #expect(await ask("/contacts/ada/picture?for=x").status == 400)
        }
    }

    @Test func exportedGalleryShowsInitialsForThem() async throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../AvatarImagesTests/Fixtures/images/tiff-plain.tiff")
        try await StoreFixture.withStore { fixture in
            try await fixture.store.save([UInt8](Data(contentsOf: file)), forContact: "ada")
            try await fixture.store.set(.servesMetadata, to: 1)
            let folder = fixture.directory + "-site"
            defer { try? FileManager.default.removeItem(atPath: folder) }

            _ = try await fixture.store.exportGallery(to: folder)

            let page = try String(contentsOfFile: folder + "/index.html", encoding: .utf8)
            #expect(page.contains("<img src=\"pages/initials-") && !page.contains("<img src=\"avatar"))
        }
    }
}
