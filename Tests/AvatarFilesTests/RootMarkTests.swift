import AvatarCore
import AvatarFiles
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct RootMarkTests {
    private static let id = String(repeating: "0123456789abcdef", count: 2)
    private static let other = String(repeating: "f", count: 32)

    @Test func aRootIsClaimedOnceAndForAll() throws {
        try withPlaces { places in
            let mark = RootMark(of: places.root, in: places.staging)

            try mark.claim(Self.id)
            try mark.claim(Self.id)

            #expect(try markText(places) == Self.id)
            #expect(try permissions(of: places.staging.path + "/root.store-id") == 0o600)
            #expect(try places.publishedNames == [])
        }
    }

    @Test(arguments: [String(repeating: "f", count: 32), "0123456789abcdef", "0123456789abcdef0123456789abcdef0"])
    func anotherStoresRootIsRefused(other: String) throws {
        try withPlaces { places in
            let mark = RootMark(of: places.root, in: places.staging)
            try mark.claim(Self.id)

            let error = try #require(thrownError { try mark.claim(other) })

            #expect(error.code == .unusableRoot)
            #expect(error.message.contains("\(places.root.path)\" belongs to another store"))
            #expect(try markText(places) == Self.id)
        }
    }

    /// The writer of the mark was stopped, or the power failed, before the mark was durable.
    @Test(arguments: [
        [], Array("0123".utf8), [UInt8](repeating: 0, count: 32), Array("0123456789abcdef".utf8) + [0, 0, 0, 0],
        [UInt8](repeating: 0xFF, count: 200),
    ])
    func anUnfinishedMarkIsTakenOver(bytes: [UInt8]) throws {
        try withPlaces { places in
            try Data(bytes).write(to: URL(filePath: places.staging.path + "/root.store-id"))
            #expect(try RootMark(of: places.root, in: places.staging).owner() == nil)

            try RootMark(of: places.root, in: places.staging).claim(Self.id)

            #expect(try markText(places) == Self.id)
        }
    }

    @Test func rootsWithOneStagingFolderHaveMarksOfTheirOwn() throws {
        try withPlaces { places in
            let documents = try Directory.makeRoot(places.root.path + "/../documents", mode: 0o700)

            try RootMark(of: places.root, in: places.staging).claim(Self.id)
            try RootMark(of: documents, in: places.staging).claim(Self.other)

            #expect(try markText(places) == Self.id)
            #expect(try markText(places, "documents") == Self.other)
        }
    }

    @Test func aMarkThatIsALinkIsNotFollowed() throws {
        try withPlaces { places in
            let target = places.staging.path + "/target"
            try Data().write(to: URL(filePath: target))
            try FileManager.default.createSymbolicLink(
                atPath: places.staging.path + "/root.store-id",
                withDestinationPath: target
            )

            #expect(thrownError { try RootMark(of: places.root, in: places.staging).claim(Self.id) } != nil)

            #expect(try Data(contentsOf: URL(filePath: target)).isEmpty)
        }
    }

    @Test func aPipeInThePlaceOfAMarkIsRefusedByName() throws {
        try withPlaces { places in
            let path = places.staging.path + "/root.store-id"
            try #require(mkfifo(path, 0o600) == 0)
            let mark = RootMark(of: places.root, in: places.staging)

            for error in [thrownError { try mark.claim(Self.id) }, thrownError { _ = try mark.owner() }] {
                #expect(error?.code == .unusableRoot)
                #expect(error?.message.contains(path) == true)
            }
        }
    }

    private func markText(_ places: Places, _ root: String = "root") throws -> String {
        try String(contentsOf: URL(filePath: "\(places.staging.path)/\(root).store-id"), encoding: .utf8)
    }
}
