import AvatarCore
import Testing

@testable import AvatarIndex

@Suite(.timeLimit(.minutes(5))) struct DueTests {
    private static let now = Timestamp(milliseconds: 1000)

    @Test(arguments: [1, 2, 7, 100])
    func everythingDueIsPickedOnceTheLongestDueFirst(limit: Int) throws {
        try withIndex { index in
            let expected = try index.write { transaction in
                try addWhatIsNotDue(transaction)
                return try addWhatIsDue(transaction)
            }

            var picked: [String: [String]] = [:]
            for host in try index.dueHosts(at: Self.now) {
                let entries = try pages(index, host, limit: limit)
                picked[host.name] = entries.map(\.key.rawValue)
                #expect(try index.dueCount(of: DueWalk(over: host), at: Self.now) == entries.count)
            }

            #expect(picked == expected)
        }
    }

    @Test func anEntryIsDueFromItsMillisecondOn() throws {
        try withIndex { index in
            try index.write { _ = try $0.add("a", dueAt: 1000) }

            #expect(try index.dueHosts(at: Timestamp(milliseconds: 999)).isEmpty)
            #expect(try index.dueHosts(at: Timestamp(milliseconds: 1000)).map(\.name) == ["example.com:443"])
        }
    }

    @Test func anEntryThatIsAddedWithItsImageIsDueAtItsTime() throws {
        try withIndex { index in
            for (number, time) in [(1, 500), (2, 700), (3, 300)] as [(Int, Int64)] {
                try index.write { transaction in
                    var image = EntryImage(
                        fileID: try transaction.addFile(number),
                        sha256: FileRecord.sampleDigest(number),
                        storageClass: .caches
                    )
                    image.source = ("https://example.com/\(number).png", "example.com:443")
                    var validation = ValidationRecord()
                    validation.nextCheck = Timestamp(milliseconds: time)
                    image.validation = validation
                    _ = try transaction.insertEntry(.stored("https://example.com/\(number).png"), image)
                }
            }

            #expect(try index.dueHosts(at: Timestamp(milliseconds: 299)).isEmpty)
            let host = try #require(try index.dueHosts(at: Timestamp(milliseconds: 300)).first)
            #expect(try index.dueCount(of: DueWalk(over: host), at: Timestamp(milliseconds: 300)) == 1)
            #expect(try index.dueCount(of: DueWalk(over: host), at: Self.now) == 3)
        }
    }

    @Test func anEvictedEntryIsNotDueAndAMissingOneIs() throws {
        try withIndex { index in
            try index.write { transaction in
                for (number, absence) in [(1, Absence.evicted), (2, .missing)] {
                    let file = try transaction.addFile(number)
                    try transaction.add(absence.rawValue, file: file, dueAt: 1)
                    _ = try transaction.retireFile(id: file, absence: absence, holder: "me")
                }
                try transaction.refreshDueTimes(ofHostsDueAt: Self.now)
            }

            let host = try #require(try index.dueHosts(at: Self.now).first)

            #expect(try pages(index, host, limit: 10).map(\.key.rawValue) == ["missing"])
            #expect(try index.dueCount(of: DueWalk(over: host), at: Self.now) == 1)
            #expect(try index.fetchableEntries(after: 0, limit: 10).map(\.key.rawValue) == ["missing"])
        }
    }

    @Test func anEntryThatIsStoredAgainIsDueAgain() throws {
        try withIndex { index in
            let id = try index.write { transaction in
                let file = try transaction.addFile(1)
                let id = try transaction.add("a", file: file, dueAt: 1)
                _ = try transaction.retireFile(id: file, absence: .evicted, holder: "me")
                return id
            }
            try index.write { try $0.refreshDueTimes(ofHostsDueAt: Self.now) }
            #expect(try index.dueHosts(at: Self.now) == [])

            try index.write { transaction in
                try transaction.setFile(transaction.addFile(2), storageClass: .caches, of: id)
                try transaction.schedule(id, at: 900)
            }

            let host = try #require(try index.dueHosts(at: Self.now).first)
            #expect(try pages(index, host, limit: 10).map(\.id) == [id])
        }
    }

    @Test func aHostIsDueWhenItsFirstEntryIs() throws {
        try withIndex { index in
            let (early, late) = try index.write { transaction in
                try (transaction.add("early", dueAt: 500), transaction.add("late", dueAt: 1500))
            }

            // The entry is scheduled for later. Its host keeps the earlier due time, a lower bound, until that is refreshed.
            try index.write { try $0.schedule(early, at: 5000) }
            #expect(try index.dueHosts(at: Self.now).count == 1)
            try index.write { try $0.refreshDueTimes(ofHostsDueAt: Self.now) }
            #expect(try index.dueHosts(at: Self.now) == [])
            #expect(try index.dueHosts(at: Timestamp(milliseconds: 1500)).count == 1)

            try index.write { try $0.schedule(late, at: 800) }
            #expect(try index.dueHosts(at: Self.now).count == 1)
        }
    }

    @Test func aHostWithoutDueEntriesIsNeverDue() throws {
        try withIndex { index in
            let id = try index.write { try $0.add("a", dueAt: 1) }
            try index.write { transaction in
                try transaction.schedule(id, at: nil)
                try transaction.refreshDueTimes(ofHostsDueAt: Self.now)
            }

            #expect(try index.dueHosts(at: Timestamp(milliseconds: .max - 1)) == [])
        }
    }

    @Test func aMovedEntryMakesItsNewHostDue() throws {
        try withIndex { index in
            let id = try index.write { try $0.add("a", dueAt: 10) }
            try index.write { transaction in
                try transaction.setSource("https://example.org/", host: "example.org:443", of: id, key: .stored("a"))
                try transaction.refreshDueTimes(ofHostsDueAt: Self.now)
            }

            #expect(try index.dueHosts(at: Self.now).map(\.name) == ["example.org:443"])
        }
    }

    @Test func aTransactionReadsAHostOnceAndSeesItsOwnChanges() throws {
        try withIndex { index in
            let host = "example.com:443"
            let paused = HostHealth(
                failures: 1,
                failure: .timeout,
                restsUntil: nil,
                blockedUntil: Timestamp(milliseconds: 9_000_000_000)
            )
            try index.write { transaction in
                _ = try transaction.storeID(orNew: String(repeating: "0", count: 32))
                _ = try transaction.noteClock(Timestamp(milliseconds: 8_000_000_000), tolerance: 60, longestBlock: 60)
                try transaction.updateHealth(of: host) { $0 = paused }
                try transaction.updateHealth(of: host) { #expect($0 == paused) }
                // A pause of a clock that ran ahead ends, for later changes of the transaction too.
                _ = try transaction.noteClock(Timestamp(milliseconds: 1000), tolerance: 60, longestBlock: 60)
                try transaction.updateHealth(of: host) { #expect($0.blockedUntil == Timestamp(milliseconds: 0)) }
            }
        }
    }

    @Test func howAHostAnswersIsKept() throws {
        try withIndex { index in
            let failing = HostHealth(
                failures: 6,
                failure: .timeout,
                restsUntil: Timestamp(milliseconds: 9000),
                blockedUntil: Timestamp(milliseconds: 2000)
            )
            try index.write { transaction in
                try transaction.add("a", dueAt: 1)
                try transaction.updateHealth(of: "example.com:443") { $0 = failing }
                try transaction.updateHealth(of: "new.example.org:80") { health in
                    #expect(health.failures == 0)
                    health.record(
                        .rateLimited,
                        retryAfter: Timestamp(milliseconds: 3000),
                        requested: Self.now,
                        at: Self.now,
                        jitter: 0
                    )
                }
            }

            #expect(try index.dueHosts(at: Self.now).map(\.health) == [failing])
            #expect(try index.health(of: "example.com:443") == failing)
            #expect(try index.health(of: "example.com:80").failures == 0)
            let ailing = try index.ailingHosts(at: Self.now)
            #expect(ailing.keys.sorted() == ["example.com:443", "new.example.org:80"])
            #expect(ailing["new.example.org:80"]?.blockedUntil == Timestamp(milliseconds: 3000))
            #expect(ailing["new.example.org:80"]?.failure == .rateLimited)
        }
    }

    @Test(arguments: [1, 2, 7])
    func everythingWithAnOriginIsWalkedByRow(limit: Int) throws {
        try withIndex { index in
            let ids = try index.write { transaction in
                try addWhatIsNotDue(transaction)
                return try (0..<9).map { try transaction.add("later \($0)", dueAt: 1_000_000) }
            }

            var walked: [Int64] = []
            while true {
                let page = try index.fetchableEntries(after: walked.last ?? 0, limit: limit)
                if page.isEmpty { break }
                walked += page.map(\.id)
            }

            #expect(walked.suffix(9) == ids[...])
            #expect(Set(walked).count == walked.count)
            #expect(walked.count == 11)
        }
    }

    /// The keys of each host in the order in which they are due.
    private func addWhatIsDue(_ transaction: IndexTransaction) throws -> [String: [String]] {
        // Many at the same time, as after a list was read; and some apart, in an order of their own.
        for number in 10..<20 { try transaction.add("a\(number)", host: "a:443", dueAt: 500) }
        try transaction.add("a-first", host: "a:443", dueAt: -1)
        try transaction.add("a-last", host: "a:443", dueAt: 1000)
        for number in 1...3 { try transaction.add("b\(number)", host: "b:443", dueAt: Int64(1000 - number)) }
        return [
            "a:443": ["a-first"] + (10..<20).map { "a\($0)" } + ["a-last"],
            "b:443": ["b3", "b2", "b1"],
        ]
    }

    /// Two fetchable entries that are not due, an evicted one that would be, and an own image.
    private func addWhatIsNotDue(_ transaction: IndexTransaction) throws {
        try transaction.add("in the future", host: "a:443", dueAt: 1001)
        try transaction.add("never", host: "c:443")
        let file = try transaction.addFile(1)
        try transaction.add("evicted", host: "a:443", file: file, dueAt: 1)
        _ = try transaction.retireFile(id: file, absence: .evicted, holder: "me")
        try transaction.add("name:own", host: nil)
    }

    private func pages(_ index: AvatarIndex, _ host: DueHost, limit: Int) throws -> [AvatarEntry] {
        var walks = [DueWalk(over: host)]
        var entries: [AvatarEntry] = []
        while true {
            let page = try index.dueEntries(of: &walks, at: Self.now, limit: limit)
            guard !page.isEmpty else { return entries }
            #expect(page.count <= limit)
            entries += page
        }
    }
}
