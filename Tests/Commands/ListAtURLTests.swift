import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// Contact lists at URLs.
@Suite(.timeLimit(.minutes(5)))
struct ListAtURLTests {
    private static let face = SampleImage.png(seed: 1, byteCount: 600)

    private func list(_ ids: [String], _ origin: LoopbackOrigin, _ type: String? = nil) -> LoopbackOrigin.Response {
        let people = ids.map { #"{"id": "\#($0)", "avatarURL": "\#(origin.url("/face.png"))"}"# }
        var response = LoopbackOrigin.Response(body: .text("[" + people.joined(separator: ",") + "]"))
        if let type { response.headers["Content-Type"] = type }
        return response
    }

    private func withOrigin(_ body: (LoopbackOrigin, Workplace) async throws -> Void) async throws {
        try await withImages { origin in
            origin.setResponse(.image(Self.face, cacheControl: "max-age=3600"), for: "/face.png")
            try await body(origin, try Workplace())
        }
    }

    @Test func listIsFetchedWithItsToken_andPrunesItsContacts() async throws {
        try await withOrigin { origin, workplace in
            origin.setResponse(list(["ada", "ben"], origin), for: "/people.json")
            try workplace.write("headers", "127.0.0.1:\(origin.port) Authorization: Bearer s3cret\n")
            let url = origin.url("/people.json?key=s3cret")
            func sync(_ url: String) async throws -> Run {
                try await workplace.run(
                    "sync",
                    url,
                    "--header-file",
                    "headers",
                    "--allow-private-network",
                    "--json",
                    "--prune",
                    "--store",
                    "store"
                )
            }

            let first = try await sync(url)
            origin.setResponse(list(["ben"], origin), for: "/people.json")
            let other = try await sync(origin.url("/people.json?key=other"))
            let second = try await sync(url)

            #expect(try first.status == 0 && first.object.number("fetched") == 1)
            #expect(origin.requests.first { $0.path == "/people.json" }?.headers["Authorization"] == "Bearer s3cret")
            #expect(try other.object.number("unlinked") == 0)
            #expect(try second.status == 0 && second.object.number("unlinked") == 1)
            for name in ["index.sqlite", "index.sqlite-wal"] where workplace.exists("store/" + name) {
                let bytes = try Data(contentsOf: URL(fileURLWithPath: workplace.path("store/" + name)))
                #expect(bytes.range(of: Data("s3cret".utf8)) == nil)
            }
            #expect(workplace.exists("store/index.sqlite"))
        }
    }

    /// Images elsewhere are judged as ever; the host of the list was named by the operator.
    @Test func hostOfTheListMayBePrivate() async throws {
        try await withOrigin { origin, workplace in
            origin.setResponse(list(["ada"], origin, "text/html"), for: "/people")
            let run = try await workplace.run("sync", origin.url("/people"), "--format", "json", "--json")
            #expect(try run.object.number("contacts") == 1)
            #expect(try run.object.objects("failures")?.first?["kind"] as? String == "forbiddenAddress")
        }
    }

    @Test func listThatIsNotThereStopsTheSync() async throws {
        try await withOrigin { origin, workplace in
            origin.setResponse(.status(404), for: "/gone.json")
            origin.setResponse(.status(401), for: "/closed.json")
            origin.setResponse(.status(503), for: "/busy.json")
            origin.setResponse(.redirect(to: origin.url("/closed.json")), for: "/moved.json")
            origin.setResponse(list(["ada"], origin).behaving(.cutShort(after: 10)), for: "/half.json")
            for (path, status, message) in [
                ("/gone.json", 2, "responds with status 404"), ("/closed.json", 2, "give its token with --header-file"),
                ("/busy.json", 69, "responds with status 503"), ("/moved.json", 2, "redirects to another URL"),
                ("/half.json", 2, "/half.json"),
            ] {
                let run = try await workplace.run("sync", origin.url(path) + "?token=s3cret", "--prune")
                #expect(run.status == Int32(status), "\(path): \(run.messages)")
                #expect(run.messages.contains(message) && !run.messages.contains("s3cret"), "\(run.messages)")
            }
            let unreached = try await workplace.run("sync", "http://127.0.0.1:1/people.json")
            #expect(unreached.status == 69)
            let user = try await workplace.run("sync", "http://ada:s3cret@127.0.0.1/people.json")
            #expect(user.status == 64 && user.messages.contains("--header-file"))
            #expect(!user.messages.contains("s3cret"))
        }
    }

    /// The statuses of the answers to the syncs of a list, and the sync as JSON.
    private func syncs(
        _ workplace: Workplace,
        _ origin: LoopbackOrigin,
        _ options: String...
    ) async throws -> (status: Int, run: JSONObject) {
        let before = origin.requests.count { $0.path == "/people.json" }
        let arguments = ["sync", origin.url("/people.json"), "--allow-private-network", "--json"] + options
        let run = try await workplace.start(arguments).end()
        let requests = origin.requests.filter { $0.path == "/people.json" }.dropFirst(before)
        #expect(run.status == 0 && requests.count == 1, "\(run.messages)")
        let isAsked = ["If-None-Match", "If-Modified-Since"].contains { requests.first?.headers[$0] != nil }
        let isUnchanged = run.messages.contains("has not changed since the last sync")
        #expect(isAsked || !isUnchanged)
        return (isUnchanged ? 304 : 200, try run.object)
    }

    @Test(arguments: ["ETag", "Last-Modified"])
    func listThatHasNotChangedIsNotRead(validator: String) async throws {
        try await withOrigin { origin, workplace in
            func serve(_ ids: [String], _ value: String) {
                var list = list(ids, origin)
                list.headers[validator] = value
                let response = list
                origin.setResponse(for: "/people.json") { request in
                    let asked = request.headers[validator == "ETag" ? "If-None-Match" : "If-Modified-Since"]
                    return asked == value ? .status(304) : response
                }
            }
            let (one, two) =
                validator == "ETag"
                ? ("\"1\"", "\"2\"") : ("Sat, 28 Nov 2026 01:00:00 GMT", "Sat, 28 Nov 2026 02:00:00 GMT")
            serve(["ada", "ben"], one)
            #expect(try await syncs(workplace, origin).status == 200)
            let unchanged = try await syncs(workplace, origin)
            #expect(unchanged.status == 304)
            #expect(unchanged.run.number("contacts") == 2)
            #expect(unchanged.run.number("requests") == 0)
            #expect(try await workplace.run("contacts", "--json").objects.count == 2)
            // A sync that prunes has to know the contacts of the list.
            #expect(try await syncs(workplace, origin, "--prune").status == 200)
            #expect(try await syncs(workplace, origin, "--prune").status == 304)
            #expect(try await syncs(workplace, origin, "--prune", "--full").status == 200)
            serve(["ada"], two)
            let changed = try await syncs(workplace, origin, "--prune")
            #expect(changed.status == 200)
            #expect(changed.run.number("unlinked") == 1)
            #expect(try await syncs(workplace, origin, "--prune").status == 304)
            // An image that was removed comes back.
            try await workplace.run("remove", origin.url("/face.png"), "--yes").requireSuccess()
            #expect(try await syncs(workplace, origin, "--prune").run.number("fetched") == 1)
            #expect(try await syncs(workplace, origin, "--prune").status == 304)
        }
    }

    @Test func imagesOfAnUnchangedListAreRevalidatedAsDue() async throws {
        try await withOrigin { origin, workplace in
            origin.setResponse(.image(Self.face, etag: "\"1\"", cacheControl: "max-age=0"), for: "/face.png")
            let response = list(["ada"], origin)
            origin.setResponse(for: "/people.json") { request in
                var list = response
                list.headers["ETag"] = "\"1\""
                return request.headers["If-None-Match"] == nil ? list : .status(304)
            }
            _ = try await syncs(workplace, origin)
            let second = try await syncs(workplace, origin)
            #expect(second.status == 304)
            #expect(second.run.number("notModified") == 1)
        }
    }

    /// What is left of a list would never be fetched if the list were not read again.
    @Test func listWithImagesThatAreNotThereYetIsReadAgain() async throws {
        try await withOrigin { origin, workplace in
            let people =
                #"[{"id": "ada", "avatarURL": "\#(origin.url("/face.png"))"}, {"id": "ben", "avatarURL": "\#(origin.url("/ben.png"))"}]"#
            origin.setResponse(.image(Self.face), for: "/ben.png")
            origin.setResponse(for: "/people.json") { request in
                var list = LoopbackOrigin.Response(body: .text(people))
                list.headers["ETag"] = "\"1\""
                return request.headers["If-None-Match"] == nil ? list : .status(304)
            }
            #expect(try await syncs(workplace, origin, "--limit", "1").run.number("fetched") == 1)
            let second = try await syncs(workplace, origin)
            #expect(second.status == 200)
            #expect(second.run.number("fetched") == 1)
            #expect(try await syncs(workplace, origin).status == 304)
            // Another list by the same name is another state of it, even with as many contacts and images.
            let swapped = people.replacing("ada", with: "?").replacing("ben\"", with: "ada\"").replacing(
                "?",
                with: "ben"
            )
            try workplace.write("other.json", swapped)
            let name = origin.url("/people.json")
            try await workplace.run("sync", "other.json", "--list-name", name, "--allow-private-network")
                .requireSuccess()
            #expect(try await workplace.run("show", "--contact", "ada").text.contains("/ben.png"))
            #expect(try await syncs(workplace, origin).status == 200)
            #expect(try await workplace.run("show", "--contact", "ada").text.contains("/face.png"))
        }
    }

    @Test func serverReadsTheListAgain() async throws {
        try await withOrigin { origin, workplace in
            origin.setResponse(list(["ada"], origin), for: "/people.json")
            let arguments = ["--sync", origin.url("/people.json"), "--every", "1s", "--allow-private-network"]
            let server = try await workplace.start(["serve", "--listen", "127.0.0.1:0"] + arguments)
            try await origin.waitForRequests(2, for: "/people.json")
            server.signal(SIGTERM)
            #expect(try await server.end().status == 143)
        }
    }
}
