import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

@testable import AvatarStoreHTTP

/// The gallery as files.
@Suite(.timeLimit(.minutes(5)))
struct GalleryExportTests {
    /// Exports with `query` to a new folder and passes it to `body`.
    private func export(
        _ fixture: StoreFixture,
        _ query: AvatarListQuery = AvatarListQuery(),
        _ body: (ExportReport, Site) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "gallery-\(UUID().uuidString)")
        defer {
            do {
                try FileManager.default.removeItem(at: folder)
            } catch {
                Issue.record(error)
            }
        }
        let site = Site(folder: folder)
        try await body(try await fixture.store.exportGallery(query, to: site.path), site)
    }

    @Test func linksLeadToFilesInTheFolder() async throws {
        try await PageTests.withHostileStore { fixture in
            try await export(fixture) { report, site in
                let count = HostileContacts.ids.count
                #expect(report.pages == count + 1)
                let pages = try site.pages()
                #expect(pages.count == report.pages)
                for (name, text) in pages {
                    PageText(text: text).expectSafe(name)
                    for link in PageText(text: text).links { site.expectFile(link, from: name) }
                }
                // Each contact can be reached from the first page, with its image or its initials.
                let first = PageText(text: try #require(pages["index.html"]))
                let contacts = first.links.filter { $0.hasPrefix("pages/") && $0.hasSuffix(".html") }
                #expect(Set(contacts).count == count)
                #expect(
                    report.images == count / 4 + 1 && first.links.filter { $0.hasSuffix(".png") }.count > report.images
                )
                #expect(pages.values.allSatisfy { $0.contains("<meta http-equiv=\"Content-Security-Policy\"") })
            }
        }
    }

    @Test func imagesHaveBackgroundColours() async throws {
        try await PageTests.withStandIns { fixture in
            try await export(fixture) { _, site in
                let first = try #require(try site.pages()["index.html"])
                #expect(first.components(separatedBy: " style=\"background:#6d7274\"").count == 2)
                #expect(first.components(separatedBy: " style=").count == 2)
                #expect(first.contains("; style-src-attr &#39;unsafe-inline&#39;;"))
            }
        }
    }

    @Test func imagesOnThePagesAreThoseOfTheContacts() async throws {
        try await PageTests.withHostileStore { fixture in
            try await export(fixture) { _, site in
                for id in HostileContacts.ids {
                    let name = StaticPaths(isFirstPage: true).contact(id)
                    let text = try #require(try site.pages()[name])
                    let stored = try fixture.store.avatar(forContact: id)
                    let image = try #require(text.firstMatch(of: /<img class="(image|initials)" src="([^"]*)"/))
                    #expect((image.1 == "image") == (stored != nil), "\(id)")
                    guard let stored else { continue }
                    #expect(try site.bytes(String(image.2), from: name) == stored.bytes, "\(id)")
                }
            }
        }
    }

    @Test func galleryIsPagedAndHasAnIndexByLetter() async throws {
        try await StoreFixture.withStore { fixture in
            let names = (0..<300).map { "\(["Ada", "émile", "Zoë", "7up", "张伟"][$0 % 5]) \($0)" }
            _ = try await fixture.store.sync(contacts: names.map { Contact(id: $0, name: $0) })
            try await export(fixture) { report, site in
                let pages = try site.pages()
                #expect(report.pages == 303 && report.images == 0)
                let galleries = try ["index.html", "pages/page-2.html", "pages/page-3.html"].map {
                    try #require(pages[$0])
                }
                #expect(galleries.map { $0.matches(of: /<li[> ]/).count } == [120, 120, 60])
                #expect(galleries[0].contains("Page 1 of 3") && galleries[0].contains("300 contacts, as of "))
                let letters = galleries[0].matches(of: /<a href="([^"]*#[^"]*)">([^<]+)<\/a>/).map {
                    ($0.2, String($0.1))
                }
                #expect(letters.map(\.0) == ["#", "A", "E", "Z", "张"])
                for (letter, path) in letters {
                    let parts = path.split(separator: "#", omittingEmptySubsequences: false).map(String.init)
                    let page = try #require(pages[parts[0].isEmpty ? "index.html" : parts[0]])
                    #expect(page.contains("<li id=\"\(parts[1])\">"), "\(letter)")
                }
                for (name, text) in pages {
                    for link in PageText(text: text).links { site.expectFile(link, from: name) }
                }
            }
        }
    }

    @Test func filterLeavesContactsOut() async throws {
        try await ResponderFixture.with { fixture in
            var owner = AvatarListQuery()
            owner.contact = "ada"
            try await export(fixture.store, owner) { report, site in
                #expect(report.images == 1 && report.pages == 2)
                let page = try #require(try site.pages()[StaticPaths(isFirstPage: true).contact("ada")])
                // The other contact with the image is named, but has no page.
                #expect(page.contains("<span><bdi>&quot;Zoë&quot; &amp; Co</bdi></span>"))
            }
            var documents = AvatarListQuery()
            documents.storageClass = .documents
            try await export(fixture.store, documents) { report, site in
                #expect(report.images == 1 && report.pages == 2)
                let pages = try site.pages()
                #expect(pages[StaticPaths(isFirstPage: true).contact("carl")] != nil)
            }
            owner.contact = "nobody"
            try await export(fixture.store, owner) { report, site in
                #expect(report.images == 0 && report.pages == 1)
                let pages = try site.pages()
                #expect(pages["index.html"]?.contains("There are no contacts here") == true)
            }
        }
    }

    @Test func importPassesOverThePages() async throws {
        try await ResponderFixture.with { fixture in
            try await export(fixture.store) { report, site in
                try await StoreFixture.withStore { other in
                    let imported = try await other.store.importImages(from: site.path)
                    #expect(imported.stored == report.images && imported.failed == 0 && imported.found == report.images)
                    #expect(try other.store.avatar(forContact: "ada")?.bytes == ResponderFixture.face)
                    // Without the manifest, the page is a file like any other.
                    try FileManager.default.removeItem(atPath: site.path + "/manifest.jsonl")
                    #expect(try await other.store.importPreview(from: site.path).failed == 1)
                }
            }
        }
    }

    @Test func remainsOfAKilledExportAreRemoved() async throws {
        try await ResponderFixture.with { fixture in
            try await export(fixture.store) { _, site in
                // As a kill just before the end leaves it.
                try FileManager.default.moveItem(
                    atPath: site.path + "/manifest.jsonl",
                    toPath: site.path + "/manifest.jsonl.unfinished"
                )
                let stale = site.path + "/pages/\(StaticPaths.digest("left")).html"
                try Data("old".utf8).write(to: URL(filePath: stale))

                let again = try await fixture.store.store.exportGallery(to: site.path)

                #expect(again.pages == 5)
                #expect(!FileManager.default.fileExists(atPath: stale))
                await #expect(throws: AvatarStoreError.self) {
                    try await fixture.store.store.exportGallery(to: site.path)
                }
                #expect(FileManager.default.fileExists(atPath: site.path + "/index.html"))
            }
        }
    }
}

/// The files of an exported gallery.
struct Site {
    let folder: URL

    var path: String { folder.path(percentEncoded: false) }

    /// The pages by their path in the folder.
    func pages() throws -> [String: String] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: path).filter { $0.hasSuffix(".html") }
        return Dictionary(
            uniqueKeysWithValues: try names.map {
                ($0, try String(contentsOf: folder.appending(path: $0), encoding: .utf8))
            }
        )
    }

    /// The file that `link` on the page `page` leads to, as a browser finds it.
    private func file(_ link: String, from page: String) -> URL? {
        URL(string: link, relativeTo: folder.appending(path: page))?.standardizedFileURL
    }

    /// Checks that `link` is relative and leads to a file inside the folder.
    func expectFile(_ link: String, from page: String) {
        #expect(!link.hasPrefix("/") && !link.contains(":"), "\(page): \(link)")
        let target = link.hasPrefix("#") ? folder.appending(path: page) : file(link, from: page)
        let found = target?.path(percentEncoded: false) ?? ""
        #expect(found.hasPrefix(folder.standardizedFileURL.path(percentEncoded: false)), "\(page): \(link)")
        #expect(FileManager.default.fileExists(atPath: found), "\(page): \(link)")
    }

    /// The bytes of the file that `link` on `page` leads to.
    func bytes(_ link: String, from page: String) throws -> [UInt8] {
        Array(try Data(contentsOf: try #require(file(link, from: page))))
    }
}
