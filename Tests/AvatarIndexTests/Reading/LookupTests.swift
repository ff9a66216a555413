import AvatarCore
import Testing

@testable import AvatarIndex
import AvatarReports

@Suite(.timeLimit(.minutes(5))) struct LookupTests {
    private static let key = AvatarKey.stored("https://example.com/a.png?size=96")

    @Test func everyFieldComesBackAsItWasWritten() throws {
        try withIndex { index in
            let (file, id) = try index.write { transaction in
                let file = try transaction.addFile(7, bytes: 1234, storageClass: .documents, lastAccess: 987_654_321)
                let id = try transaction.insertEntry(
                    Self.key,
                    sourceURL: "https://example.org/signed",
                    host: "example.org:443",
                    storageClass: .documents
                )
                try transaction.setFile(file, storageClass: .documents, of: id)
                try transaction.setValidation(Self.fullValidation, of: id)
                return (file, id)
            }

            var record = FileRecord.sample(7, bytes: 1234, storageClass: .documents)
            record.id = file
            let expected = AvatarEntry(
                id: id,
                key: Self.key,
                sourceURL: "https://example.org/signed",
                storageClass: .documents,
                file: record,
                sha256: FileRecord.sampleDigest(7),
                lastAccessMicroseconds: 987_654_321,
                absence: nil,
                validation: Self.fullValidation
            )
            #expect(try index.entry(for: Self.key) == expected)
            let hit = try #require(try index.hit(for: Self.key))
            #expect(hit.file == record)
            #expect(hit.freshUntil == Self.fullValidation.freshUntil)
        }
    }

    @Test func whatIsNotThereComesBackAsNil() throws {
        try withIndex { index in
            let id = try index.write { try $0.add("name:logo", host: nil) }

            let expected = AvatarEntry(
                id: id,
                key: .stored("name:logo"),
                sourceURL: nil,
                storageClass: .caches,
                file: nil,
                sha256: nil,
                lastAccessMicroseconds: nil,
                absence: nil,
                validation: ValidationRecord()
            )
            #expect(try index.entry(for: .stored("name:logo")) == expected)
            #expect(try index.hit(for: .stored("name:logo")) == nil)
        }
    }

    @Test func anEntryIsUnchangedUntilItIsRequestedOrGetsAnotherFile() throws {
        try withIndex { index in
            func isUnchanged(_ seen: AvatarEntry?) throws -> Bool {
                try index.fetchBasis(of: seen, for: Self.key, host: nil).isUnchanged
            }
            #expect(try isUnchanged(nil))
            let id = try index.write { try $0.add(Self.key.rawValue) }
            #expect(try !isUnchanged(nil))
            let added = try index.entry(for: Self.key)
            #expect(try isUnchanged(added))

            try index.write { try $0.setValidation(Self.fullValidation, of: id) }
            #expect(try !isUnchanged(added))
            let requested = try index.entry(for: Self.key)
            #expect(try isUnchanged(requested))

            try index.write { try $0.setFile($0.addFile(1), storageClass: .caches, of: id) }
            #expect(try !isUnchanged(requested))
            let stored = try index.entry(for: Self.key)
            #expect(try isUnchanged(stored))

            try index.write { try $0.removeEntry(id: id) }
            #expect(try !isUnchanged(stored))
            #expect(try isUnchanged(nil))
        }
    }

    @Test func theBasisOfAFetchTellsOfAnInterruptedDownloadWithAndWithoutAnEntry() throws {
        try withIndex { index in
            func isPartial() throws -> Bool { try index.fetchBasis(of: nil, for: Self.key, host: nil).isPartial }
            #expect(try !isPartial())
            let part = PartialRecord(
                key: Self.key,
                storageClass: .caches,
                name: "part",
                url: "https://example.com/a.png",
                etag: "\"1\"",
                sizeBytes: 10,
                totalBytes: nil,
                updated: Timestamp(milliseconds: 1)
            )
            try index.write { try $0.keepPartial(part) }
            #expect(try isPartial())
            try index.write { _ = try $0.add(Self.key.rawValue) }
            #expect(try isPartial())
        }
    }

    @Test func theBasisOfAFetchHasTheHealthOfTheHost() throws {
        try withIndex { index in
            let host = "example.com:443"
            #expect(try index.fetchBasis(of: nil, for: Self.key, host: host).health == HostHealth())
            let failing = HostHealth(
                failures: 6,
                failure: .timeout,
                restsUntil: Timestamp(milliseconds: 9000),
                blockedUntil: Timestamp(milliseconds: 5000)
            )
            try index.write { transaction in try transaction.updateHealth(of: host) { $0 = failing } }
            #expect(try index.fetchBasis(of: nil, for: Self.key, host: host).health == failing)
            #expect(try index.fetchBasis(of: nil, for: Self.key, host: nil).health == HostHealth())
        }
    }

    @Test func aHitOnAnOwnImageIsNotDated() throws {
        try withIndex { index in
            try index.write { _ = try $0.add("name:logo", host: nil, file: $0.addFile(1)) }

            let hit = try #require(try index.hit(for: .stored("name:logo")))

            #expect(hit.freshUntil == nil)
        }
    }

    @Test func aBatchKeepsTheOrderOfItsKeys() throws {
        try withIndex { index in
            try index.write { transaction in
                for name in ["b", "a", "c"] { try transaction.add(name) }
            }

            let keys = ["c", "none", "a", "c", "b"].map(AvatarKey.stored)
            let entries = try index.entries(for: keys)

            #expect(entries.map { $0?.key.rawValue } == ["c", nil, "a", "c", "b"])
            #expect(try index.entries(for: []) == [])
        }
    }

    @Test(
        arguments: [
            "it's \"quoted\" `and` [so] on",
            "https://example.com/?q=');DROP TABLE avatar;--",
            "👩‍👩‍👧‍👦 \u{1F98A}",
            "name:\u{1}\t\r\n\u{7F}\u{80}\u{FFFD}\u{FEFF}",
            "%_\\*?",
            "\u{301}begins with an accent",
            " space ",
            "https://example.com/" + String(repeating: "é", count: 3990),
        ]
    )
    func anyKeyIsKeptByteForByte(text: String) throws {
        try withIndex { index in
            let key = AvatarKey.stored(text)
            let id = try index.write { try $0.add(text, file: $0.addFile(1)) }

            #expect(try index.entry(for: key)?.id == id)
            #expect(try index.entry(for: key)?.key == key)
            #expect(try index.hit(for: key) != nil)
            #expect(try index.write { try $0.state(of: key)?.id } == id)
            #expect(try index.overview(of: key)?.key == key)
            #expect(try index.list(AvatarListQuery()).items.map(\.key) == [key])
        }
    }

    @Test(
        arguments: [
            ("name:\u{E9}", "name:e\u{301}"),
            ("name:\u{212B}", "name:\u{C5}"),
            ("https://example.com/a", "https://example.com/A"),
            ("name:a", "name:a "),
        ]
    )
    func keysThatDifferInAByteAreDifferentEntries(one: String, other: String) throws {
        try withIndex { index in
            try index.write { transaction in
                try transaction.add(one, file: transaction.addFile(1))
                try transaction.add(other, file: transaction.addFile(2))
            }

            #expect(try index.hit(for: .stored(one))?.file.path == "ab/1.png")
            #expect(try index.hit(for: .stored(other))?.file.path == "ab/2.png")
            #expect(
                try index.entries(for: [.stored(other), .stored(one)]).map { $0?.file?.path } == [
                    "ab/2.png", "ab/1.png",
                ]
            )
        }
    }

    @Test func aClosedIndexIsReadAgainOnDemand() throws {
        try withIndex { index in
            try index.write { _ = try $0.add(Self.key.rawValue) }
            index.readers.close()

            #expect(try index.entry(for: Self.key) != nil)
        }
    }

    private static var fullValidation: ValidationRecord {
        var validation = ValidationRecord()
        validation.etag = "W/\"é'\""
        validation.lastModified = "Thu, 01 Jan 2026 00:00:00 GMT"
        validation.responseFields = "cache-control: max-age=60\nage: 3"
        validation.response = Timestamp(milliseconds: 1)
        validation.responseDelayMilliseconds = 2
        validation.fetched = Timestamp(milliseconds: 3)
        validation.checked = Timestamp(milliseconds: -4)
        validation.freshUntil = Timestamp(milliseconds: .max)
        validation.nextCheck = Timestamp(milliseconds: .min)
        validation.failure = FailureKind(rawValue: "a kind of a later version")
        validation.failureCount = 7
        return validation
    }
}
