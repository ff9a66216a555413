import AvatarCore
import AvatarFileSystem
import AvatarFiles
import AvatarStoreTesting
import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A failed call becomes an error that names the call, the path and the reason, and leaves nothing behind.
@Suite(.timeLimit(.minutes(5))) struct FailureTests {
    static let codes: [(Int32, AvatarStoreError.Code, String)] = [
        (ENOSPC, .diskFull, "The disk is full"),
        (EDQUOT, .diskFull, "The disk is full"),
        (EACCES, .readOnly, "refused"),
        (EROFS, .readOnly, "Mount that file system"),
        (EPERM, .readOnly, "refused"),
        (EIO, .storage, "Cannot"),
    ]

    @Test(arguments: codes)
    func aFailedWriteLeavesNothing(number: Int32, code: AvatarStoreError.Code, words: String) throws {
        try withPlaces { places in
            do {
                let file = try places.files.staging.stage()
                places.system.fail(.write, with: number, after: 1)
                try file.write([1, 2, 3])

                let error = try #require(thrownError { try file.write([4]) })

                #expect(error.code == code)
                #expect(error.failure == .storage)
                #expect((error.underlying as? SystemCallError)?.number == number)
                for part in [words, "write", places.staging.path, String(cString: strerror(number))] {
                    #expect(error.message.contains(part), "\(error.message)")
                }
                // Bytes that were not written are not counted.
                #expect(file.byteCount == 3)
            }
            #expect(try places.stagedNames == [])
        }
    }

    @Test(arguments: codes)
    func aFileThatCannotBeStagedLeavesNothing(number: Int32, code: AvatarStoreError.Code, words: String) throws {
        try withPlaces { places in
            places.system.fail(.open, with: number)

            let error = thrownError { _ = try places.files.staging.stage() }

            #expect(error?.code == code)
            let names = try places.stagedNames
            #expect(names == [])
        }
    }

    @Test(arguments: codes)
    func aFailedRenameKeepsTheFileStaged(number: Int32, code: AvatarStoreError.Code, words: String) throws {
        try withPlaces { places in
            let image = try places.stage([1])
            try FileManager.default.createDirectory(
                atPath: places.root.path + "/ab",
                withIntermediateDirectories: false
            )
            places.system.fail(.rename, with: number)

            let error = thrownError { try places.publish(image, as: "ab/1.png", isDurable: true) }

            #expect(error?.code == code)
            #expect(error?.message.contains("ab/1.png") == true)
            #expect(try places.publishedNames == ["ab"])
            #expect(try places.stagedNames.map(StagedImage.Content.file) == [image.content])
            try places.publish(image, as: "ab/1.png", isDurable: true)
            #expect(try places.publishedNames == ["ab", "ab/1.png"])
        }
    }

    @Test func aFolderThatCannotBeMadeKeepsTheFileStaged() throws {
        try withPlaces { places in
            let image = try places.stage([1])
            places.system.fail(.makeDirectory, with: ENOSPC)

            let error = thrownError { try places.publish(image, as: "ab/1.png", isDurable: false) }

            #expect(error?.code == .diskFull)
            #expect(try places.publishedNames == [])
            #expect(try places.stagedNames.map(StagedImage.Content.file) == [image.content])
        }
    }

    /// To survive a power loss, a file needs its bytes, its folder and the root with the new folder synchronized.
    @Test(arguments: 1...3)
    func aFileThatCannotBeMadeDurableIsAnError(count: Int) throws {
        try withPlaces(.documents) { places in
            let image = try places.stage([1])
            // The bytes are written and synchronized once more.
            places.system.fail(.synchronize, with: EIO, after: count - 1, times: count == 1 ? 2 : 1)

            let error = thrownError { try places.publish(image, as: "ab/1.png", isDurable: true) }

            #expect(error?.code == .storage)
            #expect(error?.message.contains("synchronize") == true)
        }
    }

    @Test func aFileWhoseSynchronizationFailsIsWrittenOnceMore() throws {
        try withPlaces(.documents) { places in
            let image = try places.stage([1, 2, 3])
            let written = places.system.count(of: .write)
            places.system.fail(.synchronize, with: EIO)

            try places.publish(image, as: "ab/1.png", isDurable: true)

            #expect(places.system.count(of: .write) == written + 1)
        }
    }

    @Test func nonDurableFilesAreNotSynchronized() throws {
        try withPlaces { places in
            places.system.fail(.synchronize, with: EIO)

            let file = try places.publish([1])
            #expect(try StoredFiles(root: places.root).read(file) == [1])
        }
    }

    @Test func aFileThatCannotBeUnlinkedIsAnErrorAndStays() throws {
        try withPlaces { places in
            let file = try places.publish([1])
            places.system.fail(.unlink, with: EACCES)

            #expect(thrownError { try places.files.unlink(file.path) }?.code == .readOnly)

            #expect(try StoredFiles(root: places.root).read(file) == [1])
        }
    }

    @Test func aStagingFolderThatCannotBeMadeIsAnError() throws {
        try withTemporaryDirectory { directory in
            let system = FaultyFileSystem()
            system.fail(.makeDirectory, with: EROFS)
            let folder = try Directory(opening: directory, on: system)

            let error = thrownError {
                _ = try FileStore(.caches, root: folder, staging: folder, holder: Holder(in: folder), fileMode: 0o600)
            }

            #expect(error?.code == .readOnly)
        }
    }

    /// The real call on a device that is always full (full(4)).
    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
    func aFullDiskIsReportedAsSuch() throws {
        let folder = try Directory(opening: "/dev")
        let system = LocalFileSystem()
        let file = try system.open("full", in: folder.descriptor, flags: O_WRONLY, mode: 0)
        defer { close(file) }

        let error = #expect(throws: SystemCallError.self) {
            try [UInt8](repeating: 1, count: 10).withUnsafeBytes {
                try system.write($0, to: file, at: 0, named: "/dev/full")
            }
        }

        #expect(error?.number == ENOSPC)
        #expect(error?.storeError.code == .diskFull)
    }
}
