import AvatarCore
import AvatarSQLite
import Testing

@testable import AvatarIndex

/// Images that many contacts have from one host.
@Suite(.timeLimit(.minutes(5))) struct SharedImageTests {
    @Test func sharedImageIsCountedByContactsOfOneHost() throws {
        try withIndex { index in
            try index.write { transaction in
                // 3 entries of one host, one of them with 2 contacts, and an entry of another host.
                let silhouette = try transaction.addFile(1)
                for number in 1...3 { try add(number, host: "a.example:443", silhouette, transaction) }
                try transaction.link("more", to: add(4, host: "a.example:443", silhouette, transaction))
                try add(5, host: "b.example:443", silhouette, transaction)
                // One entry with 4 contacts.
                let logo = try add(6, host: "b.example:443", transaction.addFile(2), transaction)
                for contact in ["x", "y", "z"] { try transaction.link(contact, to: logo) }
                // A contact that has the image twice counts once.
                let twice = try transaction.addFile(3)
                for number in 7...9 {
                    let id = try transaction.add(
                        "https://c.example/\(number)",
                        host: "c.example:443",
                        file: twice
                    )
                    try transaction.link("same", to: id)
                }
                // Own images have no host.
                let own = try transaction.add("name:logo", host: nil, file: transaction.addFile(4))
                for contact in ["x", "y", "z"] { try transaction.link(contact, to: own) }
            }

            let found = try index.sharedImages(minimum: 3, after: nil, limit: 9)

            #expect(found.map(\.sha256) == [FileRecord.sampleDigest(1), FileRecord.sampleDigest(2)])
            #expect(found.map(\.contacts) == [5, 4])
            #expect(found[0].hosts.map(\.name) == ["a.example:443"] && found[1].hosts.map(\.contacts) == [4])
            #expect(found[0].file?.path == FileRecord.sample(1).path)
            let all = try index.sharedImages(minimum: 1, after: nil, limit: 9)
            // Entries without a host are left out.
            #expect(all.first?.hosts.map(\.name) == ["a.example:443", "b.example:443"] && all.first?.contacts == 6)
            #expect(try index.sharedImages(minimum: 6, after: nil, limit: 9).isEmpty)
        }
    }

    @Test func pagesContinueAfterTheLastOne() throws {
        try withIndex { index in
            try index.write { transaction in
                for file in 1...5 {
                    let id = try transaction.addFile(file)
                    for number in 1...(file == 5 ? 4 : 3) {
                        try add(file * 10 + number, host: "a.example:443", id, transaction)
                    }
                }
            }
            var digests: [[UInt8]] = []
            var last: (contacts: Int, sha256: [UInt8])?
            while true {
                let page = try index.sharedImages(minimum: 2, after: last, limit: 2)
                guard let end = page.last else { break }
                digests += page.map(\.sha256)
                last = (end.contacts, end.sha256)
            }

            #expect(digests == [5, 1, 2, 3, 4].map(FileRecord.sampleDigest))
        }
    }

    /// The query scans covering indexes only, so it does not read the rows of a million entries.
    @Test func onlyCoveringIndexesAreScanned() throws {
        try withIndex { index in
            _ = try index.sharedImages(minimum: 2, after: nil, limit: 2)

            let plan = try index.readers.read { try $0.connection.queryPlan(of: AvatarIndex.sharedSQL) }

            let tables = plan.filter { step in
                ["avatar", "owner", "file", "host"].contains { step.contains(" \($0) ") || step.hasSuffix(" \($0)") }
            }
            #expect(!tables.isEmpty)
            for step in tables {
                #expect(step.contains("COVERING INDEX") || step.contains("INTEGER PRIMARY KEY (rowid=?)"), "\(plan)")
            }
        }
    }

    /// An entry with the contact `c NUMBER`.
    @discardableResult
    private func add(_ number: Int, host: String, _ file: Int64, _ transaction: IndexTransaction) throws -> Int64 {
        let id = try transaction.add("https://\(host)/\(number)", host: host, file: file)
        try transaction.link("c\(number)", to: id)
        return id
    }
}
