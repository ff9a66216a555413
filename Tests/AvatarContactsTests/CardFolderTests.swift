import AvatarContacts
import AvatarCore
import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Folders of vCards.
@Suite(.timeLimit(.minutes(2)))
struct CardFolderTests {
    private static func card(_ id: String) -> String { "BEGIN:VCARD\nVERSION:3.0\nUID:\(id)\nFN:\(id)\nEND:VCARD\n" }

    /// Runs `body` with a folder that has these files.
    private func withFolder(_ files: [String: String], _ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "cards-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (name, text) in files {
            let path = folder + "/" + name
            let parent = (path as NSString).deletingLastPathComponent
            try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
            try text.write(toFile: path, atomically: false, encoding: .utf8)
        }
        try await body(folder)
    }

    /// The ids of the contacts of each file; `nil` for one that cannot be read.
    private func ids(_ folder: CardFolder) async throws -> [[String]?] {
        var ids: [[String]?] = []
        for file in folder.files {
            guard case .success(let list) = file.cards else {
                ids.append(nil)
                continue
            }
            var found: [String] = []
            for try await case .contact(let contact) in list { found.append(contact.id) }
            ids.append(found)
        }
        return ids
    }

    @Test func cardsOfAllFoldersBelowAreRead_inTheOrderOfTheirPaths() async throws {
        let files = [
            "b.vcf": Self.card("b1") + Self.card("b2"), "a/z.VCF": Self.card("z"), "a/b/c.vcard": Self.card("c"),
            "notes.txt": "no card", ".hidden.vcf": Self.card("hidden"), ".Radicale.cache/x.vcf": Self.card("cache"),
        ]
        try await withFolder(files) { path in
            for spelling in [path, path + "/"] {
                let folder = try CardFolder.open(spelling)
                #expect(try await ids(folder) == [["c"], ["z"], ["b1", "b2"]])
                #expect(folder.files.map(\.path) == ["a/b/c.vcard", "a/z.VCF", "b.vcf"].map { path + "/" + $0 })
            }
        }
    }

    /// As another program leaves it when it is killed, or while it writes.
    @Test func fileThatCannotBeReadDoesNotStopTheOthers() async throws {
        let half = String(Self.card("half").dropLast(20))
        try await withFolder(["a.vcf": Self.card("a"), "b.vcf": half, "c.vcf": "no card", "d.vcf": Self.card("d")]) {
            path in
            let folder = try CardFolder.open(path)
            #expect(try await ids(folder) == [["a"], nil, nil, ["d"]])
            guard case .failure(let error) = folder.files[1].cards else { return }
            #expect(error.code == .unreadableList && error.message.hasPrefix(path + "/b.vcf"))
        }
    }

    /// Readers see the cards as they were, so that a sync that reads them twice finds the same.
    @Test func laterChangesAreNotSeen() async throws {
        try await withFolder(["a.vcf": Self.card("a"), "b.vcf": Self.card("b")]) { path in
            let folder = try CardFolder.open(path)
            try Self.card("other").write(toFile: path + "/a.vcf", atomically: false, encoding: .utf8)
            try FileManager.default.removeItem(atPath: path + "/b.vcf")
            #expect(try await ids(folder) == [["a"], ["b"]])
            #expect(try await ids(folder) == [["a"], ["b"]])
            #expect(try await ids(try CardFolder.open(path)) == [["other"]])
        }
    }

    @Test func linksToFilesAreRead_andLinksToFoldersAreNot() async throws {
        try await withFolder(["a/a.vcf": Self.card("a")]) { path in
            try FileManager.default.createSymbolicLink(atPath: path + "/link.vcf", withDestinationPath: "a/a.vcf")
            try FileManager.default.createSymbolicLink(atPath: path + "/loop", withDestinationPath: ".")
            try FileManager.default.createSymbolicLink(atPath: path + "/gone.vcf", withDestinationPath: "nowhere")
            #expect(mkfifo(path + "/pipe.vcf", 0o600) == 0)
            #expect(try await ids(try CardFolder.open(path)) == [["a"], ["a"], []])
        }
    }

    @Test func folderThatIsNotThereIsAnError() async throws {
        #expect {
            try CardFolder.open("/nonexistent/cards")
        } throws: {
            ($0 as? AvatarStoreError)?.message == "/nonexistent/cards: there is no such folder."
        }
        try await withFolder([:]) { path in
            let folder = try CardFolder.open(path)
            #expect(folder.files.isEmpty)
        }
    }
}
