import AvatarCore
import AvatarFiles
import AvatarImages
import Foundation
import Testing

@Suite struct PublishingTests {
    @Test(arguments: [false, true])
    func aPublishedFileIsInItsFolderAndNoLongerStaged(isDurable: Bool) throws {
        try withPlaces { places in
            let image = try places.stage([1, 2, 3])
            try places.files.synchronize(image)

            try places.files.publish(image, as: "ab/cdef01-00000000000000cd.png", isDurable: isDurable)

            #expect(try places.publishedNames == ["ab", "ab/cdef01-00000000000000cd.png"])
            #expect(try places.stagedNames == [])
            #expect(try StoredFiles(root: places.root).read(.sample("ab/cdef01-00000000000000cd.png", 3)) == [1, 2, 3])
        }
    }

    @Test func aFolderIsMadeOnceAndAgainIfItWasRemoved() throws {
        try withPlaces { places in
            _ = try places.publish([1], as: "ab/1.png")
            _ = try places.publish([2], as: "ab/2.png")
            try FileManager.default.removeItem(atPath: places.root.path + "/ab")

            _ = try places.publish([3], as: "ab/3.png")

            #expect(try places.publishedNames == ["ab", "ab/3.png"])
        }
    }

    /// A purged file is a miss, and no fault.
    @Test func aPublishedFileIsMadeDurableLater_ifItIsThere() throws {
        try withPlaces { places in
            let file = try places.publish([1])

            try places.files.synchronize(published: file.path)
            try places.files.unlink(file.path)
            try places.files.synchronize(published: file.path)

            #expect(try places.publishedNames == ["ab"])
        }
    }

    @Test func unlinkingWhatIsGoneIsFine() throws {
        try withPlaces { places in
            let file = try places.publish([1])

            try places.files.unlink(file.path)
            try places.files.unlink(file.path)
            try places.files.unlink("no-such-folder/file.png")
            try places.files.unlink("ab/1.png/below-a-file")

            #expect(try places.publishedNames == ["ab"])
        }
    }

    /// The root that was opened is the one that is worked in, whatever lies at its path by now.
    @Test func aRootThatIsMovedIsStillTheSame() throws {
        try withPlaces { places in
            let moved = places.root.path + "-moved"
            try FileManager.default.moveItem(atPath: places.root.path, toPath: moved)
            try FileManager.default.createDirectory(atPath: places.root.path, withIntermediateDirectories: false)

            let file = try places.publish([1])

            #expect(try FileManager.default.contentsOfDirectory(atPath: places.root.path) == [])
            #expect(try StoredFiles(root: places.root).read(file) == [1])
        }
    }
}

@Suite struct FileNameTests {
    private static let digest = [UInt8](0x12...0x31)

    @Test(arguments: [(ImageFormat.png, "png"), (.jpeg, "jpg"), (.svg, "svg"), (ImageFormat(rawValue: "x/y"), "img")])
    func aNameHasTheDocumentedForm(format: ImageFormat, fileExtension: String) throws {
        let name = FilePath.make(sha256: Self.digest, format: format)

        let form = try Regex("12/131415-[0-9a-f]{16}\\.\(fileExtension)")
        #expect(name.wholeMatch(of: form) != nil, "\(name)")
    }

    @Test func noNameIsDrawnTwice() {
        let names = (0..<10_000).map { _ in FilePath.make(sha256: Self.digest, format: .png) }

        #expect(Set(names).count == names.count)
    }

    @Test func digitsAreTwoAByteInLowerCase() {
        #expect(Hexadecimal.text([0x00, 0x0F, 0xA0, 0xFF]) == "000fa0ff")
        #expect(Hexadecimal.text([]) == "")
        #expect(Hexadecimal.random64().wholeMatch(of: /[0-9a-f]{16}/) != nil)
    }
}
