import AvatarCore
import Testing

@testable import AvatarIndex

/// One row that names several files.
@Suite(.timeLimit(.minutes(5))) struct PendingBatchTests {
    private static let files: [PendingFile] = [
        .sample(1, bytes: 10), .sample(2, bytes: 20, storageClass: .documents), .sample(3, bytes: 30),
    ]

    @Test func aBatchNamesAllOfItsFiles() throws {
        try withIndex { index in
            let batch = try #require(try index.write { try $0.addPending(Self.files, of: "me") })

            #expect(try index.pendingFiles() == Self.files)
            #expect(try index.write { try $0.pendingHolders() } == ["me"])
            #expect(try index.isNamed("cd/3.png", in: .caches, digestByte: 0xcd))
            #expect(try index.isNamed("cd/3.png", in: .documents, digestByte: 0xcd) == false)
            #expect(try index.total(of: .caches) == ClassTotal(files: 0, bytes: 0, pendingBytes: 40))
            #expect(try index.total(of: .documents).pendingBytes == 20)
            #expect(try index.isTotalRight(of: .caches))
            #expect(try index.isTotalRight(of: .documents))

            try index.write { try $0.dropPending(batch) }
            #expect(try index.pendingFiles() == [])
            #expect(try index.write { try $0.pendingHolders() } == [])
            #expect(try index.total(of: .documents).pendingBytes == 0)
        }
    }

    @Test func noFilesNeedNoRow() throws {
        try withIndex { index in
            let batch = try index.write { try $0.addPending([], of: "me") }
            #expect(batch == nil)
            #expect(try index.write { try $0.pendingHolders() } == [])
        }
    }

    @Test(arguments: ["quote\"", "back\\slash", "line\nend", "\u{1}", "Zoë 🦊", "'; --"])
    func anyNameSurvives(name: String) throws {
        try withIndex { index in
            let file = PendingFile(storageClass: .caches, path: "cd/" + name, sizeBytes: 5, holder: "me")
            _ = try index.write { try $0.addPending([file, .sample(1)], of: "me") }

            #expect(try index.pendingFiles() == [file, .sample(1)])
            let batches = try index.write { try $0.pendingBatches(of: "me") }
            #expect(batches.map(\.files) == [[file, .sample(1)]])
            #expect(batches.map(\.foreignCount) == [0])
        }
    }

    @Test func filesThatAreLeftGetRowsOfTheirOwn() throws {
        try withIndex { index in
            let batch = try index.write { transaction in
                _ = try transaction.addPending([.sample(5, holder: "you")], of: "you")
                return try #require(try transaction.addPending(Self.files, of: "me"))
            }

            try index.write { try $0.dropPending(batch, leaving: [Self.files[0], Self.files[1]]) }

            #expect(Set(try index.write { try $0.pendingFiles(of: "me") }) == Set(Self.files.prefix(2)))
            #expect(try index.pendingFiles().count == 3)
            // The row of the batch is gone, and no later one gets its id: a second drop changes nothing.
            let later = try index.write { transaction in
                try transaction.dropPending(batch, leaving: Self.files)
                return try transaction.addPending([.sample(6, bytes: 60)], of: "me")
            }
            #expect(later?.id != batch.id)
            try index.write { try $0.dropPending(Self.files[0]) }
            #expect(
                try index.total(of: .caches)
                    == ClassTotal(files: 0, bytes: 0, pendingBytes: 1000 + 60)
            )
        }
    }

    /// An index may come from elsewhere.
    @Test(
        arguments: [
            "[[0,\"\",5]]", "[[0,\"cd/1.png\",0]]", "[[0,\"cd/1.png\",-5]]", "[[7,\"cd/1.png\",5]]", "[[]]", "[1]",
            "[[\"0\",\"cd/1.png\",\"x\"]]", "[{\"a\":1}]", "{}", "[]", "7",
            "[\"abc\"]", "[[0,\"cd/1.png\",1.5]]", "[[null,null,null]]", "[[1,[2],3]]", "[[0",
        ]
    )
    func rowsOfAnotherProgramBlockNothing(files: String) throws {
        try withIndex { index in
            try PlainSQL.run(
                """
                PRAGMA ignore_check_constraints = ON;
                INSERT INTO pending_batch (holder, files) VALUES ('me', '\(files)');
                INSERT INTO pending_batch (holder, files) VALUES ('me', '[[0,"cd/9.png",9]]');
                """,
                in: index.path
            )

            try index.write { transaction in
                let batches = try transaction.pendingBatches(of: "me")
                #expect(batches.flatMap(\.files).contains(.sample(9, bytes: 9)))
                for batch in batches { try transaction.dropPending(batch, leaving: batch.files) }
                #expect(try transaction.pendingFiles(of: "me").count == batches.flatMap(\.files).count)
                for file in try transaction.pendingFiles(of: "me") { try transaction.dropPending(file) }
            }

            #expect(try index.write { try $0.pendingHolders() } == [])
            for storageClass in StorageClass.allCases { #expect(try index.isTotalRight(of: storageClass)) }
        }
    }

    @Test func allRowsOfAHolderAreDropped() throws {
        try withIndex { index in
            try index.write { transaction in
                _ = try transaction.addPending(Self.files, of: "me")
                try transaction.addPending(.sample(7, bytes: 7))
                _ = try transaction.addPending([.sample(8, bytes: 8, holder: "you")], of: "you")
            }

            try index.write { try $0.dropPending(of: "me") }

            #expect(try index.pendingFiles() == [.sample(8, bytes: 8, holder: "you")])
            #expect(try index.total(of: .caches).pendingBytes == 8)
        }
    }
}
