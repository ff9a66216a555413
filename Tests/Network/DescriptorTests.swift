import AvatarStoreTesting
import Testing

/// The program with few file descriptors (`ulimit -n`): it is slower, and loses nothing.
@Suite(.timeLimit(.minutes(5)))
struct DescriptorTests {
    /// Runs `body` with an origin of its own for each of `count` addresses.
    private func withOrigins(_ count: Int, _ body: ([LoopbackOrigin]) async throws -> Void) async throws {
        var origins: [LoopbackOrigin] = []
        for number in 1...count {
            let origin = try await LoopbackOrigin.start(host: "127.0.77.\(number)")
            for image in 0..<3 {
                let bytes = SampleImage.png(seed: UInt64(number * 10 + image), byteCount: 3_000)
                origin.setResponse(.image(bytes, etag: "\"\(image)\"", cacheControl: "max-age=0"), for: "/\(image).png")
            }
            origins.append(origin)
        }
        try await body(origins)
        for origin in origins { try await origin.stop() }
    }

    @Test(.timeLimit(.minutes(3)))
    func manyHostsAreFetchedWithFewDescriptors() async throws {
        try await withOrigins(100) { origins in
            let workplace = try Workplace()
            let urls = origins.flatMap { origin in (0..<3).map { origin.url("/\($0).png") } }
            try workplace.write("people.txt", urls.map { $0 + "\n" }.joined())
            let sync = "\"$AVATARS\" sync people.txt --all --allow-private-network --json"

            let first = try await workplace.shell("ulimit -n 64; \(sync)")
            let second = try await workplace.shell("ulimit -n 64; \(sync)")
            let check = try await workplace.run("verify")

            #expect(try first.object.number("fetched") == 300, "\(first.text) \(first.messages)")
            #expect(try second.object.number("notModified") == 300, "\(second.text) \(second.messages)")
            #expect(check.status == 0, "\(check.messages)")
        }
    }

    /// The shell holds nearly all descriptors, and the program inherits them.
    @Test(.timeLimit(.minutes(3)))
    func withoutADescriptorTheReasonIsClear_andNothingIsLost() async throws {
        try await withOrigins(20) { origins in
            let workplace = try Workplace()
            let urls = origins.map { $0.url("/0.png") }
            try workplace.write("people.txt", urls.map { $0 + "\n" }.joined())
            let sync = "\"$AVATARS\" sync people.txt --all --allow-private-network --json"
            try await workplace.shell(sync).requireSuccess()

            // Enough to begin, and fewer in the course.
            for limit in 54...70 {
                let run = try await workplace.shell("ulimit -n \(limit); \(sync)")
                #expect(!run.messages.contains("there is no network"), "\(limit): \(run.messages)")
                #expect(
                    run.status == 0 || run.messages.contains("open files"),
                    "\(limit): \(run.status) \(run.messages)"
                )
            }

            let check = try await workplace.run("verify", "--json")
            #expect(check.status == 0, "\(check.messages)")
            let stored = try await workplace.run("list").text
            #expect(urls.allSatisfy { stored.contains($0) })
        }
    }
}
