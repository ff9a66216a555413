import AvatarCore
import AvatarFileSystem
import AvatarFiles
import AvatarImages
import AvatarMaintenance
import AvatarStoreTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct PublishingTests {
    @Test(arguments: [false, true])
    func aPublishedFileIsInItsFolderAndNoLongerStaged(isDurable: Bool) throws {
        try withPlaces { places in
            let image = try places.stage([1, 2, 3])
            try places.publish(image, as: "ab/cdef01-00000000000000cd.png", isDurable: isDurable)

            #expect(try places.publishedNames == ["ab", "ab/cdef01-00000000000000cd.png"])
            #expect(try places.stagedNames == [])
            #expect(try StoredFiles(root: places.root).read(.sample("ab/cdef01-00000000000000cd.png", 3)) == [1, 2, 3])
        }
    }

    @Test(arguments: [StorageClass.caches, .documents])
    func anImageInMemoryIsPublishedLikeAFile(storageClass: StorageClass) throws {
        try withPlaces(storageClass) { places in
            let image = StagedImage([1, 2, 3], as: .sample, in: storageClass)
            #expect(image.isInMemory)
            #expect(image.sha256 == ContentDigest.sha256([1, 2, 3]))
            #expect(try places.files.staging.read(image) == [1, 2, 3])
            #expect(try places.stagedNames == [])

            try places.publish(image, as: "ab/cdef01-00000000000000cd.png", isDurable: storageClass == .documents)

            #expect(try places.stagedNames == [])
            #expect(try StoredFiles(root: places.root).read(.sample("ab/cdef01-00000000000000cd.png", 3)) == [1, 2, 3])
        }
    }

    /// A durable image is staged first, another one is written under its name.
    @Test(arguments: [
        (FaultyFileSystem.Call.open, false), (.write, false), (.open, true), (.write, true), (.synchronize, true),
        (.rename, true),
    ])
    func anImageInMemoryThatCannotBePublishedLeavesNoFile(call: FaultyFileSystem.Call, isDurable: Bool) throws {
        try withPlaces { places in
            let image = StagedImage([1, 2, 3], as: .sample, in: .caches)
            try FileManager.default.createDirectory(
                atPath: places.root.path + "/ab",
                withIntermediateDirectories: false
            )
            // The folder is opened before the file.
            let path: String? = call == .open ? (isDurable ? "caches-" : "1.png") : nil
            places.system.fail(call, with: ENOSPC, matching: path)

            let error = thrownError { try places.publish(image, as: "ab/1.png", isDurable: isDurable) }
            #expect(error?.code == .diskFull)

            #expect(try places.stagedNames == [])
            #expect(try places.publishedNames == ["ab"])
            try places.publish(image, as: "ab/1.png", isDurable: isDurable)
            #expect(try places.publishedNames == ["ab", "ab/1.png"])
        }
    }

    @Test func nothingIsPublishedAfterTheEndOfStaging() throws {
        try withPlaces { places in
            places.files.staging.end()

            let image = StagedImage([1, 2, 3], as: .sample, in: .caches)
            let error = thrownError { try places.publish(image, as: "ab/1.png", isDurable: false) }

            #expect(error?.code == .storage)
            let names = try places.publishedNames
            #expect(names == [])
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

    /// A purged file is a miss, not an error.
    @Test func aPublishedFileIsMadeDurableLater_ifItIsThere() throws {
        try withPlaces { places in
            let file = try places.publish([1])

            try places.files.synchronize(published: file.path, sha256: [], rewriting: false)
            try places.files.unlink(file.path)
            try places.files.synchronize(published: file.path, sha256: [], rewriting: false)

            #expect(try places.publishedNames == ["ab"])
        }
    }

    @Test func unlinkingAMissingFileIsNoError() throws {
        try withPlaces { places in
            let file = try places.publish([1])

            try places.files.unlink(file.path)
            try places.files.unlink(file.path)
            try places.files.unlink("no-such-folder/file.png")
            try places.files.unlink("ab/1.png/below-a-file")

            #expect(try places.publishedNames == ["ab"])
        }
    }

    /// The store works in the root that it opened, even if another directory has taken its path.
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

@Suite(.timeLimit(.minutes(5))) struct FileNameTests {
    private static let digest = [UInt8](0x12...0x31)

    @Test(arguments: [(ImageFormat.png, "png"), (.jpeg, "jpg"), (.svg, "svg"), (ImageFormat(rawValue: "x/y"), "img")])
    func aNameHasTheDocumentedForm(format: ImageFormat, fileExtension: String) throws {
        var words = RandomWords()
        let name = FilePath.make(sha256: Self.digest, format: format, &words)

        let form = try Regex("12/131415-[0-9a-f]{16}\\.\(fileExtension)")
        #expect(name.wholeMatch(of: form) != nil, "\(name)")
    }

    @Test func noNameIsMadeTwice() {
        var words = RandomWords()
        var names: [String] = []
        for _ in 0..<10_000 { names.append(FilePath.make(sha256: Self.digest, format: .png, &words)) }

        #expect(Set(names).count == names.count)
    }

    @Test func digitsAreTwoAByteInLowerCase() {
        #expect(Hexadecimal.text([0x00, 0x0F, 0xA0, 0xFF]) == "000fa0ff")
        #expect(Hexadecimal.text([]) == "")
        #expect(Hexadecimal.random64().wholeMatch(of: /[0-9a-f]{16}/) != nil)
    }
}

@Suite(.timeLimit(.minutes(5))) struct ImageNameTests {
    @Test(
        "names are what a person would call the image, and safe everywhere",
        arguments: [
            ("name:Ada", "Ada.png"), ("name:me.png", "me.png"), ("name:me.jpg", "me.png"),
            ("name:p0.old.JPEG", "p0.old.png"), ("name:notes.txt", "notes.txt.png"), ("name:.webp", "webp.png"),
            ("name:../../etc/passwd", "_.._etc_passwd.png"), ("name:/", "_.png"), ("name:..", "image.png"),
            ("name:.hidden", "hidden.png"), ("name:-rf", "rf.png"), ("name:CON", "_CON.png"),
            ("name:lpt1.x", "_lpt1.x.png"), ("name:a\u{202E}gnp", "a_gnp.png"), ("name:a\nb\u{7F}", "a_b_.png"),
            ("name:Z\u{030C}ofie", "\u{17D}ofie.png"), ("name:a:b*c?", "a_b_c_.png"), ("name: x ", "x.png"),
            ("contact:42#2", "42_2.png"), ("https://example.com/p/ada.png?size=9", "ada.png"),
            ("https://example.com/p/Eva%20M.PNG", "Eva M.png"), ("https://example.com/%2e%2e%2fx", "_x.png"),
            ("https://example.com/", "example.com.png"), ("my key", "my key.png"),
        ]
    )
    func names(key: String, name: String) throws {
        #expect(ImageFileName.make(for: AvatarKey(stored: key), format: .png) == name)
    }

    @Test("a name fits into a folder, whole characters only, however long its key")
    func length() throws {
        let key = try AvatarKey(name: String(repeating: "👩‍👩‍👧Ž", count: 40))
        let name = ImageFileName.makeDistinct(for: key, format: .jpeg)
        #expect(name.utf8.count < 128)
        #expect(name.hasSuffix(".jpg"))
        #expect(ImageFolder.isPlain(name))
    }

    @Test("two keys of one name are told apart")
    func distinct() throws {
        let keys = ["https://a.example/ada.png", "https://b.example/ada.png"].map(AvatarKey.init(stored:))
        #expect(Set(keys.map { ImageFileName.make(for: $0, format: .png) }).count == 1)
        #expect(Set(keys.map { ImageFileName.makeDistinct(for: $0, format: .png) }).count == 2)
    }

    @Test(arguments: [
        ("Ada.png", "Ada"), ("a.b.jpg", "a.b"), ("noending", "noending"), ("Z\u{030C}.png", "\u{17D}"),
        (".png", ".png"),
    ])
    func imagesAreCalledAfterTheirFiles(file: String, name: String) {
        #expect(ImageFileName.imageName(ofFile: file) == name)
    }

    @Test(arguments: [
        ("..", false), (".", false), ("", false), ("a/b", false), ("../x", false), ("a\0b", false), ("..a", true),
    ])
    func onlyPlainNamesLieInTheFolder(name: String, isPlain: Bool) {
        #expect(ImageFolder.isPlain(name) == isPlain)
    }
}
