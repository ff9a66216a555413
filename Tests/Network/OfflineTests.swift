import AvatarStoreTesting
import Foundation
import Testing

/// The program in a network namespace without any interface: no route, no name server.
@Suite(
    .enabled("unshare cannot make a network namespace here") { await NoNetwork.isAvailable.value },
    .timeLimit(.minutes(5))
)
struct OfflineTests {
    /// A store with some images that are due, and one that failed before.
    private func withStoredImages(_ body: (Workplace, LoopbackOrigin) async throws -> Void) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            origin.setResponse(.status(404), for: "/gone.png")
            try workplace.write("people.txt", origin.list(20) + origin.url("/gone.png") + "\n")
            _ = try await workplace.run("sync", "people.txt", "--allow-private-network")
            try await body(workplace, origin)
        }
    }

    @Test(arguments: [["--all"], ["people.txt", "--all"]])
    func syncEndsEarly_andHarmsNothing(arguments: [String]) async throws {
        try await withStoredImages { workplace, _ in
            let before = try await workplace.run("list", "--json").text

            let begun = ContinuousClock.now
            let run = try await NoNetwork.run(["sync", "--allow-private-network", "--json"] + arguments, in: workplace)
            let took = ContinuousClock.now - begun
            let after = try await workplace.run("list", "--json").text
            let verified = try await workplace.run("verify")

            #expect(run.status == 69)
            #expect(try run.object.failureKinds == ["offline"])
            #expect(try run.object.number("failed") == 0)
            #expect(try run.object.number("skipped").map { $0 >= 20 } == true)
            #expect(after == before)
            #expect(verified.status == 0)
            #expect(took < .seconds(60))
        }
    }

    @Test func namesThatCannotBeResolvedAreNotBlamed() async throws {
        let workplace = try Workplace()
        let list = (1...500).map { "https://host\($0).example/\($0).png\n" }.joined()
        try workplace.write("people.txt", list)

        let begun = ContinuousClock.now
        let first = try await NoNetwork.run(["sync", "people.txt", "--json"], in: workplace)
        let second = try await NoNetwork.run(["sync", "people.txt", "--json"], in: workplace)

        #expect(first.status == 69)
        #expect(try first.object.failureKinds == ["offline"])
        #expect(try first.object.number("skipped") == 500)
        // No image is backing off.
        #expect(try second.object.failureKinds == ["offline"])
        #expect(ContinuousClock.now - begun < .seconds(60))
    }

    @Test func storedImageIsGiven() async throws {
        try await withStoredImages { workplace, origin in
            let url = origin.url("/p/7.png")
            let run = try await NoNetwork.run(
                ["fetch", url, "--policy", "reload", "--allow-private-network", "--json"],
                in: workplace
            )

            #expect(run.status == 0)
            #expect(try run.object.text("outcome") == "stored")
            #expect(try run.object.flag("stale") == true)
            #expect(try run.object.text("kind") == "offline")
        }
    }

    @Test func missingImageFailsAsOffline() async throws {
        let workplace = try Workplace()

        let run = try await NoNetwork.run(["fetch", "https://pictures.example/a.png", "--json"], in: workplace)

        #expect(run.status == 1)
        #expect(try run.object.text("outcome") == "failed")
        #expect(try run.object.text("kind") == "offline")
        #expect(try run.object.text("message")?.contains("there is no network") == true)
    }
}

/// A network namespace of its own for the program.
private enum NoNetwork {
    private static let unshare = "/usr/bin/unshare"
    /// Without a user namespace this needs root.
    private static let options = geteuid() == 0 ? ["--net"] : ["--map-root-user", "--net"]

    static let isAvailable = Task {
        // A refusal is the answer: the tests are skipped.
        let run = try? await Workplace().run(tool: unshare, options + ["true"])
        return run?.status == 0
    }

    static func run(_ arguments: [String], in workplace: Workplace) async throws -> Run {
        let program = Program.executable.path(percentEncoded: false)
        return try await workplace.start(tool: unshare, options + [program] + arguments).end()
    }
}
