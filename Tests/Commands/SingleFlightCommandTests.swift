import AvatarStoreTesting
import Foundation
import Testing

/// Several processes that need the same image at the same time.
@Suite(.timeLimit(.minutes(5))) struct SingleFlightCommandTests {
    private static let fetch = ["fetch", "--allow-private-network", "--json", "--verbose"]
    private static let waiting = "waiting for another process"

    @Test func twoProcessesFetchAnImageOnce() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            origin.setResponse(image("/a").delayed(by: .seconds(2)), for: "/a")
            let first = try await workplace.start(Self.fetch + [origin.url("/a")])
            try await origin.waitForRequests()
            let second = try await workplace.start(Self.fetch + [origin.url("/a")])
            try await second.says(Self.waiting)

            let runs = try await [first.end(), second.end()]

            #expect(origin.requestCount == 1)
            #expect(runs.map(\.status) == [0, 0])
            #expect(try runs.map { try $0.object.text("outcome") } == ["fetched", "fetched"])
            let files = try runs.map { try $0.object.text("localFile") }
            #expect(files[0] == files[1])
            #expect(try workplace.read(#require(files[0])) == imageBytes("/a"))
        }
    }

    @Test func manyProcessesFetchAnImageOnce() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            origin.setResponse(image("/a").delayed(by: .seconds(1)), for: "/a")

            var programs: [RunningProgram] = []
            for _ in 0..<8 { programs.append(try await workplace.start(Self.fetch + [origin.url("/a")])) }
            var statuses: [Int32] = []
            for program in programs { statuses.append(try await program.end().status) }

            #expect(statuses == Array(repeating: 0, count: 8))
            #expect(origin.requestCount == 1)
        }
    }

    @Test func imageOfAKilledProcessIsFetchedByTheNextAtOnce() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            origin.setResponse(.hang, for: "/a")
            let first = try await workplace.start(Self.fetch + [origin.url("/a")])
            try await origin.waitForRequests()
            let second = try await workplace.start(Self.fetch + [origin.url("/a")])
            try await second.says(Self.waiting)
            origin.setResponse(image("/a"), for: "/a")
            let begun = ContinuousClock.now

            first.signal(SIGKILL)

            #expect(try await first.end().status == -SIGKILL)
            let run = try await second.end()
            #expect(run.status == 0)
            #expect(try run.object.text("outcome") == "fetched")
            #expect(origin.requestCount == 2)
            #expect(ContinuousClock.now - begun < .seconds(30), "a waiter's bound is a minute")
        }
    }

    @Test func briefPauseOfAProcessDoesNotLoseItsImage() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            origin.setResponse(image("/a").delayed(by: .seconds(2)), for: "/a")
            let first = try await workplace.start(Self.fetch + [origin.url("/a")])
            try await origin.waitForRequests()
            first.signal(SIGSTOP)
            let second = try await workplace.start(Self.fetch + [origin.url("/a")])
            try await second.says(Self.waiting)

            first.signal(SIGCONT)

            #expect(try await [first.end().status, second.end().status] == [0, 0])
            #expect(origin.requestCount == 1)
        }
    }

    /// The process is stopped before it reads the response, or halfway through the image; meanwhile another version is
    /// stored.
    @Test(arguments: [false, true])
    func processResumedAfterALongPauseDoesNotReplaceALaterImage(isHalfway: Bool) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            // Long enough that even a busy machine stops the process before the end of the response, and not in its commit.
            let slow: LoopbackOrigin.Response =
                isHalfway
                ? image("/a").behaving(.drip(byteCount: imageBytes("/a").count / 2, interval: .seconds(3)))
                : image("/a").delayed(by: .seconds(6))
            origin.setResponse(slow, for: "/a")
            let first = try await workplace.start(Self.fetch + [origin.url("/a")])
            try await origin.waitForRequests()
            try await waitUntil { !isHalfway || origin.bytesSent > 0 }
            first.signal(SIGSTOP)
            origin.setResponse(image("/a", version: 2), for: "/a")

            let second = try await workplace.start(Self.fetch + [origin.url("/a"), "--timeout", "5"]).end()
            first.signal(SIGCONT)
            let late = try await first.end()

            #expect(second.messages.contains(Self.waiting))
            #expect([second.status, late.status] == [0, 0])
            #expect(origin.requestCount == 2)
            let file = try #require(try second.object.text("localFile"))
            #expect(try late.object.text("localFile") == file)
            #expect(try workplace.read(file) == imageBytes("/a", version: 2))
            let entry = try await workplace.run("list", "--json").object
            #expect(entry.text("etag") == "\"v2\"")
            #expect(entry.text("state") == "fresh")
            #expect(try await workplace.run("stats", "--json").object.number("files") == 1)
        }
    }

    @Test func lateFailureDoesNotMarkALaterImageAsFailed() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            origin.setResponse(.status(503).delayed(by: .seconds(2)), for: "/a")
            let first = try await workplace.start(Self.fetch + [origin.url("/a")])
            try await origin.waitForRequests()
            first.signal(SIGSTOP)
            origin.setResponse(image("/a"), for: "/a")

            let second = try await workplace.start(Self.fetch + [origin.url("/a"), "--timeout", "5"]).end()
            first.signal(SIGCONT)
            let late = try await first.end()

            #expect([second.status, late.status] == [0, 0])
            #expect(try late.object.text("kind") == "serverError")
            #expect(try await workplace.run("list", "--json").object.text("state") == "fresh")
        }
    }

    @Test(arguments: [true, false])
    func syncAndFetchShareAnImage(isSyncFirst: Bool) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(20))
            origin.setResponse(image("/p/7.png").delayed(by: .seconds(2)), for: "/p/7.png")
            let sync = ["sync", "list.txt", "--allow-private-network", "--json", "--verbose"]
            let fetch = Self.fetch + [origin.url("/p/7.png")]
            let first = try await workplace.start(isSyncFirst ? sync : fetch)
            try await origin.waitForRequests(for: "/p/7.png")
            let second = try await workplace.start(isSyncFirst ? fetch : sync)
            try await second.says(Self.waiting)

            let runs = try await [first.end(), second.end()]

            #expect(runs.map(\.status) == [0, 0])
            #expect(origin.requestCount == 20)
            let report = try runs[isSyncFirst ? 0 : 1].object
            #expect(report.number("wanted") == 20)
            #expect(report.number("fresh") == (isSyncFirst ? 0 : 1))
            #expect(report.number("requests") == (isSyncFirst ? 20 : 19))
        }
    }
}
