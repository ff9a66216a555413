import Foundation
import Testing

@testable import AvatarSQLite

/// Copies of deleted texts in the unused room of a page, written there by hand.
@Suite(.timeLimit(.minutes(5))) struct RemnantTests {
    private static let secret = "https://example.org/people/ada-lovelace.png"

    @Test(
        "a copy of a deleted text is found whole and in part",
        arguments: [
            (secret, true), ("people/ada-lovelace.p", true), ("ada-love", true),
            // Less than eight bytes, or part of a text that another row has.
            ("ada-lov", false), ("https://example.org/people/", false), ("unrelated text", false),
        ]
    )
    func remnants(bytes: String, isFound: Bool) throws {
        try withTemporaryPath { path in
            try Connection.using(path) { connection in
                try connection.execute("CREATE TABLE text (content TEXT)")
                try connection.execute("INSERT INTO text VALUES ('https://example.org/people/bob.png')")
            }
            // The only row lies at the end of the second page.
            let file = try FileHandle(forUpdating: URL(filePath: path))
            try file.seek(toOffset: 4096 + 1000)
            try file.write(contentsOf: Data(bytes.utf8))
            try file.close()

            let hasRemnant = try Connection.using(path) { try $0.hasRemnant(of: [Array(Self.secret.utf8)]) }

            #expect(hasRemnant == isFound)
        }
    }
}
