import AvatarCore
import AvatarSQLite
import Testing

@testable import AvatarIndex

/// Entries and files that an earlier transaction has read are not read again, unless they may have changed.
@Suite(.timeLimit(.minutes(5))) struct SeenStateTests {
    private static let key = AvatarKey.stored("https://example.com/a.png")

    // MARK: Between two transactions

    @Test func theNextTransactionFollows() throws {
        try withIndex { index in
            let moment = try index.write { transaction in
                try transaction.add("a")
                return try transaction.moment()
            }

            #expect(try index.write { try $0.follows(moment) } == true)
            // Now another transaction is in between.
            #expect(try index.write { try $0.follows(moment) } == false)
        }
    }

    @Test func aCommitOfAnotherConnectionIsSeen() throws {
        try withIndex { index in
            let moment = try index.write { try $0.moment() }
            try PlainSQL.run("UPDATE host SET failure_count = 0", in: index.path)
            #expect(try index.write { try $0.follows(moment) } == true, "nothing was written")

            let other = try index.write { try $0.moment() }
            try PlainSQL.run("INSERT INTO setting (name, value) VALUES ('x', 1)", in: index.path)
            #expect(try index.write { try $0.follows(other) } == false)
        }
    }

    /// Whether any image is ignored is read once for both steps of publishing.
    @Test func anImageThatAnotherConnectionIgnoresInBetweenIsSeen() throws {
        try withIndex { index in
            let digest = FileRecord.sampleDigest(1)
            let moment = try index.write { transaction in
                #expect(try !transaction.isIgnored(digest))
                #expect(try !transaction.hasPartials())
                return try transaction.moment()
            }
            try index.write { transaction in
                let follows = try transaction.follows(moment)
                #expect(follows)
                #expect(transaction.memory.rareRows?.ignoresImages == false, "it need not be read again")
            }

            let other = try index.write { transaction in
                #expect(try !transaction.isIgnored(digest))
                return try transaction.moment()
            }
            let hex = digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            try PlainSQL.run("INSERT INTO ignored_picture VALUES (x'\(hex)', 0, 1)", in: index.path)
            try index.write { transaction in
                let (follows, isIgnored) = try (transaction.follows(other), transaction.isIgnored(digest))
                #expect(!follows && isIgnored)
            }
        }
    }

    @Test func aRollBackInBetweenIsAnotherTransaction() throws {
        struct Undone: Error {}
        try withIndex { index in
            let moment = try index.write { try $0.moment() }
            #expect(throws: Undone.self) {
                try index.write { transaction in
                    try transaction.add("a")
                    throw Undone()
                }
            }

            #expect(try index.write { try $0.follows(moment) } == false)
        }
    }

    // MARK: Within a transaction

    /// Everything that can change an entry.
    enum Touch: CaseIterable {
        case failure, validation, source, file, image, loss, eviction, evictionOfSeveral, replacement, removal, stop,
            forgottenFile, plain
    }

    @Test(arguments: Touch.allCases)
    func anEntryThatTheTransactionChangedIsReadAgain(_ touch: Touch) throws {
        try withIndex { index in
            let (file, seen) = try index.write { transaction in
                let file = try transaction.addFile(1)
                try transaction.add(Self.key.rawValue, file: file, dueAt: 5)
                return (file, try #require(try transaction.state(of: Self.key)))
            }

            try index.write { transaction in
                #expect(try transaction.state(of: Self.key, seenAs: seen)?.nextCheck == seen.nextCheck)
                try change(seen.id, file: file, touch, transaction)

                #expect(!transaction.isUntouched(seen.id))
                let now = try transaction.state(of: Self.key)
                let asSeen = try transaction.state(of: Self.key, seenAs: seen)
                #expect(asSeen?.id == now?.id)
                #expect(asSeen?.fileID == now?.fileID)
                #expect(asSeen?.failure == now?.failure)
                #expect(asSeen?.nextCheck == now?.nextCheck)
                #expect(asSeen?.sourceURL == now?.sourceURL)
            }
        }
    }

    private func change(_ id: Int64, file: Int64, _ touch: Touch, _ transaction: IndexTransaction) throws {
        switch touch {
        case .failure:
            try transaction.setFailure(.gone, count: 1, checked: Timestamp(milliseconds: 9), nextCheck: nil, of: id)
        case .validation: try transaction.setValidation(ValidationRecord(), of: id)
        case .source: try transaction.setSource("https://example.com/b.png", host: "b:443", of: id, key: Self.key)
        case .file: try transaction.setFile(transaction.addFile(2), storageClass: .caches, of: id)
        case .image:
            let sha256 = FileRecord.sampleDigest(2)
            let image = EntryImage(fileID: try transaction.addFile(2), sha256: sha256, storageClass: .caches)
            try transaction.setImage(image, of: id, key: Self.key)
        case .loss: try transaction.dropFile(of: id)
        case .eviction: _ = try transaction.retireFile(id: file, absence: .evicted, holder: "me")
        case .evictionOfSeveral: _ = try transaction.retireFiles(ids: [file], absence: .evicted, holder: "me")
        case .replacement:
            _ = try transaction.insertFile(
                .sample(9),
                sha256: FileRecord.sampleDigest(1),
                hasMetadata: nil,
                lastAccessMicroseconds: 0,
                inPlaceOf: file,
                holder: "me"
            )
        case .removal: try transaction.removeEntry(id: id)
        case .stop: try transaction.stopChecking(id)
        case .forgottenFile: try transaction.forgetFile(id: file, holder: "h")
        case .plain: try transaction.run(KeepsHits("UPDATE avatar SET failure_count = failure_count"))
        }
    }

    @Test func anEntryThatTheTransactionAddedIsFound() throws {
        try withIndex { index in
            try index.write { transaction in
                #expect(try transaction.state(of: Self.key, seenAs: nil) == nil)
                try transaction.add("https://example.com/other.png")
                #expect(try transaction.state(of: Self.key, seenAs: nil) == nil)

                let id = try transaction.add(Self.key.rawValue)
                #expect(try transaction.state(of: Self.key, seenAs: nil)?.id == id)
            }
        }
    }

    @Test func anEntryThatWasAddedPastTheFunctionIsFound() throws {
        try withIndex { index in
            try index.write { transaction in
                try transaction.run(
                    KeepsHits("INSERT INTO avatar (key, storage_class) VALUES (?, 0)"),
                    [Self.key.rawValue]
                )
                #expect(try transaction.state(of: Self.key, seenAs: nil) != nil)
            }
        }
    }

    @Test func aFileThatTheTransactionPublishedOrRemovedIsReadAgain() throws {
        try withIndex { index in
            let digest = FileRecord.sampleDigest(1)
            try index.write { transaction in
                #expect(try transaction.file(withDigest: digest, in: .caches, seenAs: nil) == nil)
                let id = try transaction.addFile(1)
                let seen = try transaction.file(withDigest: digest, in: .caches, seenAs: nil)
                #expect(seen?.id == id)
                _ = try transaction.retireFiles(ids: [id], absence: .evicted, holder: "me")
                #expect(try transaction.file(withDigest: digest, in: .caches, seenAs: seen) == nil)
            }
        }
    }

    // MARK: What follows from it

    @Test func theFeedTellsTheLastImageOfANewEntry() throws {
        try withIndex { index in
            let image = { (number: Int, transaction: IndexTransaction) in
                EntryImage(
                    fileID: try transaction.addFile(number),
                    sha256: FileRecord.sampleDigest(number),
                    storageClass: .caches
                )
            }
            try index.write { transaction in
                _ = try transaction.insertEntry(.stored("a"), image(1, transaction))
                let changed = try transaction.insertEntry(.stored("b"), image(2, transaction))
                try transaction.setImage(image(3, transaction), of: changed, key: .stored("b"))
                let lost = try transaction.insertEntry(.stored("c"), image(4, transaction))
                try transaction.dropFile(of: lost)
            }

            let told = try PlainSQL.rows("SELECT key, kind, sha256 FROM content_change ORDER BY key", in: index.path)
            let digests = [1, 3].map { "\(Value.blob(FileRecord.sampleDigest($0)))" }
            #expect(told == ["a|added|\(digests[0])", "b|added|\(digests[1])"])
        }
    }

    @Test func anInterruptedDownloadIsSeenOnceItIsKept() throws {
        try withIndex { index in
            try index.write { transaction in
                #expect(try transaction.hasPartials() == false)
                try transaction.keepPartial(
                    PartialRecord(
                        key: Self.key,
                        storageClass: .caches,
                        name: "x",
                        url: "u",
                        etag: "\"e\"",
                        sizeBytes: 1,
                        totalBytes: nil,
                        updated: Timestamp(milliseconds: 1)
                    )
                )
                #expect(try transaction.hasPartials())
            }
        }
    }
}
