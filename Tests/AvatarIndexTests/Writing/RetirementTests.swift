import AvatarCore
import AvatarSQLite
import Testing

@testable import AvatarIndex

/// A file leaves the index and waits, as pending, to be unlinked.
@Suite(.timeLimit(.minutes(5))) struct RetirementTests {
    private static let first = AvatarKey.stored("https://example.com/a.png")
    private static let second = AvatarKey.stored("https://example.com/b.png")
    private static let third = AvatarKey.stored("https://example.com/c.png")

    @Test(arguments: [Absence.evicted, .missing])
    func everyEntryThatSharedTheFileSaysWhyItIsGone(absence: Absence) throws {
        try withIndex { index in
            let (shared, other) = try makeSharedFile(index)

            let pending = try index.write { try $0.retireFile(id: shared, absence: absence, holder: "me") }

            #expect(pending == PendingFile(storageClass: .caches, path: "ab/1.png", sizeBytes: 1000, holder: "me"))
            for key in [Self.first, Self.second] {
                let entry = try #require(try index.entry(for: key))
                #expect(entry.file == nil)
                #expect(entry.absence == absence)
                #expect(try index.hit(for: key) == nil)
            }
            #expect(try index.entry(for: Self.third)?.file?.id == other)
            #expect(try index.entry(for: Self.third)?.absence == nil)
        }
    }

    @Test func severalFilesAreRetiredAsOneBatch() throws {
        try withIndex { index in
            let (shared, other) = try makeSharedFile(index)
            #expect(try index.hit(for: Self.first) != nil)

            let retired = try index.write {
                try $0.retireFiles(ids: [shared, other, 999], absence: .evicted, holder: "me")
            }

            let batch = try #require(retired)
            #expect(Set(batch.files.map(\.path)) == ["ab/1.png", "ab/2.png"])
            #expect(try index.write { try $0.pendingFiles(of: "me") } == [])
            #expect(try Set(index.pendingFiles()) == Set(batch.files))
            for key in [Self.first, Self.second, Self.third] {
                let entry = try #require(try index.entry(for: key))
                #expect(entry.file == nil && entry.absence == .evicted)
                #expect(entry.validation.etag == nil && entry.validation.lastModified == nil)
                #expect(try index.hit(for: key) == nil)
            }
            let digests = try PlainSQL.rows("SELECT absent_sha256 FROM avatar ORDER BY key", in: index.path)
            let expected = [1, 1, 2].map { FileRecord.sampleDigest($0) }
            #expect(digests == expected.map { "\(Value.blob($0))" })
            #expect(try index.total(of: .caches).accountedBytes == 2000)
            let none = try index.write { try $0.retireFiles(ids: [999], absence: .evicted, holder: "me") }
            #expect(none == nil)
        }
    }

    @Test func validatorsGoWithTheFileAndNothingElse() throws {
        try withIndex { index in
            let (shared, _) = try makeSharedFile(index)
            var validation = try #require(try index.entry(for: Self.first)).validation
            #expect(validation.etag != nil && validation.lastModified != nil)

            _ = try index.write { try $0.retireFile(id: shared, absence: .evicted, holder: "me") }

            validation.etag = nil
            validation.lastModified = nil
            #expect(try index.entry(for: Self.first)?.validation == validation)
        }
    }

    @Test func aRetiredFileIsPendingForItsHolderUntilItIsDropped() throws {
        try withIndex { index in
            let (shared, _) = try makeSharedFile(index)
            let retired = try index.write { try $0.retireFile(id: shared, absence: .evicted, holder: "me") }
            let pending = try #require(retired)

            #expect(try index.write { try $0.pendingFiles(of: "me") } == [pending])
            #expect(try index.write { try $0.pendingFiles(of: "you") } == [])
            #expect(try index.write { try $0.pendingHolders() } == ["me"])
            #expect(try index.total(of: .caches).accountedBytes == 2000)

            try index.write { try $0.dropPending(pending) }

            #expect(try index.write { try $0.pendingHolders() } == [])
            #expect(try index.total(of: .caches).accountedBytes == 1000)
        }
    }

    @Test func aFileThatIsNotThereIsNotRetired() throws {
        try withIndex { index in
            let pending = try index.write { try $0.retireFile(id: 99, absence: .missing, holder: "me") }

            #expect(pending == nil)
            #expect(try index.write { try $0.pendingHolders() } == [])
        }
    }

    @Test func aFileInUseIsNotRetiredWithoutAReason() throws {
        try withIndex { index in
            let (shared, _) = try makeSharedFile(index)

            let code = thrownCode {
                try index.write { _ = try $0.retireFile(id: shared, absence: nil, holder: "me") }
            }

            #expect(code == .storage)
            #expect(try index.hit(for: Self.first)?.file.id == shared)
        }
    }

    @Test func onlyAnUnusedFileIsRetiredAsUnused() throws {
        try withIndex { index in
            let (shared, _) = try makeSharedFile(index)
            let unused = try index.write { try $0.addFile(7, bytes: 7) }

            #expect(try index.write { try $0.retireFileIfUnused(id: shared, holder: "me") } == nil)
            #expect(try index.write { try $0.retireFileIfUnused(id: unused, holder: "me") }?.path == "ab/7.png")
            #expect(try index.total(of: .caches).files == 2)
        }
    }

    @Test func theLastEntryTakesTheFileWithIt() throws {
        try withIndex { index in
            let (shared, _) = try makeSharedFile(index)
            let first = try #require(try index.entry(for: Self.first)).id
            let second = try #require(try index.entry(for: Self.second)).id
            try index.write { try $0.link("anna", to: first) }

            #expect(try index.write { try $0.removeEntry(id: first, fileID: shared, holder: "me") } == nil)
            #expect(try index.write { try $0.hasOwner(first) } == false)
            let pending = try index.write { try $0.removeEntry(id: second, fileID: shared, holder: "me") }

            #expect(pending?.path == "ab/1.png")
            #expect(try index.entries(for: [Self.first, Self.second]) == [nil, nil])
        }
    }

    @Test func oneEntryMayLoseTheFileThatAnotherKeeps() throws {
        try withIndex { index in
            let (shared, _) = try makeSharedFile(index)
            let first = try #require(try index.entry(for: Self.first)).id
            let second = try #require(try index.entry(for: Self.second)).id

            try index.write { try $0.dropFile(of: first) }

            let entry = try #require(try index.entry(for: Self.first))
            #expect(entry.file == nil && entry.absence == nil)
            #expect(entry.validation.etag == nil && entry.validation.lastModified == nil)
            #expect(try index.write { try $0.fileID(of: first) } == nil)
            #expect(try index.write { try $0.fileID(of: second) } == shared)
            #expect(try index.entry(for: Self.second)?.validation == Self.validation)

            try index.write { try $0.dropFile(of: second) }
            #expect(try index.write { try $0.retireFileIfUnused(id: shared, holder: "me") }?.path == "ab/1.png")
        }
    }

    @Test func aNewFileEndsTheAbsence() throws {
        try withIndex { index in
            let (shared, other) = try makeSharedFile(index)
            _ = try index.write { try $0.retireFile(id: shared, absence: .evicted, holder: "me") }
            let first = try #require(try index.entry(for: Self.first)).id

            try index.write { try $0.setFile(other, storageClass: .caches, of: first) }

            #expect(try index.entry(for: Self.first)?.absence == nil)
            #expect(try index.hit(for: Self.first)?.file.id == other)
        }
    }

    /// Two entries with one file, and a third with one of its own; gives the ids of the files.
    private func makeSharedFile(_ index: AvatarIndex) throws -> (shared: Int64, other: Int64) {
        try index.write { transaction in
            let shared = try transaction.addFile(1)
            let other = try transaction.addFile(2)
            let ids = try [Self.first, Self.second].map { try transaction.add($0.rawValue, file: shared) }
            try transaction.add(Self.third.rawValue, file: other)
            for id in ids { try transaction.setValidation(Self.validation, of: id) }
            return (shared, other)
        }
    }

    private static var validation: ValidationRecord {
        var validation = ValidationRecord()
        validation.etag = "\"v1\""
        validation.lastModified = "Thu, 01 Jan 2026 00:00:00 GMT"
        validation.responseFields = "cache-control: max-age=60"
        validation.checked = Timestamp(milliseconds: 1)
        validation.freshUntil = Timestamp(milliseconds: 2)
        validation.nextCheck = Timestamp(milliseconds: 3)
        return validation
    }
}
