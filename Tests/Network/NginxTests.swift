import AvatarStoreTesting
import Foundation
import Testing

/// The program against nginx, as an operator runs it.
@Suite(.enabled(if: Nginx.isAvailable, Comment(rawValue: Nginx.absence)), .timeLimit(.minutes(5)))
struct NginxTests {
    /// The JSON output of `fetch` for `url` with the arguments that follow.
    private func fetch(_ url: String, in workplace: Workplace, _ arguments: [String] = []) async throws -> JSONObject {
        let run = try await workplace.start(["fetch", url, "--allow-private-network", "--json"] + arguments).end()
        return try run.object
    }

    private func bytes(of url: String, in workplace: Workplace) async throws -> [UInt8] {
        try await workplace.run("get", url, "--policy", "offline").bytes
    }

    // MARK: Validators

    @Test func unchangedImageIsNotSentAgain() async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()
            try nginx.serve(imageBytes("ada"), at: "/ada.png")

            let first = try await fetch(nginx.url("/ada.png"), in: workplace)
            _ = try await workplace.run("config", "maximum-freshness", "0")
            let second = try await fetch(nginx.url("/ada.png"), in: workplace, ["--policy", "reload"])
            let third = try await fetch(nginx.url("/ada.png"), in: workplace, ["--policy", "revalidate"])

            #expect(first.text("outcome") == "fetched")
            #expect(second.text("outcome") == "fetched")
            #expect(third.text("outcome") == "notModified")
            let requests = try await nginx.requests(3)
            #expect(requests.map(\.status) == [200, 200, 304])
            #expect(requests[0].condition.isEmpty)
            #expect(requests[2].condition.hasPrefix("\""))
            #expect(try await bytes(of: nginx.url("/ada.png"), in: workplace) == imageBytes("ada"))
        }
    }

    @Test func changedImageReplacesTheOldOne() async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()
            let url = nginx.url("/ada.png")
            try nginx.serve(imageBytes("ada"), at: "/ada.png")
            _ = try await fetch(url, in: workplace)
            try nginx.serve(imageBytes("ada", version: 2), at: "/ada.png")

            let run = try await workplace.run("sync", "--all", "--allow-private-network", "--json")

            #expect(run.status == 0)
            #expect(try run.object.number("changed") == 1)
            #expect(try await bytes(of: url, in: workplace) == imageBytes("ada", version: 2))
        }
    }

    @Test func syncOfAllUnchangedImagesReceivesNoBytes() async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()
            let count = 300
            for number in 1...count { try nginx.serve(imageBytes("\(number)"), at: "/p/\(number).png") }
            let list = (1...count).map { nginx.url("/p/\($0).png") + "\n" }.joined()
            try workplace.write("people.txt", list)
            let first = try await workplace.run("sync", "people.txt", "--allow-private-network", "--json")

            let second = try await workplace.run("sync", "people.txt", "--all", "--allow-private-network", "--json")

            #expect(try first.object.number("fetched") == count)
            #expect(try second.object.number("notModified") == count)
            #expect(try second.object.number("requests") == count)
            #expect(try second.object.number("bytesReceived") == 0)
            let requests = try await nginx.requests(2 * count)
            #expect(requests.suffix(count).allSatisfy { $0.status == 304 })
        }
    }

    // MARK: Content coding

    @Test func requestAcceptsNoContentCoding() async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()
            // Compressed, it would be much smaller.
            let image = SampleImage.bmp(seed: 7)
            try nginx.serve(image, at: "/flat.bmp")

            let result = try await fetch(nginx.url("/flat.bmp"), in: workplace)

            #expect(result.number("sizeBytes") == image.count)
            #expect(try await bytes(of: nginx.url("/flat.bmp"), in: workplace) == image)
            // With a content coding, nginx makes the ETag weak.
            _ = try await workplace.run("sync", "--all", "--allow-private-network")
            #expect(try await nginx.requests(2)[1].condition.hasPrefix("\""))
        }
    }

    /// `gzip_static` announces a coding that the file does not have.
    @Test func falselyAnnouncedCodingIsIgnored() async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()
            try nginx.serve(imageBytes("ada"), at: "/compressed/ada.png.gz")
            try nginx.serve(imageBytes("ada"), at: "/compressed/ada.png")

            let result = try await fetch(nginx.url("/compressed/ada.png"), in: workplace)

            #expect(result.text("outcome") == "fetched")
            #expect(try await bytes(of: nginx.url("/compressed/ada.png"), in: workplace) == imageBytes("ada"))
        }
    }

    @Test func compressedImageIsDecoded() async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()
            try nginx.serve(imageBytes("ada"), at: "/compressed/ada.png")
            try await nginx.workplace.shell("gzip pictures/compressed/ada.png").requireSuccess()

            let result = try await fetch(nginx.url("/compressed/ada.png"), in: workplace)

            #expect(result.text("outcome") == "fetched")
            #expect(result.number("sizeBytes") == imageBytes("ada").count)
            #expect(try await bytes(of: nginx.url("/compressed/ada.png"), in: workplace) == imageBytes("ada"))
        }
    }

    // MARK: The request target

    @Test func targetIsExactOverHTTP1AndHTTP2() async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()
            for url in [nginx.url("/J%F6rg.png?x=%FF"), nginx.secureURL("/J%F6rg.png?x=%FF")] {
                _ = try await fetch(url, in: workplace, ["--ca-file", nginx.certificateFile])
            }
            let requests = try await nginx.requests(2)
            #expect(requests.map(\.path) == ["/J%F6rg.png?x=%FF", "/J%F6rg.png?x=%FF"])
            #expect(requests.map(\.httpVersion) == ["HTTP/1.1", "HTTP/2.0"])
        }
    }

    // MARK: Limits of the server

    @Test(arguments: [("limited", "rateLimited", 429), ("overloaded", "serverError", 503)])
    func hostThatThrottlesIsPaused(folder: String, kind: String, status: Int) async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()
            for number in 1...40 { try nginx.serve(imageBytes("\(number)"), at: "/\(folder)/\(number).png") }
            let list = (1...40).map { nginx.url("/\(folder)/\($0).png") + "\n" }.joined()
            try workplace.write("people.txt", list)
            let arguments = ["sync", "people.txt", "--allow-private-network", "--per-host", "2", "--json"]

            let first = try await workplace.start(arguments).end()
            let asked = try await nginx.requests(4).count
            let second = try await workplace.start(arguments).end()
            let read = try await fetch(nginx.url("/\(folder)/40.png"), in: workplace, ["--policy", "reload"])

            #expect(first.status == 1)
            #expect(try first.object.number("fetched") == 3)
            #expect(try Set(first.object.failureKinds) == [kind])
            #expect(try first.object.number("failed").map { (1...2).contains($0) } == true)
            #expect(try first.object.number("skipped").map { $0 >= 35 } == true)
            #expect(try second.object.number("requests") == 0)
            #expect(try second.object.number("fresh") == 3)
            #expect(read.text("outcome") == "failed")
            let requests = try await nginx.requests(asked)
            #expect(requests.count == asked)
            #expect(requests.filter { $0.status == status }.count == asked - 3)
        }
    }

    // MARK: HTTP/2

    @Test func overTLSItIsHTTP2() async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()
            for number in 1...20 { try nginx.serve(imageBytes("\(number)"), at: "/p/\(number).png") }
            let list = (1...20).map { nginx.secureURL("/p/\($0).png") + "\n" }.joined()
            try workplace.write("people.txt", list)
            let arguments = [
                "sync", "people.txt", "--all", "--allow-private-network", "--json", "--ca-file", nginx.certificateFile,
            ]

            let first = try await workplace.start(arguments).end()
            let second = try await workplace.start(arguments).end()

            #expect(try first.object.number("fetched") == 20)
            #expect(try second.object.number("notModified") == 20)
            let requests = try await nginx.requests(40)
            #expect(requests.allSatisfy { $0.httpVersion == "HTTP/2.0" })
            // One connection per run.
            #expect(Set(requests.map(\.connection)).count == 2)
            #expect(try await bytes(of: nginx.secureURL("/p/7.png"), in: workplace) == imageBytes("7"))
        }
    }

    /// Requests that the origin no longer accepts after GOAWAY go to another connection (RFC 9113 section 6.8).
    @Test(arguments: [(perConnection: 20, count: 300), (1, 100)])
    func connectionsThatEndCostNoImage(perConnection: Int, count: Int) async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()
            for number in 1...count { try nginx.serve(imageBytes("\(number)"), at: "/p/\(number).png") }
            let list = (1...count).map { nginx.restlessURL("/p/\($0).png", after: perConnection) + "\n" }.joined()
            try workplace.write("people.txt", list)
            let arguments = [
                "sync", "people.txt", "--all", "--allow-private-network", "--json", "--ca-file", nginx.certificateFile,
                "--per-host", "8",
            ]

            let first = try await workplace.start(arguments).end()
            let second = try await workplace.start(arguments).end()

            #expect(try first.object.number("fetched") == count)
            #expect(try second.object.number("notModified") == count)
            let connections = try Set(await nginx.requests(2 * count).map(\.connection))
            #expect(connections.count >= 2 * count / perConnection)
        }
    }

    @Test func untrustedCertificateIsRefused() async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()
            try nginx.serve(imageBytes("ada"), at: "/ada.png")

            let result = try await fetch(nginx.secureURL("/ada.png"), in: workplace)

            #expect(result.text("kind") == "unreachable")
            let reason = "the certificate of the host is not from an authority that this system trusts."
            #expect(result.text("message")?.hasSuffix(reason) == true)
        }
    }

    /// The sentence of the failure is kept, without the query of the URL.
    @Test func reasonOfAFailureIsToldAfterwards() async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()
            let url = nginx.secureURL("/ada.png?token=secret")
            try workplace.write("people.ndjson", "{\"id\": \"ada\", \"avatarURL\": \"\(url)\"}\n")
            let network = "--allow-private-network"
            let sync = try await workplace.run("sync", "people.ndjson", network)

            let show = try await workplace.run("show", url)
            let contacts = try await workplace.run("contacts")
            let details = try await workplace.run("contacts", "--json")
            let stats = try await workplace.run("stats")
            let doctor = try await workplace.run("doctor", network)

            let reason = "the certificate of the host is not from an authority that this system trusts"
            for run in [sync, show, contacts, stats, doctor] {
                #expect((run.text + run.messages).contains(reason), "\(run.text) \(run.messages)")
            }
            #expect(show.text.contains(": \(reason). The next one is due"), "\(show.text)")
            #expect(try details.object.text("failureMessage")?.hasSuffix("/ada.png: \(reason).") == true)
            let statistics = try await workplace.run("stats", "--json").object.objects("failingHosts")
            let host = try #require(statistics?.first)
            #expect(host["kind"] as? String == "unreachable" && host["failures"] as? Int == 1)
            #expect(host["message"] as? String == "\(host["host"] as? String ?? ""): \(reason).")
            // The index has the sentence without the query.
            let sentences = try await workplace.shell(
                "sqlite3 store/index.sqlite 'SELECT failure_message FROM avatar UNION SELECT failure_message FROM host'"
            )
            #expect(sentences.text.contains(reason) && !sentences.text.contains("secret"), "\(sentences.text)")
            #expect(doctor.text.contains("A request now fails too."), "\(doctor.text)")

            // Once the host is trusted, nothing of the failure is left.
            try nginx.serve(imageBytes("ada"), at: "/ada.png")
            let trusted = [network, "--ca-file", nginx.certificateFile]
            let tried = try await workplace.start(["doctor"] + trusted).end()
            #expect(tried.text.contains("responds to a request now, with status 200."), "\(tried.text)")
            try await workplace.start(["sync", "people.ndjson", "--policy", "reload"] + trusted).end().requireSuccess()
            #expect(try await workplace.run("show", url, "--json").object.isNull("failureMessage"))
            #expect(try await workplace.run("stats", "--json").object.objects("failingHosts")?.isEmpty == true)
        }
    }

    // MARK: Redirects

    @Test(arguments: ["/moved.png", "/elsewhere.png"])
    func redirectIsFollowed(path: String) async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()
            try nginx.serve(imageBytes("ada"), at: "/ada.png")

            let first = try await fetch(nginx.url(path), in: workplace)
            let again = try await workplace.run("sync", "--all", "--allow-private-network", "--json")

            #expect(first.text("outcome") == "fetched")
            #expect(first.text("key") == nginx.url(path))
            #expect(try again.object.number("notModified") == 1)
            #expect(try again.object.number("requests") == 2)
            #expect(try await nginx.requests(4).map(\.status).filter { $0 < 300 || $0 == 304 } == [200, 304])
        }
    }

    @Test func redirectToTheSameHostKeepsTheConnection() async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()
            try nginx.serve(imageBytes("ada"), at: "/ada.png")

            _ = try await fetch(nginx.url("/moved.png"), in: workplace)

            let requests = try await nginx.requests(2)
            #expect(requests.map(\.path) == ["/moved.png", "/ada.png"])
            #expect(requests[0].connection == requests[1].connection)
        }
    }

    @Test(arguments: ["/circle/a", "/further/"])
    func endlessRedirectsEnd(path: String) async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()

            let result = try await fetch(nginx.url(path), in: workplace)

            #expect(result.text("kind") == "tooManyRedirects")
            #expect(try await nginx.requests(2).count <= 11)
        }
    }

    // MARK: Slow and broken

    @Test func slowImageTimesOutAndTheNextFetchResumesIt() async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()
            let url = nginx.url("/slow/ada.png")
            try nginx.serve(imageBytes("ada"), at: "/slow/ada.png")

            let first = try await fetch(url, in: workplace, ["--timeout", "2"])
            let second = try await fetch(url, in: workplace)

            #expect(first.text("kind") == "timeout")
            #expect(second.text("outcome") == "fetched")
            let requests = try await nginx.requests(2)
            #expect(requests.map(\.status) == [200, 206])
            #expect(requests[1].range.hasPrefix("bytes="))
            #expect(try await bytes(of: url, in: workplace) == imageBytes("ada"))
            let verified = try await workplace.run("verify")
            #expect(verified.status == 0)
        }
    }

    @Test func changedImageIsNotResumed() async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()
            let url = nginx.url("/slow/ada.png")
            try nginx.serve(imageBytes("ada"), at: "/slow/ada.png")

            let first = try await fetch(url, in: workplace, ["--timeout", "2"])
            try nginx.serve(imageBytes("ada", version: 2), at: "/slow/ada.png")
            let second = try await fetch(url, in: workplace)

            #expect(first.text("kind") == "timeout")
            #expect(second.text("outcome") == "fetched")
            #expect(try await nginx.requests(2).map(\.status) == [200, 200])
            #expect(try await bytes(of: url, in: workplace) == imageBytes("ada", version: 2))
        }
    }

    @Test func bodyThatBreaksOffIsTruncated_andTheLastGoodImageStays() async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()
            let url = nginx.url("/cut/ada.png")
            // Small enough to arrive in one piece.
            let small = SampleImage.identicon(for: "ada", side: 10)
            try nginx.serve(small, at: "/slow/ada.png")
            let first = try await fetch(url, in: workplace)
            try nginx.serve(imageBytes("ada"), at: "/slow/ada.png")

            let second = try await fetch(url, in: workplace, ["--policy", "reload"])

            #expect(first.text("outcome") == "fetched")
            #expect(second.text("outcome") == "stored")
            #expect(second.text("kind") == "truncated")
            #expect(second.flag("stale") == true)
            #expect(try await bytes(of: url, in: workplace) == small)
        }
    }

    /// The origin may have processed the request: only one on a connection used before could be sent again.
    @Test func requestOnAFreshConnectionThatIsDroppedIsNotRepeated() async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()

            let result = try await fetch(nginx.url("/dropped.png"), in: workplace)

            #expect(result.text("kind") == "unreachable")
            #expect(try await nginx.requests(1).count == 1)
        }
    }

    @Test func headerHasALimit() async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()
            for folder in ["large-header", "huge-header"] {
                try nginx.serve(imageBytes("ada"), at: "/\(folder)/ada.png")
            }

            let large = try await fetch(nginx.url("/large-header/ada.png"), in: workplace)
            let huge = try await fetch(nginx.url("/huge-header/ada.png"), in: workplace)

            #expect(large.text("outcome") == "fetched")
            #expect(huge.text("kind") == "unreachable")
            #expect(huge.text("message")?.contains("larger than 65536 bytes") == true)
        }
    }

    /// All requests of an HTTP/2 connection share one header compression, so that an error in it ends them all.
    @Test func headerThatIsTooLargeForHTTP2FailsAtOnce() async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()
            for folder in ["large-header", "huge-header"] {
                try nginx.serve(imageBytes("ada"), at: "/\(folder)/ada.png")
            }
            let trust = ["--ca-file", nginx.certificateFile]

            let huge = try await fetch(nginx.secureURL("/huge-header/ada.png"), in: workplace, trust)
            let large = try await fetch(nginx.secureURL("/large-header/ada.png"), in: workplace, trust)

            // Not `timeout`: the request fails at once instead of being left waiting.
            #expect(huge.text("kind") == "unreachable")
            #expect(large.text("outcome") == "fetched")
        }
    }

    // MARK: Credentials

    @Test func fieldsOfAHostAreSentToThatHostOnly() async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()
            try nginx.serve(imageBytes("ada"), at: "/ada.png")
            try workplace.write("fields.txt", "\(nginx.host) Authorization: Bearer secret\n")

            let run = try await workplace.run(
                "fetch",
                nginx.url("/elsewhere.png"),
                "--allow-private-network",
                "--header-file",
                "fields.txt",
                "--verbose",
                "--json"
            )

            #expect(try run.object.text("outcome") == "fetched")
            let requests = try await nginx.requests(2)
            #expect(requests.map(\.authorization) == ["Bearer secret", ""])
            #expect(!run.messages.contains("secret"))
            let index = try workplace.read("store/index.sqlite")
            #expect(!String(decoding: index, as: UTF8.self).contains("secret"))
        }
    }

    /// An https origin may redirect to http, but a token meant for an encrypted connection must not be sent in the clear.
    @Test(arguments: [false, true])
    func redirectToHTTPDropsTheFields(isSecure: Bool) async throws {
        try await Nginx.withServer { nginx in
            let workplace = try Workplace()
            try nginx.serve(imageBytes("ada"), at: "/ada.png")
            try workplace.write("fields.txt", "\(nginx.otherHost) Authorization: Bearer secret\n")
            let url = isSecure ? nginx.secureURL("/elsewhere.png") : nginx.url("/elsewhere.png")

            let result = try await fetch(
                url,
                in: workplace,
                ["--ca-file", nginx.certificateFile, "--header-file", "fields.txt"]
            )

            #expect(result.text("outcome") == "fetched")
            let requests = try await nginx.requests(2)
            #expect(requests.map(\.authorization) == ["", isSecure ? "" : "Bearer secret"])
        }
    }
}
