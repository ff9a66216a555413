import AvatarCore
import AvatarSQLite
import Testing

@testable import AvatarIndex

@Suite(.timeLimit(.minutes(5))) struct EvictionOrderTests {
    @Test func theLeastRecentlyUsedGoesFirstAndEqualTimesByRow() throws {
        try withIndex { index in
            let ids = try fill(index, lastAccesses: [30, 10, 20, 10, 30])
            let expected = [ids[1], ids[3], ids[2], ids[0], ids[4]]

            #expect(try candidates(index, accessedBefore: .max).map(\.fileID) == expected)
            var walked: [Int64] = []
            try index.forEachEvictionCandidate { candidate in
                walked.append(candidate.fileID)
                return true
            }
            #expect(walked == expected)
        }
    }

    @Test func aCandidateKnowsItsSize() throws {
        try withIndex { index in
            try index.write { _ = try $0.addFile(1, bytes: 321, lastAccess: 1) }

            #expect(try candidates(index, accessedBefore: .max).map(\.sizeBytes) == [321])
        }
    }

    @Test func documentsAreNoCandidates() throws {
        try withIndex { index in
            try index.write { _ = try $0.addFile(1, storageClass: .documents, lastAccess: 1) }

            #expect(try candidates(index, accessedBefore: .max) == [])
            #expect(try index.evictionPlace(of: 9, usedAt: .max) == EvictionPlace(filesBefore: 0, isExact: true))
        }
    }

    @Test func whatWasUsedSinceIsNoCandidate() throws {
        try withIndex { index in
            let ids = try fill(index, lastAccesses: [10, 11, 12])

            #expect(try candidates(index, accessedBefore: 11).map(\.fileID) == [ids[0]])
            #expect(try candidates(index, accessedBefore: 10) == [])
            #expect(try index.evictionPlace(of: ids[1], usedAt: 11).filesBefore == 1)
        }
    }

    @Test func whatGoesBeforeAFileIsCountedInTheOrderOfTheWalk() throws {
        try withIndex { index in
            // Equal times: the row id decides.
            let times: [Int64] = [7, 3, 7, 7, 1]
            let ids = try fill(index, lastAccesses: times)
            // Before and after a scan fills the queue.
            for order in [
                [4, 1, 0, 2, 3], try candidates(index, accessedBefore: .max).map { ids.firstIndex(of: $0.fileID) },
            ] {
                for case (let place, let number?) in order.enumerated() {
                    let counted = try index.evictionPlace(of: ids[number], usedAt: times[number])
                    #expect(counted == EvictionPlace(filesBefore: place, isExact: true))
                }
            }
        }
    }

    /// The page of a contact needs this count, which must not take longer in a large store.
    @Test func countEndsAtItsLimit() throws {
        try withIndex { index in
            let ids = try fill(index, lastAccesses: (1...40).map { $0 * 10 })
            func place(_ number: Int, atMost limit: Int) throws -> EvictionPlace {
                try index.evictionPlace(of: ids[number], usedAt: Int64(number + 1) * 10, readingAtMost: limit)
            }
            for isQueued in [false, true] {
                if isQueued { _ = try candidates(index, accessedBefore: .max) }
                #expect(try place(39, atMost: 10) == EvictionPlace(filesBefore: 10, isExact: false))
                #expect(try place(39, atMost: 41) == EvictionPlace(filesBefore: 39, isExact: true))
                #expect(try place(5, atMost: 10) == EvictionPlace(filesBefore: 5, isExact: isQueued))
            }
            try Connection.using(index.path) { connection in
                let plan = try connection.queryPlan(of: AvatarIndex.queuedBeforeSQL)
                #expect(plan.contains { $0.contains("SEARCH eviction_queue USING PRIMARY KEY") }, "\(plan)")
            }
        }
    }

    @Test func theWalkStopsWhenToldTo() throws {
        try withIndex { index in
            let ids = try fill(index, lastAccesses: [3, 2, 1])
            var walked: [Int64] = []

            try index.write { transaction in
                try transaction.forEachEvictionCandidate(accessedBefore: .max) { candidate in
                    walked.append(candidate.fileID)
                    return walked.count < 2
                }
            }

            #expect(walked == [ids[2], ids[1]])
        }
    }

    @Test func aTouchOnlyMovesForward() throws {
        try withIndex { index in
            let ids = try fill(index, lastAccesses: [10, 20])

            try index.write { try $0.touch(fileID: ids[0], microseconds: 30) }
            #expect(try candidates(index, accessedBefore: .max).map(\.fileID) == [ids[1], ids[0]])

            try index.write { try $0.touch(fileID: ids[0], microseconds: 5) }
            #expect(try index.write { try $0.lastAccess(ofFile: ids[0]) } == 30)
            #expect(try index.write { try $0.lastAccess(ofFile: 99) } == nil)
            try index.write { try $0.touch(fileID: 99, microseconds: 1) }
        }
    }

    private func fill(_ index: AvatarIndex, lastAccesses: [Int64]) throws -> [Int64] {
        try index.write { transaction in
            try lastAccesses.enumerated().map { try transaction.addFile($0.offset, lastAccess: $0.element) }
        }
    }

    private func candidates(
        _ index: AvatarIndex,
        accessedBefore microseconds: Int64
    ) throws -> [EvictionCandidate] {
        try index.write { transaction in
            var candidates: [EvictionCandidate] = []
            try transaction.forEachEvictionCandidate(accessedBefore: microseconds) { candidate in
                candidates.append(candidate)
                return true
            }
            return candidates
        }
    }
}
