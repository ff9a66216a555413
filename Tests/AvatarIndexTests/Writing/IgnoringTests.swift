import AvatarCore
import Testing

@testable import AvatarIndex

/// Ignored images in the index.
@Suite(.timeLimit(.minutes(5))) struct IgnoringTests {
    private static let key = AvatarKey.stored("https://example.com/a.png")
    private static let digest = FileRecord.sampleDigest(1)
    private static let now = Timestamp(milliseconds: 5000)

    @Test func ignoredEntryLosesItsFile_andKeepsItsValidators() throws {
        try withIndex { index in
            let id = try index.write { transaction in
                let id = try transaction.add(Self.key.rawValue, file: transaction.addFile(1))
                var validation = ValidationRecord()
                validation.etag = "\"1\""
                validation.nextCheck = Self.now
                try transaction.setValidation(validation, of: id)
                try transaction.link("anna", to: id)
                return id
            }
            let start = try index.lastChange()

            try index.write { transaction in
                try transaction.addIgnored(Self.digest, at: Self.now)
                #expect(try transaction.isIgnored(Self.digest))
                #expect(try !transaction.isIgnored(FileRecord.sampleDigest(2)))
                #expect(try transaction.entries(withImage: Self.digest, limit: 9).map(\.id) == [id])
                try transaction.ignoreImage(Self.digest, of: id)
                #expect(try transaction.entries(withImage: Self.digest, limit: 9).isEmpty)
            }

            let entry = try #require(try index.entry(for: Self.key))
            #expect(entry.isIgnored && entry.file == nil && entry.ignoredSHA256 == Self.digest)
            #expect(entry.validation.etag == "\"1\"" && entry.validation.nextCheck == Self.now)
            #expect(try index.hit(for: Self.key) == nil)
            #expect(try index.overview(of: Self.key)?.state == .ignored)
            #expect(try index.changes(since: start, limit: 9).map(\.kind) == [.removed])
            #expect(try index.isIgnored(Self.digest))
            #expect(try index.ignoredImages().map(\.contacts) == [1])
        }
    }

    @Test func anotherImageIsAdded_andIgnoringAnotherDigestChangesNothing() throws {
        try withIndex { index in
            let id = try ignoredEntry(index)
            let start = try index.lastChange()

            _ = try index.write { transaction in
                try transaction.ignoreImage(FileRecord.sampleDigest(3), of: id)
            }
            #expect(try index.changes(since: start, limit: 9).isEmpty)
            try index.write { try $0.setFile($0.addFile(2), storageClass: .caches, of: id) }

            #expect(try index.changes(since: start, limit: 9).map(\.kind) == [.added])
            #expect(try index.entry(for: Self.key)?.isIgnored == false)
        }
    }

    /// An evicted entry with the same digest must become due, although its host had nothing due.
    @Test func evictedEntryIsIgnoredToo_andDueAgain() throws {
        try withIndex { index in
            let id = try index.write { transaction in
                let file = try transaction.addFile(1)
                let id = try transaction.add(Self.key.rawValue, file: file, dueAt: 1000)
                let retired = try transaction.retireFile(id: file, absence: .evicted, holder: "me")
                try transaction.dropPending(#require(retired))
                try transaction.refreshDueTimes(ofHostsDueAt: Self.now)
                return id
            }
            #expect(try index.dueHosts(at: Self.now).isEmpty)
            #expect(try index.entriesRemembering(Self.digest).map(\.id) == [id])
            #expect(try index.partToIgnore(Self.digest).entries == 1)
            let start = try index.lastChange()

            let wasTaken = try index.write { transaction in
                try transaction.addIgnored(Self.digest, at: Self.now)
                return try transaction.ignoreImage(Self.digest, of: id, ifEvicted: true)
            }

            #expect(wasTaken)
            #expect(try index.dueHosts(at: Self.now).count == 1)
            #expect(try index.changes(since: start, limit: 9).map(\.kind) == [.removed])
            let again = try index.write { try $0.ignoreImage(FileRecord.sampleDigest(2), of: id, ifEvicted: true) }
            #expect(!again)
        }
    }

    @Test func ownImagesKeepTheirBytes_photosDoNot() throws {
        try withIndex { index in
            let photo = try index.write { transaction in
                let file = try transaction.addFile(1, storageClass: .documents)
                try transaction.add("name:logo", host: nil, storageClass: .documents, file: file)
                return try transaction.add("contact:dora", host: nil, storageClass: .documents, file: file)
            }

            let found = try index.write { try $0.entries(withImage: Self.digest, limit: 9).map(\.id) }

            #expect(found == [photo])
            let part = try index.partToIgnore(Self.digest)
            // The own image needs the file.
            #expect(part.entries == 1 && part.files == 0)
        }
    }

    @Test func noLongerIgnoredEntryHasNoValidators_andIsDue() throws {
        try withIndex { index in
            let id = try ignoredEntry(index)

            let wasIgnored = try index.write { transaction in
                #expect(try transaction.entries(ignoring: Self.digest, limit: 9) == [id])
                try transaction.seekAgain(id, at: Self.now)
                #expect(try transaction.entries(ignoring: Self.digest, limit: 9).isEmpty)
                return try transaction.removeIgnored(Self.digest)
            }

            #expect(wasIgnored)
            let entry = try #require(try index.entry(for: Self.key))
            #expect(entry.absence == .missing && entry.validation.etag == nil)
            #expect(entry.validation.nextCheck == Self.now)
            #expect(try index.dueHosts(at: Self.now).count == 1)
            #expect(try !index.isIgnored(Self.digest))
            let again = try index.write { try $0.removeIgnored(Self.digest) }
            #expect(!again)
        }
    }

    @Test func removalByTheOriginEndsTheState() throws {
        try withIndex { index in
            let id = try ignoredEntry(index)
            let start = try index.lastChange()

            try index.write { try $0.dropFile(of: id) }

            #expect(try index.entry(for: Self.key)?.absence == nil)
            #expect(try index.changes(since: start, limit: 9).isEmpty)
        }
    }

    @Test func unfinishedIgnoringIsFound() throws {
        try withIndex { index in
            try index.write { try $0.addIgnored(Self.digest, at: Self.now) }
            #expect(try index.incompletelyIgnored() == [Self.digest])

            try index.write { try $0.completeIgnoring(Self.digest) }

            #expect(try index.incompletelyIgnored() == [])
            try index.write { try $0.addIgnored(Self.digest, at: Timestamp(milliseconds: 9000)) }
            // It stayed ignored all the time.
            #expect(try index.ignoredImages().map(\.since) == [Self.now])
        }
    }

    /// A backup may have an entry from after `ignore`, and the list from before.
    @Test func entriesWithAnUnlistedDigestAreFound() throws {
        try withIndex { index in
            _ = try ignoredEntry(index)
            #expect(try index.digestIgnoredInVain() == nil)

            _ = try index.write { try $0.removeIgnored(Self.digest) }
            #expect(try index.digestIgnoredInVain() == Self.digest)

            try index.write { try $0.addIgnored(FileRecord.sampleDigest(0), at: Self.now) }
            #expect(try index.digestIgnoredInVain() == Self.digest)
        }
    }

    @Test func digestIsFoundByItsPrefix() throws {
        try withIndex { index in
            try index.write { transaction in
                try transaction.addFile(1)
                try transaction.addFile(2, storageClass: .documents)
                try transaction.addIgnored(FileRecord.sampleDigest(3), at: Self.now)
            }
            let low = [UInt8](repeating: 0, count: 32)
            let high = [UInt8](repeating: 255, count: 32)

            #expect(try index.digests(from: low, through: high, limit: 9).count == 3)
            #expect(try index.digests(from: Self.digest, through: Self.digest, limit: 9) == [Self.digest])
            #expect(try index.digests(from: high, through: high, limit: 9).isEmpty)
        }
    }

    /// An entry with an ignored image, file 1.
    private func ignoredEntry(_ index: AvatarIndex) throws -> Int64 {
        try index.write { transaction in
            let file = try transaction.addFile(1)
            let id = try transaction.add(Self.key.rawValue, file: file, dueAt: 9000)
            try transaction.link("anna", to: id)
            try transaction.addIgnored(Self.digest, at: Self.now)
            try transaction.ignoreImage(Self.digest, of: id)
            let retired = try transaction.retireFileIfUnused(id: file, holder: "me")
            try transaction.dropPending(#require(retired))
            return id
        }
    }
}
