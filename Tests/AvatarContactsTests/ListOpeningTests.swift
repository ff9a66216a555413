import AvatarContacts
import AvatarCore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ListOpeningTests {
    private static let url = "https://example.com/a"

    /// A pipe whose other side has written `text`, few enough bytes for the pipe to hold, and closed it.
    private static func pipe(holding text: String) throws -> Pipe {
        let pipe = Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        try pipe.fileHandleForWriting.close()
        return pipe
    }

    private static func message(opening path: String, as format: ContactList.Format? = nil) -> String? {
        do {
            _ = try ContactList.open(file: path, format: format)
            return nil
        } catch {
            #expect(error.code == .unreadableList)
            return error.message
        }
    }

    @Test(arguments: [
        ("people.json", ContactList.Format.json), ("/a.b/people.JSON", .json), ("people.ndjson", .ndjson),
        ("people.jsonl", .ndjson), ("people.vcf", .vcard), ("people.VCARD", .vcard), ("people.old.txt", .text),
        ("people", nil),
        ("a.json/people", nil),
        ("people.csv", .csv), ("people.TSV", .csv), ("people.xlsx", nil), ("people.", nil), ("", nil),
    ])
    func extensionChoosesTheFormat(path: String, format: ContactList.Format?) {
        #expect(ContactList.Format(path: path) == format)
    }

    @Test func opensFileByItsExtensionOrTheFormatGiven() async throws {
        try await withTemporaryDirectory { directory in
            let text = directory.appending(path: "people.txt").path
            let other = directory.appending(path: "people.list").path
            for path in [text, other] { try Data(Self.url.utf8).write(to: URL(filePath: path)) }

            #expect(try await ContactList.open(file: text).records() == [.contact(id: Self.url, Self.url)])
            #expect(
                try await ContactList.open(file: other, format: .text).records() == [.contact(id: Self.url, Self.url)]
            )
            #expect(
                Self.message(opening: other) == "\(other): the file name does not tell the format of the list; "
                    + "pass --format with one of json, ndjson, vcard, csv, ldif, text."
            )
        }
    }

    @Test func refusesMissingFileAndDirectory() async throws {
        try await withTemporaryDirectory { directory in
            let missing = directory.appending(path: "missing.json").path
            let folder = directory.appending(path: "folder.json").path
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)

            #expect(
                Self.message(opening: missing) == "\(missing): cannot open the list: No such file or directory."
            )
            #expect(Self.message(opening: folder) == "\(folder): the path is a directory; give the path of a file.")
        }
    }

    // The superuser may read everything.
    @Test(.enabled(if: geteuid() != 0))
    func refusesFileWithoutReadPermission() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "people.txt").path
            #expect(FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0]))

            #expect(Self.message(opening: path) == "\(path): cannot open the list: Permission denied.")
        }
    }

    @Test func bytesAppendedLaterAreNotRead() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "people.txt")
            try Data("a\n".utf8).write(to: file)
            let list = try ContactList.open(file: file.path)

            let handle = try FileHandle(forWritingTo: file)
            try handle.seekToEnd()
            try handle.write(contentsOf: Data("b\n".utf8))
            try handle.close()

            #expect(try list.validate() == 1)
            #expect(try await list.records() == [.contact(id: "a", "a")])
        }
    }

    @Test func fileThatShrinksWhileBeingReadIsAnError() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "people.txt")
            try Data("a\nb\n".utf8).write(to: file)
            let list = try ContactList.open(file: file.path)

            let handle = try FileHandle(forWritingTo: file)
            try handle.truncate(atOffset: 2)
            try handle.close()

            #expect(
                try list.fault()
                    == "\(file.path): the file shrank while it was being read; read it again once it is complete."
            )
        }
    }

    @Test func pipeIsReadTwiceAndStaysOpen() async throws {
        let pipe = try Self.pipe(holding: String(repeating: "{\"id\":\"a\"}\n", count: 1000))
        let descriptor = pipe.fileHandleForReading.fileDescriptor

        let list = try ContactList.open(descriptor: descriptor, format: .ndjson)

        #expect(try list.validate() == 1000)
        #expect(try await list.records() == Array(repeating: .contact(id: "a"), count: 1000))
        #expect(fcntl(descriptor, F_GETFD) >= 0)
    }

    @Test func longInputIsCopiedFromItsCurrentOffset() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "people.txt")
            let lines = String(repeating: "\(Self.url)\n", count: 20_000)
            try Data("skipped\n\(lines)".utf8).write(to: file)
            let handle = try FileHandle(forReadingFrom: file)
            try handle.seek(toOffset: 8)

            let list = try ContactList.open(descriptor: handle.fileDescriptor, format: .text)
            try handle.close()

            #expect(try await list.records() == Array(repeating: .contact(id: Self.url, Self.url), count: 20_000))
        }
    }

    @Test func pipeUnderAPathIsReadTwice() async throws {
        let pipe = try Self.pipe(holding: Self.url)

        let list = try ContactList.open(
            file: "/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)",
            format: .text
        )

        #expect(try list.validate() == 1)
        #expect(try await list.records() == [.contact(id: Self.url, Self.url)])
    }

    @Test func descriptorThatCannotBeReadIsNamed() {
        let error = #expect(throws: AvatarStoreError.self) { try ContactList.open(descriptor: -1, format: .text) }

        #expect(error?.message == "standard input: cannot read the list: Bad file descriptor.")
    }
}
