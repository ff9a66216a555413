import AvatarAddressBooks
import AvatarStoreTesting
import Foundation
import Testing

@testable import AvatarStore

/// Folders of vCards.
@Suite(.timeLimit(.minutes(5)))
struct CardFolderTests {
    private static func card(_ id: String, photo: UInt64? = 1) -> String {
        let photo = photo.map {
            "PHOTO;ENCODING=b;TYPE=PNG:" + Data(SampleImage.png(seed: $0, byteCount: 500)).base64EncodedString() + "\n"
        }
        return "BEGIN:VCARD\nVERSION:3.0\nUID:\(id)\nFN:\(id)\n\(photo ?? "")END:VCARD\n"
    }

    private final class Folder {
        let path = FileManager.default.temporaryDirectory.appending(path: "cards-\(UUID().uuidString)").path

        func write(_ name: String, _ text: String) throws {
            let file = path + "/" + name
            let parent = (file as NSString).deletingLastPathComponent
            try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
            try text.write(toFile: file, atomically: false, encoding: .utf8)
        }

        func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: path + "/" + name) }

        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    private func sync(_ fixture: StoreFixture, _ path: String) async throws -> SyncReport {
        try await fixture.store.sync(from: [.cardFolder(path)])
    }

    private func ids(_ fixture: StoreFixture) throws -> [String] { try fixture.store.contacts().contacts.map(\.id) }

    @Test func aPercentSignInANameIsNoEscape() async throws {
        try await StoreFixture.withStore { fixture in
            let folder = Folder()
            try folder.write("a%41.vcf", Self.card("x"))
            try folder.write("aA.vcf", Self.card("y"))
            #expect(try await sync(fixture, folder.path).contacts == 2)
            let again = try await sync(fixture, folder.path)
            #expect(again.contacts == 2 && again.sources.map(\.changed) == [0])
            #expect(try ids(fixture) == ["x", "y"])
        }
    }

    @Test func photoThatIsNoImageIsNamedByItsFile() async throws {
        try await StoreFixture.withStore { fixture in
            let folder = Folder()
            let card = "BEGIN:VCARD\nVERSION:3.0\nUID:x\nFN:x\nPHOTO;ENCODING=b:AAAA\nEND:VCARD\n"
            try folder.write("a/x y.vcf", card)

            let report = try await sync(fixture, folder.path)

            let failure = try #require(report.failures.first)
            #expect(failure.kind == .notImage && failure.line == 5 && failure.contact == "x")
            #expect(failure.list == folder.path + "/a/x y.vcf")
            #expect(failure.message.hasPrefix(folder.path + "/a/x y.vcf, line 5: "))
        }
    }

    @Test func changedFilesOfAllFoldersBelowAreRead() async throws {
        try await StoreFixture.withStore { fixture in
            let folder = Folder()
            try folder.write("b.vcf", Self.card("b1") + Self.card("b2"))
            try folder.write("a/z.VCF", Self.card("z"))
            try folder.write("a/b/c.vcard", Self.card("c"))
            for name in ["notes.txt", ".hidden.vcf", ".Radicale.cache/x.vcf"] {
                try folder.write(name, Self.card("no"))
            }
            #expect(try await sync(fixture, folder.path + "/").contacts == 4)
            #expect(try ids(fixture) == ["b1", "b2", "c", "z"])
            let again = try await sync(fixture, folder.path)
            #expect(again.contacts == 4 && again.sources.map(\.changed) == [0])

            try folder.write("b.vcf", Self.card("b1", photo: 2))
            try folder.remove("a/b/c.vcard")
            let third = try await sync(fixture, folder.path)
            #expect(third.sources.map(\.changed) == [1] && third.sources.map(\.removed) == [1])
            #expect(third.unlinked == 2)
            #expect(try ids(fixture) == ["b1", "z"])
        }
    }

    /// As another program leaves it when it is killed, or while it writes.
    @Test func fileThatCannotBeReadKeepsItsContacts() async throws {
        try await StoreFixture.withStore { fixture in
            let folder = Folder()
            try folder.write("a.vcf", Self.card("a"))
            try folder.write("b.vcf", Self.card("b"))
            _ = try await sync(fixture, folder.path)
            try folder.write("a.vcf", String(Self.card("a").dropLast(20)))
            try folder.write("c.vcf", "no card")
            let report = try await sync(fixture, folder.path)
            #expect(report.unreadable == 2 && report.unlinked == 0)
            #expect(try ids(fixture) == ["a", "b"])
            // It is read again until it is whole.
            #expect(try await sync(fixture, folder.path).sources.map(\.changed) == [2])
            try folder.write("a.vcf", Self.card("a", photo: 3))
            try folder.remove("c.vcf")
            #expect(try await sync(fixture, folder.path).unreadable == 0)
        }
    }

    /// A file may have several cards.
    @Test func erasedContactLeavesTheOthersOfItsFile() async throws {
        try await StoreFixture.withStore { fixture in
            let folder = Folder()
            try folder.write("team.vcf", ["ada-lovelace", "ben", "cid"].map { Self.card($0) }.joined())
            _ = try await sync(fixture, folder.path)
            let receipt = try await fixture.store.remove(contact: "ada-lovelace", erasing: true)
            #expect(receipt.isErased && receipt.traces.isEmpty, "\(receipt.traces)")
            try folder.write("other.vcf", Self.card("dan"))
            let report = try await sync(fixture, folder.path)
            #expect(report.unlinked == 0)
            #expect(try ids(fixture) == ["ben", "cid", "dan"])
        }
    }

    @Test func recordThatCannotBeReadKeepsItsContact_andTheOthersGoOn() async throws {
        try await StoreFixture.withStore { fixture in
            let folder = Folder()
            try folder.write("team.vcf", Self.card("ada") + Self.card("ben"))
            _ = try await sync(fixture, folder.path)
            let broken = "BEGIN:VCARD\nVERSION:3.0\nUID:b\u{0}n\nFN:ben\nEND:VCARD\n"
            try folder.write("team.vcf", Self.card("ada", photo: 2) + broken + Self.card("cid"))
            let report = try await sync(fixture, folder.path)
            #expect(report.unlinked == 0)
            #expect(try Set(ids(fixture)).isSuperset(of: ["ada", "ben", "cid"]))
        }
    }

    @Test func namesAreToldApartByTheirBytes() async throws {
        try await StoreFixture.withStore { fixture in
            let folder = Folder()
            try folder.write("e\u{301}.vcf", Self.card("ada"))
            _ = try await sync(fixture, folder.path)
            try folder.remove("e\u{301}.vcf")
            try folder.write("\u{e9}.vcf", Self.card("ada"))
            let report = try await sync(fixture, folder.path)
            #expect(report.sources.map(\.cards) == [1] && report.duplicates == 0)
            #expect(try await sync(fixture, folder.path).sources.map(\.changed) == [0])
        }
    }

    @Test func linksToFilesAreRead_andLinksToFoldersAreNot() async throws {
        try await StoreFixture.withStore { fixture in
            let folder = Folder()
            try folder.write("a/a.vcf", Self.card("a"))
            let path = folder.path
            try FileManager.default.createSymbolicLink(atPath: path + "/link.vcf", withDestinationPath: "a/a.vcf")
            try FileManager.default.createSymbolicLink(atPath: path + "/loop", withDestinationPath: ".")
            try FileManager.default.createSymbolicLink(atPath: path + "/gone.vcf", withDestinationPath: "nowhere")
            #expect(mkfifo(path + "/pipe.vcf", 0o600) == 0)
            let report = try await sync(fixture, path)
            #expect(report.sources.map(\.cards) == [2] && report.contacts == 1 && report.duplicates == 1)
        }
    }

    @Test func folderThatIsGoneUnlinksNothing() async throws {
        try await StoreFixture.withStore { fixture in
            let folder = Folder()
            try folder.write("a.vcf", Self.card("a"))
            _ = try await sync(fixture, folder.path)
            try FileManager.default.removeItem(atPath: folder.path)
            let report = try await sync(fixture, folder.path)
            #expect(report.sources.first?.failure?.message.hasSuffix("does not exist.") == true)
            #expect(try ids(fixture) == ["a"])
        }
    }
}
