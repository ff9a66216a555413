import AvatarCore
import AvatarFiles
import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// The real program removes an image from more than a thousand entries and is killed with SIGKILL at one of its calls.
@Suite(.enabled(Comment(rawValue: Strace.absence)) { await Strace.isUsable }, .timeLimit(.minutes(5)))
struct IgnoreCrashTests {
    private static let silhouette = SampleImage.png(seed: 5, byteCount: 2000)
    private static let digest = Hexadecimal.text(ContentDigest.sha256(silhouette))

    /// Entries with the image; the program changes 512 per transaction.
    private static let count = 1200

    /// The call before which the program is killed, and its number.
    private static let moments = [
        // In the first transaction, and when it is committed.
        "pwrite64:when=60", "fdatasync:when=3",
        // In the second one, and when it is committed.
        "pwrite64:when=200", "fdatasync:when=4",
        // The last one, the file, and the end of the work.
        "pwrite64:when=330", "fdatasync:when=5", "unlinkat:when=1", "fdatasync:when=7",
    ]

    @Test func killLeavesWholeTransactions_andTheNextCallContinues() async throws {
        let workplace = try Workplace()
        try await sync(into: workplace)
        var steps: Set<Int> = []
        for moment in Self.moments {
            let store = "store-" + moment
            try await workplace.start(tool: "/bin/cp", ["-a", workplace.path("store"), workplace.path(store)]).end()
                .requireSuccess()
            let parts = moment.split(separator: ":")
            let killed = try await workplace.traced(
                ["ignore", Self.digest, "--store", store],
                injection: "\(parts[0]):signal=SIGKILL:\(parts[1])"
            ).run
            #expect(![0, 1].contains(killed.status), "\(moment) was not reached")

            let count = try await ignored(in: store, of: workplace)
            #expect(count % 512 == 0 || count == Self.count, "\(moment)")
            steps.insert(count)
            // The feed and the entries change together.
            let changes = try await workplace.run("changes", "--store", store, "--json").objects
            #expect(changes.count { $0.text("kind") == "removed" } == count, "\(moment)")
            let verified = try await workplace.run("verify", "--store", store, "--json")
            #expect(verified.status == 0, "\(moment): \(verified.text)")

            try await workplace.run("ignore", Self.digest, "--store", store).requireSuccess()

            #expect(try await ignored(in: store, of: workplace) == Self.count, "\(moment)")
            let stats = try await workplace.run("stats", "--store", store, "--json").object
            #expect(stats.number("files") == 1 && stats.number("pendingBytes") == 0, "\(moment)")
            let whole = try await workplace.run("verify", "--store", store, "--json")
            #expect(try whole.status == 0 && whole.object.number("checked") == 1, "\(moment)")
        }
        #expect(steps == [0, 512, 1024, Self.count])
    }

    private func ignored(in store: String, of workplace: Workplace) async throws -> Int {
        try await workplace.run("list", "--store", store, "--state", "ignored", "--json").lines.count
    }

    /// Fills the store `store` with `count` contacts that share the silhouette, and one with an image of its own.
    private func sync(into workplace: Workplace) async throws {
        let origin = try await LoopbackOrigin.start { request in
            request.path.hasPrefix("/none/") ? .image(Self.silhouette, etag: "\"s\"") : image(request.target)
        }
        let paths = (0..<Self.count).map { "/none/\($0).png" } + ["/p/1.png"]
        try workplace.write("list.txt", paths.map { origin.url($0) + "\n" }.joined())
        let sync = try await workplace.start(["sync", "list.txt", "--allow-private-network"]).end()
        try await origin.stop()
        try sync.requireSuccess()
    }
}
