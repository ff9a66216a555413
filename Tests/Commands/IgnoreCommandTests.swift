import AvatarFiles
import AvatarStore
import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// `avatars shared` and `avatars ignore`.
@Suite(.timeLimit(.minutes(5))) struct IgnoreCommandTests {
    private static let silhouette = SampleImage.png(seed: 5, byteCount: 2000)
    private static let digest = Hexadecimal.text(ContentDigest.sha256(silhouette))

    /// A workplace whose store has `count` contacts with the silhouette of one host, and 3 contacts with their own images.
    private func withSilhouettes(_ count: Int = 12, _ body: (Workplace, LoopbackOrigin) async throws -> Void)
        async throws
    {
        let origin = try await LoopbackOrigin.start { request in
            request.path.hasPrefix("/none/")
                ? .image(Self.silhouette, etag: "\"s\"", cacheControl: "max-age=0") : image(request.target)
        }
        let workplace = try Workplace()
        let people =
            (0..<count).map { "{\"id\": \"n\($0)\", \"avatarURL\": \"\(origin.url("/none/\($0).png"))\"}\n" }
            + (0..<3).map { "{\"id\": \"p\($0)\", \"avatarURL\": \"\(origin.url("/p/\($0).png"))\"}\n" }
        try workplace.write("people.ndjson", people.joined())
        try await workplace.run("sync", "people.ndjson", "--allow-private-network").requireSuccess()
        do {
            try await body(workplace, origin)
        } catch {
            try await origin.stop()
            throw error
        }
        try await origin.stop()
    }

    @Test func sharedImagesAreListedAsTextAndJSON() async throws {
        try await withSilhouettes { workplace, origin in
            let text = try await workplace.run("shared")
            #expect(text.status == 0 && text.lines.count == 2)
            #expect(text.text.contains("12 contacts of 127.0.0.1:"))
            #expect(text.lines[1].hasPrefix(String(Self.digest.prefix(16))))

            let json = try await workplace.run("shared", "--json").object
            let images = try #require(json.objects("pictures"))
            #expect(images.count == 1)
            #expect(images[0]["digest"] as? String == Self.digest && images[0]["contacts"] as? Int == 12)
            #expect(
                Set(images[0].keys) == [
                    "digest", "contacts", "hosts", "mediaType", "width", "height", "sizeBytes", "localFile",
                ]
            )
            let file = try #require(images[0]["localFile"] as? String)
            #expect(try workplace.read(file) == Self.silhouette)

            let none = try await workplace.run("shared", "--minimum", "13")
            #expect(
                none.status == 0 && none.text.isEmpty
                    && none.messages.contains("no host has an image of at least 13 contacts")
            )
            #expect(try await workplace.run("shared", "--minimum", "1").status == 64)
            #expect(try await workplace.run("shared", "--after", "x").status == 64)
        }
    }

    @Test func ignoringAndUndoingPrintTheirEffects() async throws {
        try await withSilhouettes { workplace, origin in
            let prefix = String(Self.digest.prefix(10))
            let dry = try await workplace.run("ignore", prefix, "--dry-run")
            #expect(dry.status == 0)
            #expect(
                dry.text.hasPrefix("Would ignore 1 image of 12 contacts, and delete 1 file (2.0 kB"),
                "\(dry.text)"
            )

            let ignored = try await workplace.run("ignore", prefix, "--json").object

            #expect(ignored.texts("digests") == [Self.digest])
            #expect(ignored.number("entries") == 12 && ignored.number("contacts") == 12)
            #expect(ignored.number("files") == 1 && ignored.number("bytes") == 2000)
            let url = origin.url("/none/0.png")
            #expect(try await workplace.run("path", url).status == 1)
            let get = try await workplace.run("get", url, "--allow-private-network")
            #expect(get.status == 1 && get.bytes.isEmpty && get.messages.contains("is ignored"))
            let fetch = try await workplace.run("fetch", url, "--json", "--allow-private-network")
            #expect(
                try fetch.status == 1 && fetch.object.text("outcome") == "failed"
                    && fetch.object.text("kind") == "ignored"
            )
            let initials = try await workplace.run("get", "--contact", "n0", "--placeholder", "--allow-private-network")
            #expect(initials.status == 0 && initials.text.hasPrefix("<svg"))
            let show = try await workplace.run("show", url)
            #expect(show.text.contains("ignored") && show.text.contains(Self.digest))
            #expect(try await workplace.run("list", "--state", "ignored", "--json").lines.count == 12)
            let listed = try await workplace.run("shared", "--ignored", "--json").object.objects("ignored")
            #expect(listed?.map { $0["contacts"] as? Int } == [12])
            #expect(try await workplace.run("verify").status == 0)

            // An ignored image is not a failure.
            let sync = try await workplace.run("sync", "people.ndjson", "--allow-private-network", "--json")
            #expect(
                try sync.status == 0 && sync.object.number("ignored") == 12 && sync.object.number("notModified") == 12
            )

            let undone = try await workplace.run("ignore", "--undo", prefix)
            #expect(undone.status == 0 && undone.text.hasPrefix("Stopped ignoring 1 image"))
            let back = try await workplace.run("sync", "--allow-private-network", "--json")
            #expect(try back.object.number("fetched") == 12)
            #expect(try await workplace.run("get", url).bytes == Self.silhouette)
        }
    }

    @Test func invalidDigestIsReported_andTheOthersAreIgnored() async throws {
        try await withSilhouettes(3) { workplace, _ in
            let run = try await workplace.run("ignore", "nonsense", "0123456789", Self.digest)
            #expect(run.status == 1 && run.text.hasPrefix("Ignored 1 image"))
            #expect(
                run.messages.contains("\"nonsense\" must be") && run.messages.contains("begins with \"0123456789\"")
            )
            let undo = try await workplace.run("ignore", "--undo", String(repeating: "a", count: 64), Self.digest)
            #expect(
                undo.status == 1 && undo.messages.contains("is not ignored")
                    && undo.text.hasPrefix("Stopped ignoring 1 image")
            )
            #expect(try await workplace.run("ignore").status == 64)
        }
    }

    /// A sync in another process has fetched the images, and must not store them again.
    @Test(.timeLimit(.minutes(5))) func syncOfAnotherProcessDoesNotRestoreTheImage() async throws {
        try await withSilhouettes(300) { workplace, origin in
            for _ in 0..<3 {
                // In the first round there is nothing to undo.
                _ = try await workplace.run("ignore", "--undo", Self.digest)
                try await workplace.run("sync", "--allow-private-network").requireSuccess()
                origin.resetCounts()
                let sync = try await workplace.start([
                    "sync", "people.ndjson", "--policy", "reload", "--allow-private-network", "--json",
                ])
                let end = Task { try await sync.end() }
                try await origin.waitForRequests(100)

                try await workplace.run("ignore", Self.digest).requireSuccess()
                let report = try await end.value

                #expect(try report.status == 0 && report.object.number("failed") == 0)
                #expect(try await ignored(in: workplace) == 300)
                #expect(try await workplace.run("stats", "--json").object.number("files") == 3)
                #expect(try await workplace.run("verify").status == 0)
            }
        }
    }

    private func ignored(in workplace: Workplace) async throws -> Int {
        let store = try await openForReading(in: workplace)
        let count = try store.statistics().states[.ignored] ?? 0
        try await store.close()
        return count
    }

    private func openForReading(in workplace: Workplace) async throws -> AvatarStore {
        var configuration = AvatarStore.Configuration(directory: workplace.path("store"))
        configuration.access = .readOnly
        return try await AvatarStore.open(configuration)
    }
}
