import AvatarCore
import AvatarFileSystem
import AvatarFiles
import Foundation
import Synchronization
import Testing

/// The walk to a folder that an export writes into.
@Suite(.timeLimit(.minutes(5))) struct TargetPathTests {
    private func makeFolder(_ path: String, mode: mode_t = 0o755) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try #require(chmod(path, mode) == 0)
    }

    private func makeLink(_ path: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
    }

    private func inode(_ path: String) throws -> ino_t {
        var information = stat()
        try #require(stat(path, &information) == 0)
        return information.st_ino
    }

    private func inode(_ directory: Directory?) throws -> ino_t {
        var information = stat()
        try #require(fstat(#require(directory).descriptor, &information) == 0)
        return information.st_ino
    }

    @Test func missingFoldersAreMade_unlessNothingMayBe() throws {
        try withTemporaryDirectory { place in
            let path = place + "/a/b/c"
            #expect(try Directory.openTarget(path, mode: nil) == nil)
            #expect(!LocalFileSystem().exists(place + "/a"))
            let made = try Directory.openTarget(path, mode: 0o700)
            #expect(try inode(made) == inode(path))
            #expect(try inode(Directory.openTarget(path, mode: nil)) == inode(path))
            #expect(made?.path == path)
        }
    }

    @Test(arguments: ["target", "missing", "file"])
    func linkInThePlaceOfTheFolderIsRefused(target: String) throws {
        try withTemporaryDirectory { place in
            try makeFolder(place + "/target")
            try Data().write(to: URL(filePath: place + "/file"))
            try makeLink(place + "/out", to: target)
            for mode in [nil, 0o700] as [UInt32?] {
                #expect { try Directory.openTarget(place + "/out", mode: mode) } throws: {
                    ($0 as? AvatarStoreError)?.code == .unusableRoot
                }
            }
            #expect(!LocalFileSystem().exists(place + "/missing"))
        }
    }

    @Test func fileInTheWayIsRefused() throws {
        try withTemporaryDirectory { place in
            try Data().write(to: URL(filePath: place + "/file"))
            for path in ["/file", "/file/out"] {
                #expect { try Directory.openTarget(place + path, mode: 0o700) } throws: {
                    ($0 as? AvatarStoreError)?.message.contains("must be a directory") == true
                }
            }
        }
    }

    @Test func linkOnTheWayIsFollowed_ifNoOtherUserCanChangeIt() throws {
        try withTemporaryDirectory { place in
            try makeFolder(place + "/real/in")
            try makeFolder(place + "/links")
            try makeLink(place + "/links/absolute", to: place + "/real")
            try makeLink(place + "/links/relative", to: "../links/./absolute/in")
            try makeLink(place + "/links/loop", to: "loop")
            let folder = try Directory.openTarget(place + "/links/relative/out", mode: 0o700)
            #expect(try inode(folder) == inode(place + "/real/in/out"))
            #expect(throws: AvatarStoreError.self) { try Directory.openTarget(place + "/links/loop/out", mode: 0o700) }

            // A sticky folder, such as /tmp, protects the links of each user.
            for (mode, isFollowed) in [(0o777, false), (0o775, false), (0o1777, true), (0o755, true)] {
                try makeFolder(place + "/links", mode: mode_t(mode))
                let result = Result { try Directory.openTarget(place + "/links/absolute/out", mode: 0o700) }
                #expect((try? result.get() != nil) == (isFollowed ? true : nil), "\(String(mode, radix: 8))")
            }
        }
    }

    @Test(.enabled(if: geteuid() == 0, "Only root can make links of another user."))
    func linkOfAnotherUserIsNotFollowed() throws {
        try withTemporaryDirectory { place in
            try makeFolder(place + "/real")
            try makeFolder(place + "/links", mode: 0o1777)
            try makeLink(place + "/links/theirs", to: place + "/real")
            try #require(lchown(place + "/links/theirs", 65534, 65534) == 0)
            #expect { try Directory.openTarget(place + "/links/theirs/out", mode: 0o700) } throws: {
                ($0 as? AvatarStoreError)?.message.contains("that another user can change") == true
            }
            try makeFolder(place + "/theirs")
            try makeLink(place + "/theirs/ours", to: place + "/real")
            try #require(chown(place + "/theirs", 65534, 65534) == 0)
            #expect(throws: AvatarStoreError.self) { try Directory.openTarget(place + "/theirs/ours/out", mode: 0o700) }
            #expect(try FileManager.default.contentsOfDirectory(atPath: place + "/real") == [])
        }
    }

    @Test func linkThatIsSwappedInIsNeverOpened() throws {
        try withTemporaryDirectory { place in
            try makeFolder(place + "/out")
            try makeFolder(place + "/target")
            try makeLink(place + "/link", to: place + "/target")
            let expected = try inode(place + "/out")
            let isDone = Atomic(false)
            let swaps = Atomic(0)
            let thread = Thread {
                while !isDone.load(ordering: .relaxed) {
                    rename(place + "/out", place + "/aside")
                    rename(place + "/link", place + "/out")
                    rename(place + "/out", place + "/link")
                    rename(place + "/aside", place + "/out")
                    swaps.add(1, ordering: .relaxed)
                }
                isDone.store(false, ordering: .releasing)
            }
            thread.start()
            var opened = 0
            // Both outcomes occur within a few rounds.
            while opened < 200 || swaps.load(ordering: .relaxed) < 200 {
                guard let folder = try? Directory.openTarget(place + "/out", mode: nil) else { continue }
                opened += 1
                #expect(try inode(folder) == expected)
            }
            isDone.store(true, ordering: .relaxed)
            while isDone.load(ordering: .acquiring) { sched_yield() }
        }
    }
}
