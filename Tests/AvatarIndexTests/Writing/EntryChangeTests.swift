import AvatarCore
import Testing

@testable import AvatarIndex
import AvatarReports

@Suite(.timeLimit(.minutes(5))) struct EntryChangeTests {
    private static let key = AvatarKey.stored("https://example.com/a.png")

    @Test func aKeyHasOneEntry() throws {
        try withIndex { index in
            try index.write { _ = try $0.add(Self.key.rawValue) }

            #expect(thrownCode { try index.write { _ = try $0.add(Self.key.rawValue) } } == .storage)
        }
    }

    @Test func aFailureKeepsWhatIsStored() throws {
        try withIndex { index in
            let id = try index.write { try $0.add(Self.key.rawValue, file: $0.addFile(1), dueAt: 1) }

            try index.write { transaction in
                try transaction.setFailure(
                    .serverError,
                    count: 3,
                    checked: Timestamp(milliseconds: 50),
                    nextCheck: Timestamp(milliseconds: 90),
                    of: id
                )
            }

            let entry = try #require(try index.entry(for: Self.key))
            #expect(entry.file != nil)
            #expect(entry.validation.failure == .serverError)
            #expect(entry.validation.failureCount == 3)
            #expect(entry.validation.checked == Timestamp(milliseconds: 50))
            #expect(entry.validation.nextCheck == Timestamp(milliseconds: 90))
            let state = try #require(try index.write { try $0.state(of: Self.key) })
            #expect(state.failure == .serverError)
            #expect(state.failureCount == 3)
        }
    }

    @Test func theSourceMayDifferFromTheKey() throws {
        try withIndex { index in
            let id = try index.write { transaction in
                try transaction.insertEntry(
                    .stored("crm/42"),
                    sourceURL: "https://example.com/42?signature=1",
                    host: "example.com:443",
                    storageClass: .caches
                )
            }
            #expect(try index.entry(for: .stored("crm/42"))?.sourceURL == "https://example.com/42?signature=1")

            try index.write { transaction in
                try transaction.setSource(
                    "https://cdn.example.org/42?signature=2",
                    host: "cdn.example.org:443",
                    of: id,
                    key: .stored("crm/42")
                )
            }

            #expect(try index.entry(for: .stored("crm/42"))?.sourceURL == "https://cdn.example.org/42?signature=2")
            var query = AvatarListQuery()
            query.host = "cdn.example.org"
            #expect(try index.list(query).items.map(\.key.rawValue) == ["crm/42"])
        }
    }

    /// The key stands for the URL, which is not kept twice.
    @Test func aSourceThatIsTheKeyIsStoredOnce() throws {
        try withIndex { index in
            let id = try index.write { try $0.add(Self.key.rawValue) }
            try index.write { transaction in
                try transaction.setSource(Self.key.rawValue, host: "example.com:443", of: id, key: Self.key)
            }

            #expect(try PlainSQL.rows("SELECT source_url FROM avatar", in: index.path) == ["NULL"])
            #expect(try index.entry(for: Self.key)?.sourceURL == Self.key.rawValue)
        }
    }

    @Test func aFileIsFoundByItsDigestInItsClass() throws {
        try withIndex { index in
            let (inCaches, inDocuments) = try index.write {
                try ($0.addFile(1), $0.addFile(1, storageClass: .documents))
            }
            let found = try index.write { transaction in
                try [(1, StorageClass.caches), (1, .documents), (2, .caches)].map { number, storageClass in
                    try transaction.file(withDigest: FileRecord.sampleDigest(number), in: storageClass)?.id
                }
            }
            #expect(found == [inCaches, inDocuments, nil])
        }
    }

    @Test func equalBytesHaveOneFileAClass() throws {
        try withIndex { index in
            try index.write { _ = try $0.addFile(1) }

            #expect(thrownCode { try index.write { _ = try $0.addFile(1) } } == .storage)
        }
    }

    @Test func theStoreIDIsDrawnOnce() throws {
        try withIndex { index in
            let candidates = ["a", "b"].map { String(repeating: $0, count: 32) }

            let drawn = try candidates.map { candidate in try index.write { try $0.storeID(orNew: candidate) } }

            #expect(drawn == [candidates[0], candidates[0]])
        }
    }

    @Test func theRunningSyncIsMarkedAndUnmarked() throws {
        try withIndex { index in
            try index.write { transaction in
                _ = try transaction.storeID(orNew: String(repeating: "a", count: 32))
                #expect(try transaction.syncHolder() == nil)
                try transaction.setSyncHolder("me")
                #expect(try transaction.syncHolder() == "me")
                try transaction.setSyncHolder(nil)
                #expect(try transaction.syncHolder() == nil)
            }
        }
    }

    @Test func aSettingKeepsItsLastValue() throws {
        try withIndex { index in
            #expect(try index.setting("budget") == nil)
            try index.write { try $0.setSetting("budget", to: 1) }
            try index.write { try $0.setSetting("budget", to: .max) }

            #expect(try index.setting("budget") == .max)
            #expect(try index.write { try $0.setting("budget") } == .max)
            #expect(try index.setting("low-watermark") == nil)
        }
    }
}
