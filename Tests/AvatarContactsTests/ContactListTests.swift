import AvatarContacts
import AvatarCore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ContactListTests {
    private static let contacts = ContactList.of("[{\"id\":\"a\"},{\"id\":\"b\"}]", as: .json)

    @Test func eachIteratorStartsFromTheBeginning() async throws {
        var first = Self.contacts.makeAsyncIterator()
        #expect(try await first.next() == .contact(id: "a"))

        var second = Self.contacts.makeAsyncIterator()

        #expect(try await second.next() == .contact(id: "a"))
        #expect(try await first.next() == .contact(id: "b"))
        #expect(try await first.next() == nil)
        #expect(try await first.next() == nil)
        #expect(try await second.next() == .contact(id: "b"))
    }

    @Test func recordsBeforeAFaultAreRead_andTheFaultIsThrownOnce() async throws {
        var iterator = ContactList.of("[{\"id\":\"a\"},{", as: .json).makeAsyncIterator()

        #expect(try await iterator.next() == .contact(id: "a"))
        await #expect(throws: AvatarStoreError.self) { try await iterator.next() }
        #expect(try await iterator.next() == nil)
    }

    @Test func stopsWhenTheTaskIsCancelled() async {
        let reading = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await Self.contacts.records()
        }

        await #expect(throws: CancellationError.self) { try await reading.value }
    }

    @Test(arguments: [ContactList.Format.json, .ndjson, .csv, .text])
    func streamsFiftyThousandRecordsFromAFile(format: ContactList.Format) async throws {
        let count = 50_000
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "people")
            try Data(Self.longList(of: count, as: format).utf8).write(to: file)
            let list = try ContactList.open(file: file.path, format: format)

            #expect(try list.validate() == count)
            var index = 0
            for try await record in list {
                guard record.id == "https://example.com/\(index)" else { break }
                index += 1
            }
            #expect(index == count)
        }
    }

    private static func longList(of count: Int, as format: ContactList.Format) -> String {
        let urls = (0..<count).lazy.map { "https://example.com/\($0)" }
        let objects = urls.map { "{\"id\":\"\($0)\",\"avatarURL\":\"\($0)\"}" }
        return switch format {
        case .json: "{\"contacts\":[\n" + objects.joined(separator: ",\n") + "\n]}\n"
        case .csv: "id,photo\n" + urls.map { "\($0),\($0)" }.joined(separator: "\n")
        case .text: urls.joined(separator: "\r\n")
        default: objects.joined(separator: "\n")
        }
    }
}
