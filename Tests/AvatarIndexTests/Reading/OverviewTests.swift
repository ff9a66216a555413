import AvatarCore
import Testing

@testable import AvatarIndex
import AvatarReports

/// The view that people with a `sqlite3` shell rely on.
@Suite(.timeLimit(.minutes(5))) struct OverviewTests {
    @Test func theColumnsAreWhatWasPromised() throws {
        try withIndex { index in
            let columns = try PlainSQL.rows("SELECT name FROM pragma_table_info('avatar_overview')", in: index.path)

            #expect(
                columns == [
                    "key", "source_url", "local_file", "storage_class", "size_bytes", "etag", "last_access",
                    "fresh_until", "checked_at", "state",
                ]
            )
        }
    }

    @Test func aStoredImageIsOneLine() throws {
        try withGoldenIndex { index in
            let item = try index.overview(of: .stored("https://img.example.com/anna.png"))

            #expect(
                item
                    == AvatarListItem(
                        key: .stored("https://img.example.com/anna.png"),
                        sourceURL: "https://img.example.com/anna.png",
                        localFile: "caches/30/313233-00000000000000a1.png",
                        storageClass: .caches,
                        sizeBytes: 1000,
                        etag: "\"a1\"",
                        lastAccess: Timestamp(milliseconds: 1_767_225_600_000),
                        freshUntil: Timestamp(milliseconds: 253_402_300_799_000),
                        checkedAt: Timestamp(milliseconds: 1_767_225_600_000),
                        state: .fresh,
                        contacts: ["anna"]
                    )
            )
        }
    }

    @Test func anOwnImageHasNoSource() throws {
        try withGoldenIndex { index in
            let item = try #require(try index.overview(of: .stored("name:logo")))

            #expect(item.sourceURL == nil)
            #expect(item.localFile == "documents/30/313233-00000000000000a5.webp")
            #expect(item.storageClass == .documents)
            #expect(item.checkedAt == nil && item.freshUntil == nil && item.etag == nil)
        }
    }

    @Test func anEntryWithoutAFileHasNoFileColumns() throws {
        try withGoldenIndex { index in
            for key in ["https://img.example.com/evicted.png", "http://slow.example.org:8080/never.png"] {
                let item = try #require(try index.overview(of: .stored(key)))

                #expect(item.localFile == nil && item.sizeBytes == nil && item.lastAccess == nil, "\(key)")
                #expect(item.sourceURL == key)
            }
        }
    }

    @Test func aCallersOwnKeyShowsItsURL() throws {
        try withGoldenIndex { index in
            let item = try index.overview(of: .stored("crm/42 \"Zoë\" 🦊"))

            #expect(item?.sourceURL == "https://img.example.com/zoe.jpg?signature=1")
            #expect(item?.contacts == ["zoë's \"id\""])
        }
    }

    @Test(
        arguments: [
            ("https://img.example.com/anna.png", AvatarState.fresh),
            ("crm/42 \"Zoë\" 🦊", .stale),
            ("http://slow.example.org:8080/ben.svg", .failing),
            ("http://slow.example.org:8080/never.png", .failing),
            ("https://xn--bcher-kva.example/shop.png", .gone),
            ("https://img.example.com/evicted.png", .evicted),
            ("https://img.example.com/missing.png", .missing),
            ("https://img.example.com/silhouette.png", .ignored),
            ("name:logo", .own),
            ("contact:dora#2", .own),
        ]
    )
    func anEntryIsInOneState(key: String, state: AvatarState) throws {
        try withGoldenIndex { index in
            let item = try index.overview(of: .stored(key))
            #expect(item?.state == state)
        }
    }

    @Test func anUnknownKeyHasNoLine() throws {
        try withGoldenIndex { index in
            let item = try index.overview(of: .stored("https://img.example.com/"))
            #expect(item == nil)
        }
    }

    @Test func statisticsCountEverything() throws {
        try withGoldenIndex { index in
            let statistics = try index.statistics()

            #expect(statistics.entries == 11)
            #expect(
                statistics.states == [
                    .fresh: 2, .stale: 1, .failing: 2, .gone: 1, .evicted: 1, .missing: 1, .ignored: 1, .own: 2,
                ]
            )
            #expect(statistics.hosts == 3)
            #expect(statistics.caches == ClassTotal(files: 4, bytes: 3700, pendingBytes: 810))
            #expect(statistics.documents == ClassTotal(files: 2, bytes: 1050, pendingBytes: 12))
            #expect(statistics.oldestAccessMicroseconds == 0)
            #expect(statistics.newestAccessMicroseconds == 1_767_225_703_000_000)
            #expect(statistics.schemaVersion == Migration.latestVersion)
        }
    }

    @Test func statisticsOfAnEmptyIndexAreEmpty() throws {
        try withIndex { index in
            let statistics = try index.statistics()

            #expect(statistics.entries == 0 && statistics.states.isEmpty && statistics.hosts == 0)
            #expect(statistics.oldestAccessMicroseconds == nil && statistics.newestAccessMicroseconds == nil)
        }
    }
}
