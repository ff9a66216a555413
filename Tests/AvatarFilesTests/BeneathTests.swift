import AvatarFiles
import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Paths are opened beneath a directory, in one call or part by part, with the same result.
@Suite struct BeneathTests {
    private static let cases: [(path: String, isThere: Bool)] = [
        ("plain", true), ("ab/plain", true), ("ab/cd/plain", true),
        ("none", false), ("ab/none", false), ("plain/below", false), ("", false),
        ("../secret", false), ("ab/../../secret", false), ("ab/../plain", false), ("./../secret", false),
        ("ab//plain", false), ("linked", false), ("up/secret", false), ("ab/up/secret", false), ("inner/plain", false),
        (String(repeating: "x", count: 300), false), ("/etc/hostname", false),
    ]

    @Test(arguments: cases, [true, false])
    func noPathLeadsOut(_ subject: (path: String, isThere: Bool), inOneCall: Bool) throws {
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

            // The kernel lets parts through that lead nowhere else; no name of ours has them.
            if ["ab//plain", "ab/../plain"].contains(subject.path) && inOneCall { return }
            do throws(SystemCallError) {
                let file = try folder.openBeneath(subject.path, O_RDONLY, inOneCall: inOneCall)
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

    /// Within the root `..` leads nowhere else, but no name of ours has it.
    @Test(arguments: ["ab/../../secret", "/etc/hostname", ".", "ab/.", "", "ab//cdef01-0123456789abcdef.png", "ab"])
    func onlyPublishedNamesAreRead(path: String) throws {
        try withPlaces { places in
            let file = try places.publish([1, 2, 3])
            let stored = StoredFiles(root: places.root)

            #expect(try stored.read(.sample(path, 3)) == nil)
            #expect(!stored.contains(.sample(path, 3)))
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
