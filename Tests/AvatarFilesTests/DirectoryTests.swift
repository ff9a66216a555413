import AvatarCore
import AvatarFileSystem
import AvatarFiles
import AvatarStoreTesting
import Foundation
import Synchronization
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

@Suite(.timeLimit(.minutes(5))) struct DirectoryTests {
    @Test func aRootIsMadeWithItsParents() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/one/two/three"

            let root = try Directory.makeRoot(path, mode: 0o750)

            #expect(root.path == path)
            for made in ["/one", "/one/two", "/one/two/three"] {
                #expect(try permissions(of: directory + made) == 0o750)
            }
        }
    }

    @Test func aRootThatIsThereStaysAsItIs() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/root"
            try Data([1]).write(to: URL(filePath: Directory.makeRoot(path, mode: 0o700).path + "/file"))

            let root = try Directory.makeRoot(path, mode: 0o755)

            #expect(try root.names() == ["file"])
            #expect(try permissions(of: path) == 0o700)
        }
    }

    @Test(arguments: [false, true])
    func eachFileSystemIsSynchronizedOnce(areApart: Bool) throws {
        try withTemporaryDirectory { directory in
            let disks = CountedDisks(areApart: areApart)
            let roots = try ["/one", "/two"].map { try Directory.makeRoot(directory + $0, on: disks, mode: 0o700) }

            try Directory.synchronizeFileSystems(of: roots)

            #expect(disks.synchronizations.load(ordering: .relaxed) == (areApart ? 2 : 1))
        }
    }

    @Test func aParentMayBeASymbolicLink() throws {
        try withTemporaryDirectory { directory in
            try FileManager.default.createDirectory(atPath: directory + "/real", withIntermediateDirectories: false)
            try FileManager.default.createSymbolicLink(
                atPath: directory + "/link",
                withDestinationPath: directory + "/real"
            )

            _ = try Directory.makeRoot(directory + "/link/root", mode: 0o700)

            #expect(try FileManager.default.contentsOfDirectory(atPath: directory + "/real") == ["root"])
        }
    }

    /// An obstacle at the path of a root, with the words of its error.
    enum Obstacle: String, CaseIterable {
        case symbolicLink = "is a symbolic link"
        case danglingLink = "is a symbolic link;"
        case file = "must be a directory"
        case parentIsAFile = "one of its parents is a file"
    }

    @Test(arguments: Obstacle.allCases)
    func obstaclesAreRefusedByName(obstacle: Obstacle) throws {
        try withTemporaryDirectory { directory in
            let path = try place(obstacle, in: directory)

            let error = try #require(thrownError { _ = try Directory.makeRoot(path, mode: 0o700) })

            #expect(error.code == .unusableRoot)
            #expect(error.message.contains(path) && error.message.contains(obstacle.rawValue), "\(error.message)")
        }
    }

    @Test func aMissingRootIsNotMadeByOpeningIt() throws {
        try withTemporaryDirectory { directory in
            let error = thrownError { _ = try Directory.openRoot(directory + "/none") }

            #expect(error?.code == .storage)
            #expect(error?.message.contains(directory + "/none") == true)
            #expect(!FileManager.default.fileExists(atPath: directory + "/none"))
        }
    }

    @Test func eachCallReadsTheNamesAgain() throws {
        try withTemporaryDirectory { directory in
            let folder = try Directory(opening: directory)
            #expect(try folder.names() == [])

            for name in ["b", ".hidden", "Zoë 🦊"] { try Data().write(to: URL(filePath: directory + "/" + name)) }

            #expect(try folder.names().sorted() == [".hidden", "Zoë 🦊", "b"])
            #expect(try folder.names().count == 3)
        }
    }

    @Test func theFileSystemHasRoom() throws {
        try withTemporaryDirectory { directory in
            let bytes = try Directory(opening: directory).freeBytes()
            #expect(bytes > 0)
        }
    }

    private func place(_ obstacle: Obstacle, in directory: String) throws -> String {
        let path = directory + "/root"
        switch obstacle {
        case .symbolicLink:
            try FileManager.default.createDirectory(atPath: directory + "/real", withIntermediateDirectories: false)
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: directory + "/real")
        case .danglingLink:
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: directory + "/none")
        case .file:
            try Data([1]).write(to: URL(filePath: path))
        case .parentIsAFile:
            try Data([1]).write(to: URL(filePath: path))
            return path + "/below/it"
        }
        return path
    }
}

@Suite(.timeLimit(.minutes(5))) struct DiskUsageTests {
    @Test func everythingBelowAFolderCounts() throws {
        try withPlaces { places in
            _ = try places.publish([UInt8](repeating: 1, count: 5000), as: "ab/1.png")
            _ = try places.publish([1, 2, 3], as: "cd/2.png")
            let outside = places.staging.path
            try FileManager.default.createSymbolicLink(
                atPath: places.root.path + "/cd/link",
                withDestinationPath: outside
            )

            let usage = DiskUsage(folder: places.root.path, on: LocalFileSystem())

            // A link counts with its own length, that of its target's name.
            #expect(usage.bytes == 5003 + outside.utf8.count)
            #expect(usage.allocatedBytes >= 5000 && usage.allocatedBytes % 512 == 0)
            #expect(DiskUsage(file: places.root.path + "/ab/1.png", on: LocalFileSystem()).bytes == 5000)
        }
    }

    @Test func missingFilesCountAsZero() throws {
        try withTemporaryDirectory { directory in
            #expect(DiskUsage(folder: directory + "/none", on: LocalFileSystem()).bytes == 0)
            #expect(DiskUsage(file: directory + "/none", on: LocalFileSystem()).allocatedBytes == 0)
            #expect(DiskUsage(folder: directory, on: LocalFileSystem()).bytes == 0)
        }
    }
}

/// Opening paths beneath a directory gives the same result in one call and component by component.
@Suite(.timeLimit(.minutes(5))) struct BeneathTests {
    private static let cases: [(path: String, isThere: Bool)] = [
        ("plain", true), ("ab/plain", true), ("ab/cd/plain", true),
        ("none", false), ("ab/none", false), ("plain/below", false), ("", false),
        ("../secret", false), ("ab/../../secret", false), ("ab/../plain", false), ("./../secret", false),
        ("ab//plain", false), ("linked", false), ("up/secret", false), ("ab/up/secret", false), ("inner/plain", false),
        (String(repeating: "x", count: 300), false), ("/etc/hostname", false),
    ]

    @Test(arguments: cases, [true, false])
    func noPathLeadsOutOfTheDirectory(_ subject: (path: String, isThere: Bool), inOneCall: Bool) throws {
        try withTemporaryDirectory { directory in
            let manager = FileManager.default
            let root = directory + "/root"
            try manager.createDirectory(atPath: root + "/ab/cd", withIntermediateDirectories: true)
            for name in ["root/plain", "root/ab/plain", "root/ab/cd/plain"] {
                try Data("plain".utf8).write(to: URL(filePath: directory + "/" + name))
            }
            try Data("secret".utf8).write(to: URL(filePath: directory + "/secret"))
            for (link, target) in [
                ("linked", "../secret"), ("up", ".."), ("ab/up", "../.."), ("inner", "ab"),
            ] {
                try manager.createSymbolicLink(atPath: root + "/" + link, withDestinationPath: target)
            }
            let folder = try Directory(opening: root)

            // The kernel accepts such components; the store never makes them.
            if ["ab//plain", "ab/../plain"].contains(subject.path) && inOneCall { return }
            do throws(SystemCallError) {
                let system = LocalFileSystem()
                let file =
                    inOneCall
                    ? try folder.openBeneath(subject.path, O_RDONLY)
                    : system.openBeneathByParts(folder.descriptor, subject.path, O_RDONLY)
                guard file >= 0 else { throw SystemCallError("open", subject.path) }
                defer { close(file) }
                #expect(subject.isThere)
                var bytes = [UInt8](repeating: 0, count: 10)
                let count = read(file, &bytes, 10)
                #expect(count == 5 && bytes.starts(with: "plain".utf8))
            } catch {
                #expect(!subject.isThere, "\(error)")
            }
        }
    }

    /// Here `..` stays within the root, but the store never makes such a path.
    @Test(arguments: ["ab/../../secret", "/etc/hostname", ".", "ab/.", "", "ab//cdef01-0123456789abcdef.png", "ab"])
    func onlyPublishedNamesAreRead(path: String) throws {
        try withPlaces { places in
            let file = try places.publish([1, 2, 3])
            let stored = StoredFiles(root: places.root)

            #expect(try stored.read(.sample(path, 3)) == nil)
            #expect(try !stored.contains(.sample(path, 3)))
            #expect(try stored.withDescriptor(of: .sample(path, 3)) { $0 } == nil)
            #expect(try stored.read(file) == [1, 2, 3])
        }
    }

    @Test func aDigestIsReadFromAName() {
        #expect(FilePath.digestPrefix(of: "ab/cdef01-0123456789abcdef.png") == [0xab, 0xcd, 0xef, 0x01])
        #expect(FilePath.isPublishedName("ab/cdef01-0123456789abcdef.png"))
        for path in [
            "", "ab", "ab/cdef01-0123456789abcdef.", "AB/cdef01-0123456789abcdef.png", "ab/cdef01-0123456789abcdef.p/g",
            "ab/cdef01-0123456789abcdef.p\0g", "../cdef01-0123456789abcdef.png", "/ab/cdef01-0123456789abcdef.png",
        ] { #expect(!FilePath.isPublishedName(path), "\(path)") }
    }
}

/// Counts `syncfs`. Each folder may seem to be on a disk of its own.
private final class CountedDisks: ForwardingFileSystem {
    let real = LocalFileSystem()
    let synchronizations = Atomic(0)
    private let areApart: Bool

    init(areApart: Bool) { self.areApart = areApart }

    func fstat(_ file: Int32, _ information: inout stat) -> Int32 {
        defer { if areApart { information.st_dev = dev_t(information.st_ino) } }
        return real.fstat(file, &information)
    }

    func syncfs(_ file: Int32) -> Int32 {
        synchronizations.add(1, ordering: .relaxed)
        return 0
    }
}
