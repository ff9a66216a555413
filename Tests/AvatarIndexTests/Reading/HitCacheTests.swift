import AvatarCore
import Testing

@testable import AvatarIndex

@Suite(.timeLimit(.minutes(5))) struct HitCacheTests {
    private static let first = AvatarKey.stored("https://example.com/a.png")
    private static let second = AvatarKey.stored("https://example.com/b.png")

    /// An index with two entries, both of which were used.
    private func withUsedIndex(_ body: (AvatarIndex, _ first: Int64, _ second: Int64) throws -> Void) throws {
        try withIndex { index in
            let (first, second) = try index.write { transaction in
                (
                    try transaction.add(Self.first.rawValue, file: transaction.addFile(1)),
                    try transaction.add(Self.second.rawValue, file: transaction.addFile(2))
                )
            }
            try use(index)
            try body(index, first, second)
        }
    }

    private func use(_ index: AvatarIndex) throws {
        for key in [Self.first, Self.second] { try use(key, in: index) }
    }

    /// Looks `key` up until it is remembered. That is the second time, but for the moment in which the snapshot of the first connection is
    /// released: then a second connection is opened, and does not keep what it looks up first.
    private func use(_ key: AvatarKey, in index: AvatarIndex) throws {
        for _ in 0..<20 where index.rememberedHit(for: key) == nil { #expect(try index.hit(for: key) != nil) }
    }

    @Test("what was used is found without SQLite")
    func usedEntriesAreRemembered() throws {
        try withUsedIndex { index, _, _ in
            #expect(index.rememberedHit(for: Self.first)?.file.path == "ab/1.png")
            #expect(index.rememberedHit(for: .stored("https://example.com/A.png")) == nil)
        }
    }

    @Test("what a connection looks up first is not kept, what it looks up again is")
    func onlyWhatIsAskedForAgainIsRemembered() throws {
        try withIndex { index in
            try index.write { _ = try $0.add(Self.first.rawValue, file: $0.addFile(1)) }

            #expect(try index.hit(for: Self.first) != nil)
            #expect(index.rememberedHit(for: Self.first) == nil)
            try use(Self.first, in: index)
            #expect(index.rememberedHit(for: Self.first) != nil)
        }
    }

    @Test("what a transaction looks up at its end is found without SQLite after the commit, and not after a rollback")
    func whatATransactionLooksUpIsRemembered() throws {
        try withUsedIndex { index, first, _ in
            let third = AvatarKey.stored("https://example.com/c.png")
            let (file, hit) = try index.write { transaction in
                _ = try transaction.add(third.rawValue, file: transaction.addFile(3))
                try transaction.setFile(transaction.addFile(4), storageClass: .caches, of: first)
                return (try transaction.hit(for: Self.first)?.file.id, try transaction.hit(for: third))
            }
            #expect(hit?.file.path == "ab/3.png")
            #expect(index.rememberedHit(for: third) === hit)
            #expect(index.rememberedHit(for: Self.first)?.file.id == file)

            #expect(throws: CancellationError.self) {
                try index.write { transaction in
                    try transaction.setFile(transaction.addFile(5), storageClass: .caches, of: first)
                    _ = try transaction.hit(for: Self.first)
                    throw CancellationError()
                }
            }
            #expect(try index.hit(for: Self.first)?.file.id == file)
            try index.write { try $0.setFile($0.addFile(6), storageClass: .caches, of: first) }
            #expect(index.rememberedHit(for: Self.first) == nil)
        }
    }

    @Test("a time of access makes nothing be forgotten")
    func touchesForgetNothing() throws {
        try withUsedIndex { index, _, _ in
            let file = try #require(index.rememberedHit(for: Self.first)).file.id

            try index.write { try $0.touch(fileID: file, microseconds: 5_000_000) }

            #expect(index.rememberedHit(for: Self.first) != nil)
            #expect(index.rememberedHit(for: Self.second) != nil)
        }
    }

    @Test(
        "a change of this process makes what it changed be forgotten, and nothing else",
        arguments: Alteration.allCases
    )
    func ownChanges(alteration: Alteration) throws {
        try withUsedIndex { index, first, _ in
            let file = try #require(index.rememberedHit(for: Self.first)).file.id

            try index.write { try alteration.make($0, entry: first, file: file) }

            #expect(index.rememberedHit(for: Self.first) == nil)
            #expect(index.rememberedHit(for: Self.second) != nil)
            let found = try index.hit(for: Self.first)
            #expect(found.map { Alteration.Seen($0) } == alteration.seen)
        }
    }

    @Test("what was rolled back makes nothing be forgotten")
    func rolledBackChanges() throws {
        try withUsedIndex { index, first, _ in
            #expect(throws: AvatarStoreError.self) {
                try index.write { transaction in
                    try transaction.removeEntry(id: first)
                    try transaction.run(KeepsHits("nonsense"))
                }
            }

            #expect(index.rememberedHit(for: Self.first) != nil)
            let found = try index.hit(for: Self.first)
            #expect(found?.entryID == first)
        }
    }

    @Test("any commit of another program makes everything be looked up again")
    func foreignCommits() throws {
        try withUsedIndex { index, _, _ in
            try PlainSQL.run("DELETE FROM avatar WHERE key = '\(Self.first.rawValue)'", in: index.path)

            #expect(index.rememberedHit(for: Self.second) == nil)
            #expect(try index.hit(for: Self.first) == nil)
            #expect(try index.hit(for: Self.second)?.file.path == "ab/2.png")
        }
    }

    @Test("a commit of another program right after one of this process is not taken for it")
    func foreignCommitAfterOwn() throws {
        try withUsedIndex { index, _, second in
            let file = try #require(index.rememberedHit(for: Self.first)).file.id
            for number in 0..<20 {
                try index.write { try $0.touch(fileID: file, microseconds: Int64(6_000_000 + number)) }
                try PlainSQL.run("UPDATE avatar SET fresh_until_ms = \(number) WHERE id = \(second)", in: index.path)

                #expect(try index.hit(for: Self.second)?.freshUntil == Timestamp(milliseconds: Int64(number)))
                try use(index)
            }
        }
    }

    @Test("an opening for reading sees the commits of others")
    func readOnlyOpenings() throws {
        try withUsedIndex { index, first, _ in
            let reader = try AvatarIndex.openReadOnly(path: index.path, isImmutable: false)
            try use(reader)
            #expect(reader.rememberedHit(for: Self.first) != nil)

            try index.write { try $0.removeEntry(id: first) }

            #expect(try reader.hit(for: Self.first) == nil)
            try reader.close()
        }
    }

    @Test("hits stay correct after the log is emptied or starts again")
    func emptiedLogs() throws {
        try withUsedIndex { index, _, second in
            for number in 0..<5 {
                try index.truncateWAL()
                #expect(try index.hit(for: Self.first)?.file.path == "ab/1.png")
                try index.write { try $0.schedule(second, at: Int64(number)) }
                try use(index)
                try PlainSQL.run("UPDATE avatar SET is_low_data = \(number % 2) WHERE id = \(second)", in: index.path)
                #expect(try index.hit(for: Self.second)?.isLowData == (number % 2 == 1))
            }
        }
    }

    @Test("nothing is remembered in a file without a log, nor of a closed index")
    func withoutSharedMemory() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            let index = try AvatarIndex.open(path: path, fileMode: 0o600)
            try index.write { _ = try $0.add(Self.first.rawValue, file: $0.addFile(1)) }
            #expect(try index.hit(for: Self.first) != nil)
            try index.close()
            #expect(index.rememberedHit(for: Self.first) == nil)
            #expect(try index.hit(for: Self.first) != nil)
            #expect(index.rememberedHit(for: Self.first) == nil)
            try index.close()

            let immutable = try AvatarIndex.openReadOnly(path: path, isImmutable: true)
            #expect(try immutable.hit(for: Self.first) != nil)
            #expect(immutable.rememberedHit(for: Self.first) == nil)
            try immutable.close()
        }
    }

    @Test("more entries than are kept are found all the same")
    func moreThanFit() throws {
        try withIndex { index in
            let file = try index.write { try $0.addFile(1) }
            let count = 2 * HitCache.capacity / 64
            try index.write { transaction in
                for number in 0..<count { try transaction.add("https://example.com/\(number)", file: file) }
            }
            for _ in 0..<2 {
                for number in 0..<count {
                    let key = AvatarKey.stored("https://example.com/\(number)")
                    #expect(try index.hit(for: key)?.key == key)
                }
            }
        }
    }
}

/// The changes of an entry that a cached hit depends on.
enum Alteration: CaseIterable {
    case removal, loss, replacement, freshness, size, eviction

    struct Seen: Equatable {
        var path: String?
        var freshUntil: Int64?
        var isLowData = false

        init(path: String?, freshUntil: Int64? = nil, isLowData: Bool = false) {
            self.path = path
            self.freshUntil = freshUntil
            self.isLowData = isLowData
        }

        init(_ hit: IndexHit) {
            self.init(path: hit.file.path, freshUntil: hit.freshUntil?.milliseconds, isLowData: hit.isLowData)
        }
    }

    var seen: Seen? {
        switch self {
        case .removal, .loss, .eviction: nil
        case .replacement: Seen(path: "ab/9.png")
        case .freshness: Seen(path: "ab/1.png", freshUntil: 77)
        case .size: Seen(path: "ab/1.png", isLowData: true)
        }
    }

    func make(_ transaction: IndexTransaction, entry: Int64, file: Int64) throws {
        switch self {
        case .removal: try transaction.removeEntry(id: entry)
        case .loss: try transaction.dropFile(of: entry)
        case .replacement: try transaction.setFile(transaction.addFile(9), storageClass: .caches, of: entry)
        case .freshness:
            var validation = ValidationRecord()
            validation.freshUntil = Timestamp(milliseconds: 77)
            try transaction.setValidation(validation, of: entry)
        case .size:
            var image = EntryImage(fileID: file, sha256: FileRecord.sampleDigest(1), storageClass: .caches)
            image.source = ("https://example.com/a.png", "example.com:443")
            image.isLowData = true
            try transaction.setImage(image, of: entry, key: .stored("a"))
        case .eviction: _ = try transaction.retireFile(id: file, absence: .evicted, holder: "me")
        }
    }
}
