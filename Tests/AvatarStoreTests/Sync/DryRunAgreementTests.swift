import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Testing

/// A dry run and the sync after it, with the same list and store: all counts agree.
@Suite(.timeLimit(.minutes(5)))
struct DryRunAgreementTests {
    struct NastyList: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var isConstrained = false
        var prunes = false
        var usesEmail = false
        /// Whether an earlier sync without pruning fetched everything.
        var isKnown = false
        var limit: Int?
        let records: @Sendable (StoreFixture) -> [ContactRecord]
    }

    static let face = SampleImage.png(seed: 1, byteCount: 2000)
    static let other = SampleImage.png(seed: 2, byteCount: 2000)

    @Test(arguments: lists)
    func countsAgree(list: NastyList) async throws {
        try await StoreFixture.withStore { fixture in
            try await prepare(fixture)
            let records = RecordList(records: list.records(fixture))
            var options = SyncOptions()
            options.isConstrained = list.isConstrained
            options.prunes = list.prunes
            options.limit = list.limit
            if list.usesEmail { options.emailSources = [try EmailSource(baseURL: fixture.origin.url("/email/"))] }

            if list.isKnown {
                options.prunes = false
                _ = try await fixture.store.sync(records, options: options)
                options.prunes = list.prunes
            }

            // The second time some images are stored, and some failed and wait.
            for round in 1...2 {
                let preview = try await fixture.store.syncPreview(.records(records), options: options)
                let report = try await fixture.store.sync(records, options: options)

                #expect(preview.contacts == report.contacts, "contacts, round \(round)")
                #expect(preview.duplicates == report.duplicates, "duplicates, round \(round)")
                #expect(
                    preview.details.duplicateContacts == report.details.duplicateContacts,
                    "duplicate contacts, round \(round)"
                )
                #expect(preview.unreadable == report.unreadable, "unreadable, round \(round)")
                #expect(preview.saved == report.saved, "saved, round \(round)")
                #expect(preview.fresh == report.fresh, "fresh, round \(round)")
                #expect(preview.skipped == report.skipped, "skipped, round \(round)")
                #expect(preview.unlinked == report.unlinked, "unlinked, round \(round)")
                #expect(preview.hasKeptLeavers == report.hasKeptLeavers, "kept leavers, round \(round)")
                // Sources without an image leave a contact without one.
                let asked = preview.toFetch + preview.toRevalidate
                let failedAfterAsking = report.failed - preview.failed
                #expect(failedAfterAsking >= 0, "failed, round \(round)")
                let none = report.withoutImage - preview.withoutImage
                #expect(
                    asked == report.fetched + report.notModified + failedAfterAsking + none,
                    "asked, round \(round)"
                )
                #expect(Set(preview.failures).isSubset(of: Set(report.failures)), "failures, round \(round)")
            }
            try fixture.expectConsistent()
        }
    }

    /// Images on the origin, and contacts from an earlier list.
    private func prepare(_ fixture: StoreFixture) async throws {
        fixture.serve(Self.face, at: "/face.png")
        fixture.serve(Self.other, at: "/other.png")
        fixture.serve(Self.other, at: "/low.png")
        fixture.serve(Self.other, at: "/once.png")
        fixture.origin.setResponse(.status(500), for: "/broken.png")
        try await fixture.store.set(.maximumImageBytes, to: 5000)
        _ = try await fixture.store.sync(contacts: [
            Contact(id: "zoe", avatarURL: fixture.origin.url("/once.png")),
            Contact(id: "old", images: [.photo(ContactPhoto(bytes: Self.face))]),
        ])
    }

    private static func contact(
        _ id: String,
        _ images: [ContactImage] = [],
        emails: [String] = [],
        lowDataURL: String? = nil
    ) -> ContactRecord {
        var contact = Contact(id: id, emails: emails, images: images)
        contact.lowDataURL = lowDataURL
        return .contact(contact)
    }

    private static func photo(_ bytes: [UInt8], _ number: Int = 1) -> ContactImage {
        .photo(ContactPhoto(number: number, bytes: bytes))
    }

    private static let longID = String(repeating: "x", count: 1025)
    private static let unreadable = ContactImage.unreadable(
        UnreadableContactImage(number: nil, line: 2, reason: "it is none")
    )

    static let lists: [NastyList] = [
        NastyList(testDescription: "no records", prunes: true) { _ in [] },
        NastyList(testDescription: "empty ids") { fixture in
            let url = ContactImage.url(fixture.origin.url("/face.png"))
            return [
                contact("", [url]), contact(""), contact("", emails: ["a@example.org"]), contact("", [photo(face)]),
                contact("", [photo(face), url]),
            ]
        },
        NastyList(testDescription: "ids with NUL, while pruning", prunes: true) { fixture in
            [contact("a\0b", [.url(fixture.origin.url("/face.png"))]), contact("a\0b"), contact("c")]
        },
        NastyList(testDescription: "ids that are too long for a photo", prunes: true) { fixture in
            let url = ContactImage.url(fixture.origin.url("/face.png"))
            return [
                contact(longID, [photo(face)]), contact(longID + "y", [photo(face), url]), contact(longID + "z", [url]),
            ]
        },
        NastyList(testDescription: "bad URLs for constrained networks") { fixture in
            [
                contact("a", [.url(fixture.origin.url("/face.png"))], lowDataURL: "ftp://example.org/a"),
                contact("b", [.url(fixture.origin.url("/other.png"))], lowDataURL: ""),
            ]
        },
        NastyList(testDescription: "a constrained network", isConstrained: true) { fixture in
            [
                contact("a", [.url(fixture.origin.url("/face.png"))], lowDataURL: fixture.origin.url("/low.png")),
                contact("b", [.url(fixture.origin.url("/other.png"))], lowDataURL: "nonsense"),
                contact("c", [.url(fixture.origin.url("/broken.png"))], lowDataURL: fixture.origin.url("/low.png")),
            ]
        },
        NastyList(testDescription: "bad URLs, each twice") { fixture in
            ["ftp://example.org/a", "", "http://", "https://user@example.org/", "/relative"].enumerated()
                .flatMap { [contact("a\($0)", [.url($1)]), contact("b\($0)", [.url($1)])] }
        },
        NastyList(testDescription: "bad photos") { _ in
            [
                contact("a", [photo([])]), contact("b", [photo(Array("<html>".utf8))]),
                contact("c", [photo(SampleImage.png(seed: 3, byteCount: 6000))]), contact("d", [unreadable]),
                contact("e", [photo(face, 0), photo(other, 0), photo(face, -3)]),
                contact("f", [photo(face), unreadable]),
            ]
        },
        NastyList(testDescription: "duplicates", prunes: true) { fixture in
            let url = ContactImage.url(fixture.origin.url("/face.png"))
            return [
                contact("a", [url]), contact("a", [photo(face)]), contact("b", [photo(Array("x".utf8))]), contact("b"),
                contact("zoe"), contact("zoe", [.url("ftp://example.org/a")]), contact("a", [url, unreadable]),
            ]
        },
        NastyList(testDescription: "records that cannot be read", prunes: true) { fixture in
            [.unreadable(line: 3, reason: "it is none"), contact("a", [.url(fixture.origin.url("/face.png"))])]
        },
        NastyList(testDescription: "contacts without pictures, while pruning", prunes: true) { _ in
            [contact("a"), contact("zoe")]
        },
        NastyList(testDescription: "several URLs") { fixture in
            let (gone, face) = (fixture.origin.url("/gone.png"), fixture.origin.url("/face.png"))
            return [
                contact("a", [.url(gone), .url(fixture.origin.url("/other.png"))]),
                contact("b", [.url("ftp://example.org"), .url(face)]),
                contact("c", [.url(fixture.origin.url("/broken.png")), .url(face)]),
                contact("d", [.url(gone + "2"), .url(gone + "3")]), contact("e", [.url(face), .url(face)]),
            ]
        },
        NastyList(testDescription: "a limit", limit: 1) { fixture in
            ["/face.png", "/other.png", "/low.png"].map { contact($0, [.url(fixture.origin.url($0))]) }
        },
        NastyList(testDescription: "e-mail addresses", prunes: true, usesEmail: true) { _ in
            [
                contact("a", emails: ["a@example.org"]), contact("b", emails: ["none"]),
                contact("zoe", emails: ["zoe@example.org"]), contact("", emails: ["c@example.org"]),
            ]
        },
        NastyList(
            testDescription: "e-mail addresses of contacts that had pictures",
            prunes: true,
            usesEmail: true,
            isKnown: true
        ) {
            _ in
            [contact("a", emails: ["a@example.org"]), contact("zoe", emails: ["zoe@example.org"])]
        },
    ]
}
