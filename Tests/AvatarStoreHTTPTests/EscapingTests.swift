import AvatarCore
import Testing

@testable import AvatarStoreHTTP

/// Pages whose texts and paths all contain special characters of HTML. Each text is escaped, even one that the program makes
/// itself.
@Suite(.timeLimit(.minutes(5)))
struct EscapingTests {
    private static let hostile = "\"'<i>&"
    private static let frame = PageFrame(
        home: hostile,
        icon: hostile,
        search: hostile,
        policy: hostile,
        footer: hostile
    )
    private static let contact = PageContact(
        id: hostile,
        name: nil,
        state: hostile,
        shownPath: hostile,
        detailPath: hostile,
        anchor: hostile
    )

    @Test func charactersOfHTMLAreEscaped() {
        #expect(HTML.escaped("a&<>\"'é🚀") == "a&amp;&lt;&gt;&quot;&#39;é🚀")
        #expect(HTML.escaped("\t\n\r|\u{0}|\u{1F}|\u{7F}") == "\t\n\r|\u{FFFD}|\u{FFFD}|\u{FFFD}")
    }

    @Test func galleryEscapesAllTexts() {
        let link = PageLink(label: Self.hostile, path: Self.hostile, relation: "next")
        let letters = [PageLetter(text: Self.hostile, path: Self.hostile, count: 1), PageLetter(text: "B", path: "b")]
        let full = GalleryPage(
            frame: Self.frame,
            contacts: [Self.contact],
            query: Self.hostile,
            links: [link, PageLink(label: Self.hostile, path: nil)],
            letters: letters,
            position: Self.hostile
        )
        let empty = GalleryPage(frame: Self.frame, contacts: [], query: Self.hostile)
        let end = GalleryPage(frame: Self.frame, contacts: [], isContinued: true)

        for page in [full, empty, end] { PageText(text: page.html()).expectSafe("gallery") }
    }

    @Test func contactPageEscapesAllTexts() {
        let facts: [ContactPage.Fact] = [
            .init(name: Self.hostile, value: .text(Self.hostile)),
            .init(name: "", value: .link(Self.hostile, path: Self.hostile)),
        ]
        for imagePath in [Self.hostile, nil] {
            let page = ContactPage(
                frame: Self.frame,
                contact: Self.contact,
                imagePath: imagePath,
                isShown: true,
                reasons: [Self.hostile],
                facts: facts,
                technicalFacts: facts,
                sharers: [.init(label: Self.hostile, path: Self.hostile), .init(label: Self.hostile, path: nil)],
                hasMoreSharers: true,
                time: PageTime(now: Timestamp(milliseconds: 0), isRelative: true)
            )
            PageText(text: page.html()).expectSafe("contact")
        }
    }

    @Test func loginPageEscapesAllTexts() {
        let page = LoginPage(frame: Self.frame, next: Self.hostile, message: Self.hostile)

        PageText(text: page.html()).expectSafe("login")
    }

    @Test func statusPageEscapesAllTexts() {
        let page = StatusPage(frame: Self.frame, title: Self.hostile, text: Self.hostile)

        PageText(text: page.html()).expectSafe("status")
    }
}
