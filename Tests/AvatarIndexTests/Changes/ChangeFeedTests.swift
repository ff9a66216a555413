import AvatarCore
import Testing

@testable import AvatarIndex

/// The change feed has an event for each change of an image's bytes or contacts, and no others.
@Suite(.timeLimit(.minutes(5))) struct ChangeFeedTests {
    private static let key = AvatarKey.stored("https://example.com/a.png")

    @Test func aFirstImageIsAddedForAllItsOwnersAtOnce() throws {
        try withIndex { index in
            try index.write { transaction in
                let id = try transaction.add(Self.key.rawValue, file: transaction.addFile(1))
                try transaction.link("ben", to: id)
                try transaction.link("anna", to: id)
            }

            let changes = try index.changes(since: 0, limit: 10)

            #expect(changes.told == ["added anna,ben 1"])
            #expect(changes.map(\.key) == [Self.key])
            #expect(changes.last?.sequence == (try index.lastChange()))
        }
    }

    @Test func otherBytesAreAChange_equalOnesAreNone() throws {
        try withIndex { index in
            let (id, start) = try makeImage(index, owners: "anna")

            try index.write { try $0.setFile(1, storageClass: .caches, of: id) }
            #expect(try index.changes(since: start, limit: 10) == [])
            try index.write { try $0.setFile($0.addFile(2), storageClass: .caches, of: id) }

            #expect(try index.changes(since: start, limit: 10).told == ["changed anna 2"])
        }
    }

    @Test(arguments: [Absence.evicted, .missing])
    func aImageThatWasEvictedIsNotNewWhenItComesAgain(absence: Absence) throws {
        try withIndex { index in
            let (id, start) = try makeImage(index, owners: "anna")

            let evicted = try index.write { try $0.retireFile(id: 1, absence: absence, holder: "me") }
            let pending = try #require(evicted)
            try index.write { try $0.dropPending(pending) }
            try index.write { try $0.setFile($0.addFile(1), storageClass: .caches, of: id) }
            #expect(try index.changes(since: start, limit: 10) == [])
            let again = try #require(try index.entry(for: Self.key)?.file?.id)
            _ = try index.write { try $0.retireFile(id: again, absence: absence, holder: "me") }
            try index.write { try $0.setFile($0.addFile(3), storageClass: .caches, of: id) }

            #expect(try index.changes(since: start, limit: 10).told == ["changed anna 3"])
        }
    }

    @Test func aRepairThatForgetsAFileIsNoChange() throws {
        try withIndex { index in
            let (id, start) = try makeImage(index, owners: "anna")

            try index.write { try $0.forgetFile(id: 1, holder: "h") }
            try index.write { try $0.setFile($0.addFile(1), storageClass: .caches, of: id) }

            #expect(try index.changes(since: start, limit: 10) == [])
        }
    }

    @Test func ownersComeAndGo() throws {
        try withIndex { index in
            let (id, start) = try makeImage(index, owners: "anna", "ben")

            try index.write { try $0.link("carl", to: id) }
            try index.write { _ = try $0.unlink("ben", from: id) }
            try index.write { transaction in
                _ = try transaction.unlink("anna", from: id)
                try transaction.link("dora", to: id)
                try transaction.setFile(transaction.addFile(2), storageClass: .caches, of: id)
            }
            try index.write { transaction in
                _ = try transaction.unlink("carl", from: id)
                try transaction.link("carl", to: id)
                _ = try transaction.unlink("nobody", from: id)
            }

            let told = try index.changes(since: start, limit: 10).told
            #expect(told == ["added carl 1", "removed ben 1", "removed anna 1", "changed carl 2", "added dora 2"])
        }
    }

    @Test func aRemovedEntryIsRemovedForAll() throws {
        try withIndex { index in
            let (id, start) = try makeImage(index, owners: "anna", "ben")

            try index.write { transaction in
                _ = try transaction.unlink("anna", from: id)
                _ = try transaction.removeEntry(id: id, fileID: 1, holder: "me")
            }

            #expect(try index.changes(since: start, limit: 10).told == ["removed anna,ben 1"])
        }
    }

    @Test func whatIsGoneAtItsOriginIsRemoved_evictedOrNot() throws {
        try withIndex { index in
            let (id, start) = try makeImage(index, owners: "anna")

            _ = try index.write { try $0.retireFile(id: 1, absence: .evicted, holder: "me") }
            try index.write { try $0.dropFile(of: id) }
            try index.write { try $0.dropFile(of: id) }
            try index.write { try $0.setFile($0.addFile(1), storageClass: .caches, of: id) }

            #expect(try index.changes(since: start, limit: 10).told == ["removed anna 1", "added anna 1"])
        }
    }

    @Test func entriesWithoutAImageAreNotTold() throws {
        try withIndex { index in
            try index.write { transaction in
                let id = try transaction.add(Self.key.rawValue)
                try transaction.link("anna", to: id)
            }
            try index.write { transaction in
                let id = try #require(try transaction.state(of: Self.key)).id
                try transaction.removeEntry(id: id)
            }

            #expect(try index.lastChange() == 0)
        }
    }

    @Test func aTransactionThatFailsTellsNothing() throws {
        try withIndex { index in
            let (id, start) = try makeImage(index, owners: "anna")

            #expect(throws: CancellationError.self) {
                try index.write { transaction in
                    _ = try transaction.unlink("anna", from: id)
                    throw CancellationError()
                }
            }

            #expect(try index.lastChange() == start)
        }
    }

    @Test func contactsThatLookAlikeAreTwo() throws {
        try withIndex { index in
            let (id, start) = try makeImage(index, owners: "Zoë")

            try index.write { transaction in
                try transaction.link("Zoe\u{308}", to: id)
                _ = try transaction.unlink("Zoë", from: id)
            }

            let changes = try index.changes(since: start, limit: 10)
            #expect(changes.map(\.kind) == [.removed, .added])
            #expect(changes.flatMap(\.contacts).map { Array($0.utf8).count } == [4, 5])
        }
    }

    @Test func changesComeInPages() throws {
        try withIndex { index in
            for number in 1...7 {
                try index.write { _ = try $0.add("https://example.com/\(number).png", file: $0.addFile(number)) }
            }

            var last: Int64 = 0
            var seen: [String] = []
            while let change = try index.changes(since: last, limit: 3).last {
                seen += try index.changes(since: last, limit: 3).told
                last = change.sequence
            }

            #expect(seen == (1...7).map { "added  \($0)" })
        }
    }

    // MARK: Compaction

    @Test func aReaderWhoIsTooFarBehindStartsOver() throws {
        try withTemporaryDirectory { directory in
            let index = try AvatarIndex.open(path: directory + "/index.sqlite", fileMode: 0o600, feedLimit: 10)
            let (id, start) = try makeImage(index, owners: "anna", "ben")
            for number in 2...9 {
                try index.write { try $0.setFile($0.addFile(number), storageClass: .caches, of: id) }
            }

            // Each change has two owners, so five of them are kept.
            #expect(thrownCode { _ = try index.changes(since: start, limit: 10) } == .startOver)
            let last = try index.lastChange()
            let kept = try index.changes(since: last - 10, limit: 10).told
            #expect(kept == (5...9).map { "changed anna,ben \($0)" })
            #expect(try PlainSQL.rows("SELECT count(*) FROM content_change_owner", in: index.path) == ["10"])
            #expect(thrownCode { _ = try index.changes(since: last + 1, limit: 10) } == .startOver)
            #expect(try index.changes(since: last, limit: 10) == [])
            try index.close()
        }
    }

    @Test func aFeedWithAnErasureStaysWithinItsLimit() throws {
        try withTemporaryDirectory { directory in
            let index = try AvatarIndex.open(path: directory + "/index.sqlite", fileMode: 0o600, feedLimit: 10)
            let (id, start) = try makeImage(index, owners: "anna")
            let mark = ErasedContact(
                salt: String(repeating: "0a", count: 16),
                sha256: String(repeating: "b", count: 64)
            )
            let none = try index.write {
                try $0.eraseChanges(
                    of: "ben",
                    as: mark,
                    keys: [],
                    isRemoval: true,
                    at: Timestamp(milliseconds: 7)
                )
            }
            #expect(!none)
            let erased = try index.changes(since: start, limit: 10)
            #expect(erased.map(\.kind) == [.erased] && erased.first?.erased == mark)
            #expect(erased.first?.time == Timestamp(milliseconds: 7))
            for number in 2...9 {
                try index.write { try $0.setFile($0.addFile(number), storageClass: .caches, of: id) }
            }
            #expect(try index.changes(since: 0, limit: 10).count == 10)
            for number in 10...14 {
                try index.write { try $0.setFile($0.addFile(number), storageClass: .caches, of: id) }
            }
            // The erasure is as old as other changes, and goes with them.
            let last = try index.lastChange()
            #expect(thrownCode { _ = try index.changes(since: start, limit: 10) } == .startOver)
            #expect(try index.changes(since: last - 10, limit: 20).map(\.kind) == Array(repeating: .changed, count: 10))
            #expect(try PlainSQL.rows("SELECT count(*) FROM content_change", in: index.path) == ["10"])
            #expect(
                try PlainSQL.rows("SELECT count(*) FROM setting WHERE name = 'feed-reach'", in: index.path) == ["0"]
            )
            try index.close()
        }
    }

    @Test func whatAnOlderIndexHoldsHasToBeLookedAt() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try GoldenIndex(version: 3).load(into: path)
            let index = try AvatarIndex.open(path: path, fileMode: 0o600)

            #expect(thrownCode { _ = try index.changes(since: 0, limit: 10) } == .startOver)
            let last = try index.lastChange()
            try index.write { transaction in
                let id = try #require(try transaction.state(of: .stored("https://img.example.com/anna.png"))).id
                _ = try transaction.unlink("anna", from: id)
            }
            let told = try index.changes(since: last, limit: 10)
            #expect(told.map(\.kind) == [.removed] && told.flatMap(\.contacts) == ["anna"])
            try index.close()
        }
    }

    @Test func aFeedThatBeginsAnewIsOneNobodyHasRead() throws {
        try withIndex { index in
            let (id, start) = try makeImage(index, owners: "anna")

            try index.write { try $0.restartFeed(at: Timestamp(milliseconds: 1)) }
            let again = try index.lastChange()
            try index.write { try $0.restartFeed(at: Timestamp(milliseconds: 1_700_000_000_000)) }
            try index.write { _ = try $0.unlink("anna", from: id) }

            #expect(again > start)
            for number in [0, start, again] {
                #expect(thrownCode { _ = try index.changes(since: number, limit: 10) } == .startOver)
            }
            #expect(try index.changes(since: 1_700_000_000_000, limit: 10).told == ["removed anna 1"])
        }
    }

    /// An entry with file 1; gives its id and the number of the last change.
    private func makeImage(_ index: AvatarIndex, owners: String...) throws -> (id: Int64, sequence: Int64) {
        let id = try index.write { transaction in
            let id = try transaction.add(Self.key.rawValue, file: transaction.addFile(1))
            for owner in owners { try transaction.link(owner, to: id) }
            return id
        }
        return (id, try index.lastChange())
    }
}

extension [AvatarChange] {
    /// Kind, owners, and the number of the sample file with these bytes.
    fileprivate var told: [String] {
        map { change in
            let number = (1...99).first { FileRecord.sampleDigest($0).hexadecimal == change.digest }
            return "\(change.kind) \(change.contacts.joined(separator: ",")) \(number ?? 0)"
        }
    }
}

extension [UInt8] {
    fileprivate var hexadecimal: String {
        map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
