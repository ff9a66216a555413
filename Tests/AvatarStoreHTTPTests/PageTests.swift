import AvatarStore
import AvatarStoreTesting
import Foundation
import HTTPTypes
import Testing

@testable import AvatarStoreHTTP

/// The pages for people, as a server gives them.
@Suite(.timeLimit(.minutes(5)))
struct PageTests {
    /// A store with the hostile contacts: their images have hostile paths, ETags and fields.
    static func withHostileStore(_ body: (StoreFixture) async throws -> Void) async throws {
        try await StoreFixture.withStore { fixture in
            let shared = fixture.serve(
                SampleImage.png(seed: 1, byteCount: 900),
                at: "/'%3Ci%3E&shared.png",
                etag: "\"<i>'&\""
            )
            let contacts = HostileContacts.ids.enumerated().map { number, id in
                let own = SampleImage.png(seed: UInt64(number), byteCount: 700 + number)
                let url = [
                    shared, nil, fixture.serve(own, at: "/\(number)/%3Cimg%20src=x%3E.png", etag: "W/\"&<x>\""),
                    fixture.origin.url("/missing/<s>\(number)"),
                ][number % 4]
                return Contact(id: id, name: HostileContacts.name(number), avatarURL: url)
            }
            _ = try await fixture.store.sync(contacts: contacts)
            try await body(fixture)
        }
    }

    @Test func hostileTextStaysText() async throws {
        try await Self.withHostileStore { fixture in
            let responder = AvatarResponder(store: fixture.store)
            func page(_ path: String) -> Answer {
                ResponderFixture(store: fixture, responder: responder).ask(path)
            }

            let gallery = page("/")
            PageText(text: gallery.text).expectSafe("gallery")
            #expect(gallery.text.components(separatedBy: "<li>").count == HostileContacts.ids.count + 1)
            for id in HostileContacts.ids {
                let answer = page(AvatarResponder.detailPath(id))
                #expect(answer.status == 200, "\(id)")
                PageText(text: answer.text).expectSafe(id)
            }
            for name in HostileContacts.names.compactMap(\.self) {
                PageText(text: page("/?query=" + RequestTarget.encoded(name)).text).expectSafe(name)
            }
        }
    }

    /// The cards of the gallery for a stored image with a rendition, for one without, and for an evicted image.
    static func withStandIns(_ body: (StoreFixture) async throws -> Void) async throws {
        try await StoreFixture.withStore {
            $0.renditions = SampleMaker()
        } _: { fixture in
            let urls = (0..<2).map {
                fixture.serve(SampleImage.png(seed: UInt64($0), byteCount: 4000), at: "/\($0).png")
            }
            _ = try await fixture.store.sync(contacts: [
                Contact(id: "ada", name: "Ada", avatarURL: urls[0]),
                Contact(id: "ben", name: "Ben", avatarURL: urls[1]),
            ])
            _ = try await fixture.store.file(for: urls[0], options: FetchOptions(rendition: Rendition(size: 32)))
            try await body(fixture)
        }
    }

    @Test func galleryImageHasItsBackgroundColour() async throws {
        try await Self.withStandIns { fixture in
            let responder = AvatarResponder(store: fixture.store)
            func gallery() -> Answer { ResponderFixture(store: fixture, responder: responder).ask("/") }

            let answer = gallery()
            #expect(answer.text.components(separatedBy: " style=\"background:#6d7274\"").count == 2)
            #expect(answer.text.components(separatedBy: " style=").count == 2)
            #expect(answer.fields[.contentSecurityPolicy]?.contains("; style-src-attr 'unsafe-inline';") == true)

            try await fixture.store.trim(to: 0)
            // Initials replace it now, and have their own colour.
            #expect(!gallery().text.contains(" style="))
        }
    }

    @Test(
        arguments: [
            nil, [1, 2, 3],
            [
                // With transparent parts, behind which the colour would always show.
                156, 247, 133, 28, 142, 30, 63, 151, 130, 137, 109, 185, 247, 48, 150, 62, 120, 32, 185, 10, 147, 28,
                148, 83, 9,
            ],
        ] as [[UInt8]?]
    )
    func otherImagesHaveNoBackgroundColour(thumbHash: [UInt8]?) {
        #expect(PageContact.standIn(thumbHash) == nil)
    }

    @Test func linksOfThePagesAreAnswered() async throws {
        try await Self.withHostileStore { fixture in
            let responder = AvatarResponder(store: fixture.store)
            func answer(_ path: String) -> Answer {
                ResponderFixture(store: fixture, responder: responder).ask(path)
            }
            let gallery = PageText(text: answer("/").text).links
            let details = gallery.filter { $0.hasPrefix("/contacts/") && !$0.contains("placeholder=") }
            #expect(details.count == HostileContacts.ids.count)

            for link in Set(gallery + details.flatMap { PageText(text: answer($0).text).links }) {
                #expect(link.hasPrefix("/") && !link.hasPrefix("//"), "\(link)")
                #expect(answer(link).status == 200, "\(link)")
                // A browser would remove these segments from the path.
                let segments = link.prefix { $0 != "?" }.split(separator: "/").map { $0.replacing("%2E", with: ".") }
                #expect(!segments.contains(".") && !segments.contains(".."), "\(link)")
            }
        }
    }

    @Test(arguments: [".", ".."]) func contactWithDotSegmentAsIDIsReachable(id: String) async throws {
        try await Self.withHostileStore { fixture in
            let responder = AvatarResponder(store: fixture.store)
            func answer(_ path: String) -> Answer {
                ResponderFixture(store: fixture, responder: responder).ask(path)
            }
            let page = answer("/contacts/?id=\(id)")
            #expect(page.status == 200 && page.text.contains("<dt>id</dt><dd><bdi>\(id)</bdi></dd>"))
            #expect(
                page.text.contains("/contacts/?picture=\(id)&amp;placeholder=initials&amp;size=512&amp;for=browser\"")
            )
            let initials = answer("/contacts/?picture=\(id)&placeholder=initials&size=32")
            let encoded = answer("/contacts/\(id.replacing(".", with: "%2E"))/picture?placeholder=initials&size=32")
            #expect(initials.status == 200 && initials.bytes == encoded.bytes)
            #expect(answer("/contacts/?picture=none").status == 404 && answer("/contacts/?x=\(id)").status == 404)
        }
    }

    @Test func pageOfAContactSaysWhatShowSays() async throws {
        try await ResponderFixture.with { fixture in
            let page = fixture.ask("/contacts/ada").text
            let key = try #require(try fixture.store.store.contact("ada")?.key)
            let details = try #require(try fixture.store.store.details(for: key))
            let digest = try #require(details.sha256)

            // The view of the index compares with the system's clock, not with that of the store.
            let state = details.overview.state.rawValue
            #expect(page.contains(">\(state)</span>") && !details.reasons.isEmpty)
            for reason in details.reasons.map({ $0.replacing(/\d+ (s|min|h)/, with: "") }) {
                let shown = page.replacing("&#39;", with: "'").replacing(/\d+ (s|min|h)/, with: "")
                #expect(shown.contains(reason), "\(reason)")
            }
            #expect(page.contains("<a class=\"large\" href=\"/images/\(digest).png\""))
            #expect(page.contains("<a href=\"/images/\(digest).png\">\(digest)</a>"))
            #expect(
                page.contains("image/png") && page.contains("4.0 kB") && page.contains("<dd><bdi>&quot;1&quot;</bdi>")
            )
            #expect(page.contains("<a href=\"\(ResponderFixture.oddPath)\"><bdi>&quot;Zoë&quot; &amp; Co</bdi></a>"))
            #expect(page.contains("<dt>fetched</dt><dd><time datetime=\""))
            let none = fixture.ask("/contacts/ben").text
            #expect(none.contains("No list names an image") && none.contains("alt=\"Initials of Ben &lt;b&gt;"))
        }
    }

    @Test(arguments: [
        (0, "just now"), (-1, "1 s ago"), (-119, "119 s ago"), (-180, "3 min ago"), (-7200, "2 h ago"),
        (7300, "in 2 h"),
        (-172_800, "2 days ago"), (-31 * 86_400, "24 Oct 2026, 07:39 UTC"), (400 * 86_400, "29 Dec 2027, 07:39 UTC"),
    ])
    func timesAreReadable(seconds: Int64, text: String) throws {
        let now = try #require(Timestamp(iso8601: "2026-11-24T07:39:42.250Z"))
        let time = now.adding(seconds: seconds)

        let element = PageTime(now: now, isRelative: true).html(time)
        #expect(element.hasPrefix("<time datetime=\"\(time.iso8601)\"") && element.hasSuffix(">\(text)</time>"))
        let plain = PageTime(now: now, isRelative: false).html(time)
        #expect(plain == "<time datetime=\"\(time.iso8601)\">\(PageTime.date(time))</time>")
    }
}
