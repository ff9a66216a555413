import AvatarStoreTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct FetchCommandTests {
    private static let fields: Set<String> = [
        "key", "outcome", "stale", "stored", "localFile", "sizeBytes", "mediaType", "width", "height", "kind",
        "message",
    ]

    @Test func everyURLHasItsLineInTheOrderOfTheArguments() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            origin.setResponse(image("/slow.png").delayed(by: .milliseconds(150)), for: "/slow.png")
            origin.setResponse(.status(404), for: "/gone.png")
            let urls = ["/slow.png", "/gone.png", "/fast.png"].map { origin.url($0) }

            let run = try await workplace.start(["fetch", "--json", "--allow-private-network"] + urls).end()

            #expect(run.status == 1)
            let lines = try run.objects
            #expect(lines.map { $0.text("key") } == urls)
            #expect(lines.map { $0.text("outcome") } == ["fetched", "failed", "fetched"])
            #expect(lines.allSatisfy { $0.names == Self.fields })
            #expect(lines[0].number("sizeBytes") == imageBytes("/slow.png").count)
            #expect(lines[0].text("mediaType") == "image/png")
            #expect(lines[0].number("width") == 120)
            #expect(lines[0].isNull("kind"))
            #expect(lines[1].text("kind") == "gone")
            #expect(lines[1].isNull("localFile"))
            let file = try #require(lines[2].text("localFile"))
            #expect(try workplace.read(file) == imageBytes("/fast.png"))
        }
    }

    @Test(arguments: [[], ["--quiet"], ["--json"]])
    func messagesFollowTheTable(options: [String]) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            for path in ["/a.png", "/c.png"] { origin.setResponse(.status(404), for: path) }
            let urls = ["/a.png", "/b.png", "/c.png"].map { "'\(origin.url($0))'" }.joined(separator: " ")
            let options = options.joined(separator: " ")

            let run = try await workplace.shell("\"$AVATARS\" fetch --allow-private-network \(options) \(urls) 2>&1")

            let messages = run.lines.indices.filter { run.lines[$0].hasPrefix("avatars: ") }
            let expected = ["": [4, 5], "--quiet": [0, 1], "--json": [0, 3]][options]
            #expect(messages == expected, "\(run.text)")
        }
    }

    @Test func failedEntriesAreFetchedAgain_withoutWaitingForTheirBackoff() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let urls = ["/a.png", "/b.png", "/c.png"].map { origin.url($0) }
            for path in ["/a.png", "/b.png"] { origin.setResponse(.status(500), for: path) }
            _ = try await workplace.start(["fetch", "--allow-private-network"] + urls).end()
            origin.setResponse(image("/b.png"), for: "/b.png")

            let retry = ["fetch", "--retry-failed", "--allow-private-network", "--json"]
            let run = try await workplace.start(retry).end()
            origin.setResponse(image("/a.png"), for: "/a.png")
            let second = try await workplace.start(retry).end()
            let third = try await workplace.start(retry).end()

            #expect(run.status == 1)
            #expect(try run.objects.map { $0.text("key") } == [urls[0], urls[1]])
            #expect(try run.objects.map { $0.text("outcome") } == ["failed", "fetched"])
            #expect(try second.status == 0 && second.objects.map { $0.text("key") } == [urls[0]])
            #expect(third.status == 0 && third.text.isEmpty && third.messages.contains("no request of an entry failed"))
            for wrong in [["fetch"], ["fetch", "--retry-failed", urls[0]]] {
                #expect(try await workplace.start(wrong).end().status == 64)
            }
        }
    }

    @Test(arguments: [(LoopbackOrigin.Response.status(500), Int32(1)), (.closed, 69)])
    func retriesThatAllFailAreNotExitCode0_evenWithStoredCopies(
        response: LoopbackOrigin.Response,
        status: Int32
    ) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let url = origin.url("/a.png")
            let reload = ["fetch", url, "--policy", "reload", "--allow-private-network"]
            try await workplace.start(reload).end().requireSuccess()
            origin.setResponse(response, for: "/a.png")
            #expect(try await workplace.start(reload).end().status == 0)

            let retry = ["fetch", "--retry-failed", "--allow-private-network"]
            let run = try await workplace.start(retry + ["--json"]).end()

            #expect(run.status == status, "\(run.messages)")
            #expect(run.messages.contains("No retry succeeded: 1 entry failed again."), "\(run.messages)")
            #expect(try run.object.text("outcome") == "stored")
        }
    }

    @Test(arguments: [
        ("cache-first", "stored", 1), ("offline", "stored", 1), ("revalidate", "stored", 1), ("reload", "fetched", 2),
    ])
    func policyDecidesBetweenStoreAndOrigin(policy: String, outcome: String, requests: Int) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let url = origin.url("/ada.png")
            _ = try await workplace.run("fetch", url, "--allow-private-network")

            let run = try await workplace.run("fetch", url, "--policy", policy, "--allow-private-network", "--json")

            #expect(run.status == 0)
            #expect(try run.object.text("outcome") == outcome)
            #expect(try run.object.flag("stale") == false)
            #expect(origin.requestCount == requests)
        }
    }

    @Test func staleImageIsRevalidated() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            origin.setResponse(.image(imageBytes("/a"), etag: "\"1\"", cacheControl: "max-age=0"), for: "/a")
            _ = try await workplace.run("fetch", origin.url("/a"), "--allow-private-network")

            let run = try await workplace.run(
                "fetch",
                origin.url("/a"),
                "--policy",
                "revalidate",
                "--allow-private-network",
                "--json"
            )

            #expect(try run.object.text("outcome") == "notModified")
        }
    }

    @Test func storedImageIsGivenIfTheOriginFails() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            _ = try await workplace.run("fetch", origin.url("/a"), "--allow-private-network")
            origin.setResponse(.status(503), for: "/a")

            let run = try await workplace.run(
                "fetch",
                origin.url("/a"),
                "--policy",
                "reload",
                "--allow-private-network",
                "--json"
            )

            #expect(run.status == 0)
            #expect(try run.object.text("outcome") == "stored")
            #expect(try run.object.flag("stale") == true)
            #expect(try run.object.text("kind") == "serverError")
            #expect(run.messages.hasPrefix("avatars: warning: "))
        }
    }

    @Test func transientImageIsNotStored() async throws {
        try await withImages { origin in
            let workplace = try Workplace()

            let run = try await workplace.run(
                "fetch",
                origin.url("/a"),
                "--class",
                "transient",
                "--allow-private-network",
                "--json"
            )
            let list = try await workplace.run("list")

            #expect(try run.object.text("outcome") == "fetched")
            #expect(try run.object.isNull("localFile"))
            #expect(try run.object.flag("stored") == false)
            #expect(run.messages.isEmpty)
            #expect(list.text.isEmpty)
        }
    }

    @Test func documentsAreStoredAsDocuments() async throws {
        try await withImages { origin in
            let workplace = try Workplace()

            let run = try await workplace.run(
                "fetch",
                origin.url("/a"),
                "--class",
                "documents",
                "--allow-private-network",
                "--json"
            )

            #expect(try run.object.text("localFile")?.hasPrefix(workplace.path("store/documents/")) == true)
        }
    }

    @Test func strictSaysWhatItDoesNotStore() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            origin.setResponse(.image(imageBytes("/a"), cacheControl: "no-store"), for: "/a")
            let fetch = ["fetch", origin.url("/a?token=1"), "--allow-private-network"]

            let object = try await workplace.start(fetch + ["--strict", "--json"]).end().object
            let table = try await workplace.start(fetch + ["--strict"]).end()
            let kept = try await workplace.start(fetch + ["--json"]).end()

            #expect(object.text("outcome") == "fetched")
            #expect(object.flag("stored") == false)
            #expect(object.isNull("localFile"))
            #expect(table.status == 0)
            #expect(table.lines[1].hasPrefix("not stored "))
            let reason = "the origin forbids storing (for example with Cache-Control: no-store), and --strict obeys it"
            #expect(table.messages == "avatars: \(origin.url("/a")) was fetched but not stored: \(reason)\n")
            #expect(try kept.object.flag("stored") == true)
            #expect(kept.messages.isEmpty)
        }
    }

    @Test func withoutJSONThereIsATable() async throws {
        try await withImages { origin in
            let workplace = try Workplace()

            let run = try await workplace.run("fetch", origin.url("/a.png"), "ftp://x/y", "--allow-private-network")

            #expect(run.status == 1)
            #expect(run.lines[0].hasPrefix("OUTCOME "))
            #expect(run.lines[1].hasPrefix("fetched "))
            #expect(run.lines[1].hasSuffix("120×120    \(origin.url("/a.png"))"))
            #expect(run.lines[2].hasPrefix("unsupportedURL "))
            #expect(run.messages == "avatars: The URL \"ftp://x/y\" must begin with http:// or https://.\n")
        }
    }
}
