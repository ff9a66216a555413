import AvatarCore
import AvatarDigest
import AvatarFiles
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct StagingTests {
    @Test(arguments: [[], [0], [1], [64], [1, 63, 64, 65, 100_000], [0, 5, 0]])
    func digestAndSizeAreThoseOfAllChunks(lengths: [Int]) throws {
        try withPlaces { places in
            let chunks = lengths.enumerated().map { number, length in
                (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) }
            }
            let file = try places.files.staging.stage()
            for chunk in chunks { try file.write(chunk) }

            let image = file.finish(as: .sample)

            let bytes = chunks.flatMap(\.self)
            #expect(image.sizeBytes == bytes.count)
            #expect(image.sha256 == SHA256.hash(bytes))
            #expect(image.storageClass == .caches)
            #expect(image.image == .sample)
            #expect(try places.files.staging.read(image) == bytes)
        }
    }

    /// The digest is the first example of FIPS 180-4.
    @Test func theDigestIsSHA256() throws {
        try withPlaces { places in
            let image = try places.stage(Array("abc".utf8))

            #expect(
                Hexadecimal.text(image.sha256) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
            )
        }
    }

    @Test func stagedBytesCanBeReadWhileWriting() throws {
        try withPlaces { places in
            let file = try places.files.staging.stage()
            try file.write([0, 1, 2, 3])
            try file.write([4, 5])

            #expect(file.byteCount == 6)
            #expect(try file.bytes(at: 0, count: 6) == [0, 1, 2, 3, 4, 5])
            #expect(try file.bytes(at: 3, count: 2) == [3, 4])
            #expect(try file.bytes(at: 4, count: 100) == [4, 5])
            #expect(try file.bytes(at: 6, count: 1) == [])
            #expect(try file.bytes(at: 99, count: 1) == [])
            #expect(try file.bytes(at: 2, count: 0) == [])

            // Reading must not move the position of the next write.
            try file.write([6])
            #expect(try file.bytes(at: 0, count: 7) == [0, 1, 2, 3, 4, 5, 6])
        }
    }

    @Test func aFileThatIsNotFinishedLeavesNothing() throws {
        try withPlaces { places in
            do {
                let file = try places.files.staging.stage()
                try file.write([1, 2, 3])
                #expect(try places.stagedNames.count == 1)
            }

            #expect(try places.stagedNames == [])
        }
    }

    @Test func aFinishedFileStaysUntilItIsDiscarded() throws {
        try withPlaces { places in
            let image = try places.stage([1, 2, 3])
            #expect(try places.stagedNames.map(StagedImage.Content.file) == [image.content])

            places.files.staging.discard(image)

            #expect(try places.stagedNames == [])
            #expect(thrownError { _ = try places.files.staging.read(image) }?.code == .storage)
        }
    }

    @Test func filesAreStagedSideBySide() throws {
        try withPlaces { places in
            let (first, second) = try (places.files.staging.stage(), places.files.staging.stage())
            try first.write([1])
            try second.write([2])
            try first.write([1])

            let images = [first.finish(as: .sample), second.finish(as: .sample)]

            #expect(try images.map { try places.files.staging.read($0) } == [[1, 1], [2]])
        }
    }

    @Test(arguments: [0o600, 0o640, 0o644] as [UInt32])
    func aFileHasTheModeThatWasConfigured(mode: UInt32) throws {
        try withPlaces(fileMode: mode) { places in
            let image = try places.stage([1])
            let name = try #require(try places.stagedNames.first)
            #expect(try permissions(of: "\(places.staging.path)/\(places.holder.name)/\(name)") == Int(mode))
            #expect(try permissions(of: "\(places.staging.path)/\(places.holder.name)") == 0o700)

            try places.publish(image, as: "ab/1.png", isDurable: false)

            #expect(try permissions(of: places.root.path + "/ab/1.png") == Int(mode))
            #expect(try permissions(of: places.root.path + "/ab") == Int(FileStore.directoryMode(for: mode)))
        }
    }

    @Test(arguments: [(0o600, 0o700), (0o640, 0o750), (0o644, 0o755), (0o660, 0o770)] as [(UInt32, UInt32)])
    func readersOfAFileMayEnterItsFolder(fileMode: UInt32, directoryMode: UInt32) {
        #expect(FileStore.directoryMode(for: fileMode) == directoryMode)
    }

    @Test func theStagingFolderGoesWithItsFiles() throws {
        try withPlaces { places in
            _ = try places.stage([1])
            _ = try places.stage([2])

            try places.staging.removeFolder(places.holder.name)
            try places.staging.removeFolder(places.holder.name)

            #expect(try places.staging.names() == [places.holder.name + ".lock"])
        }
    }

    @Test func theStagingFolderGoesWithFoldersInIt_andNoLinkIsFollowed() throws {
        try withPlaces { places in
            let folder = places.staging.path + "/" + places.holder.name
            let outside = places.staging.path + "/../outside"
            try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: false)
            try Data([1]).write(to: URL(filePath: outside + "/kept"))
            for path in ["/a/b/c", "/a/d", "/e"] {
                try FileManager.default.createDirectory(atPath: folder + path, withIntermediateDirectories: true)
                try Data([2]).write(to: URL(filePath: folder + path + "/file"))
                try FileManager.default.createSymbolicLink(
                    atPath: folder + path + "/link",
                    withDestinationPath: outside
                )
            }

            try places.staging.removeFolder(places.holder.name)

            #expect(try places.staging.names() == [places.holder.name + ".lock"])
            #expect(try FileManager.default.contentsOfDirectory(atPath: outside) == ["kept"])
        }
    }

    @Test func aDeepFolderInTheStagingFolderGoesToo() throws {
        try withPlaces { places in
            let path = places.staging.path + "/" + places.holder.name
            var folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            for _ in 0..<1000 {
                try #require(mkdirat(folder, "d", 0o700) == 0)
                let next = openat(folder, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                close(folder)
                folder = next
            }
            close(folder)

            try places.staging.removeFolder(places.holder.name)

            #expect(try places.staging.names() == [places.holder.name + ".lock"])
        }
    }

    @Test func aLinkInThePlaceOfTheStagingFolderGoesAlone() throws {
        try withPlaces { places in
            let outside = places.staging.path + "/../outside"
            try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: false)
            try Data([1]).write(to: URL(filePath: outside + "/kept"))
            let link = places.staging.path + "/0123456789abcdef"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: outside)

            try places.staging.removeFolder("0123456789abcdef")

            #expect(!FileManager.default.fileExists(atPath: link))
            #expect(FileManager.default.fileExists(atPath: outside + "/kept"))
        }
    }

    /// A holder owns its folder only while its lock is held.
    @Test func noFileCanBeStagedAfterTheEnd() throws {
        try withPlaces { places in
            let kept = try places.files.staging.stage()
            try places.files.staging.keep(kept, as: "half")
            let begun = try places.files.staging.stage()

            places.files.staging.end()
            try places.staging.removeFolder(places.holder.name)

            #expect(thrownError { _ = try places.files.staging.stage() }?.message == "The store was closed.")
            #expect(thrownError { _ = try places.files.staging.resume("half") }?.message == "The store was closed.")
            // Bytes that arrive later would not be on the disk, and the next opening would continue after them.
            #expect(thrownError { try kept.write([1]) }?.message == "The store was closed.")
            let refusal = thrownError { try places.files.staging.keep(begun, as: "other") }
            #expect(refusal?.message == "The store was closed.")
            try begun.write([1])
            #expect(try places.staging.names().sorted() == [places.holder.name + ".lock", "partial"].sorted())
        }
    }
}
