import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// The budget, as seen by system calls and by a poll from outside, while several processes store, replace and evict at
/// once.
@Suite(.enabled(Comment(rawValue: Strace.absence)) { await Strace.isUsable }, .timeLimit(.minutes(5)))
struct BudgetTraceTests {
    /// A new version of each image at each request, from 2 kB to 10 kB.
    private func withImages(_ body: (LoopbackOrigin) async throws -> Void) async throws {
        let count = RequestCount()
        let origin = try await LoopbackOrigin.start { _ in
            let number = count.next()
            let bytes = SampleImage.png(seed: UInt64(number), byteCount: 2_000 + number &* 7_919 % 8_000)
            return .image(bytes, etag: "\"\(number)\"", cacheControl: "max-age=0")
        }
        do {
            try await body(origin)
        } catch {
            try await origin.stop()
            throw error
        }
        try await origin.stop()
    }

    @Test(arguments: TestMode.isThorough ? [60_000, 250_000, 1_000_000] : [120_000])
    func filesOfSeveralProcessesNeverExceedTheBudget(budget: Int) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let count = TestMode.isThorough ? 600 : 60
            try workplace.write("list.txt", origin.list(count))
            try workplace.write("some.txt", origin.list(count / 4))
            try await workplace.run("config", "budget", "\(budget)B").requireSuccess()
            let root = workplace.path("store/caches")
            let present = try #require(FolderWalk(root))

            // One process syncs, the others read in different orders. All of them replace images, and evict images of
            // the others.
            let poll = FolderPoll(root)
            let (run, trace) = try await workplace.traced(
                script: """
                    options="--allow-private-network --json"
                    "$AVATARS" sync list.txt $options & sync=$!
                    "$AVATARS" fetch $(sort -R list.txt) $options --policy reload >first & first=$!
                    "$AVATARS" fetch $(sort -R list.txt) $options --policy reload >second & second=$!
                    "$AVATARS" fetch $(cat some.txt some.txt) $options --policy revalidate >third & third=$!
                    wait $sync; echo $? >>codes
                    for each in $first $second $third; do wait $each; echo $? >>codes; done
                    "$AVATARS" sync $options
                    """
            )
            let seen = await poll.stop()
            let replay = BudgetReplay(trace, in: root, present: present)

            #expect(replay.most <= budget, "\(run.messages)")
            #expect(seen.most <= budget)
            // The replay has missed nothing: in the end it has the bytes on disk.
            #expect(replay.bytes == FolderWalk(root)?.bytes)
            // The test has tested something: the budget was filled more than once. About 20 images fit in the smallest,
            // half as many again when those that stay are small.
            #expect(replay.published >= count)
            #expect(replay.unlinked > count / 4)
            #expect(replay.most > budget * 8 / 10)
            #expect(seen.sums > 10)
            let codes = try String(decoding: workplace.read("codes"), as: UTF8.self).split(separator: "\n")
            #expect(codes.allSatisfy { $0 == "0" || $0 == "1" }, "\(codes) \(run.messages)")
            try await workplace.expectConsistent()
            print(
                "Budget \(budget): \(replay.most) bytes at most over \(replay.published) files and \(replay.unlinked)",
                "unlinks of 4 processes; \(seen.most) at most in \(seen.sums) sums from outside."
            )
        }
    }
}
