import Testing

/// The program behind a proxy that the environment names.
@Suite(.enabled(if: Nginx.isAvailable, Comment(rawValue: Nginx.absence)), .timeLimit(.minutes(5)))
struct ProxyCommandTests {
    private static let image = imageBytes("ada")

    /// Runs `body` with nginx and a proxy that sends every request to nginx.
    private func withProxy(
        credentials: String? = nil,
        _ body: (Nginx, LoopbackProxy, Workplace) async throws -> Void
    ) async throws {
        try await Nginx.withServer { nginx in
            try nginx.serve(Self.image, at: "/ada.png")
            try await LoopbackProxy.withProxy(to: nginx.secureAddress, credentials: credentials) { proxy in
                try await body(nginx, proxy, try Workplace())
            }
        }
    }

    private func fetch(
        _ url: String,
        in workplace: Workplace,
        _ nginx: Nginx,
        _ environment: [String: String]
    ) async throws -> Run {
        let arguments = ["--allow-private-network", "--ca-file", nginx.certificateFile, "--verbose", "--json"]
        return try await workplace.start(["fetch", url] + arguments, environment: environment).end()
    }

    @Test(arguments: ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])
    func httpsGoesThroughATunnel(variable: String) async throws {
        try await withProxy { nginx, proxy, workplace in
            let run = try await fetch(
                "https://pictures.example/ada.png",
                in: workplace,
                nginx,
                [variable: proxy.address]
            )

            #expect(try run.object.text("outcome") == "fetched")
            #expect(proxy.requests.map(\.line) == ["CONNECT pictures.example:443 HTTP/1.1"])
            #expect(try await nginx.requests(1).map(\.httpVersion) == ["HTTP/2.0"])
        }
    }

    @Test func proxyPasswordIsSentButNotPrinted() async throws {
        try await withProxy(credentials: "ada:secret") { nginx, proxy, workplace in
            let address = "127.0.0.1:\(proxy.port)"
            let url = "https://pictures.example/ada.png"
            let good = try await fetch(url, in: workplace, nginx, ["HTTPS_PROXY": "http://ada:secret@\(address)"])
            let bad = try await fetch(
                "https://pictures.example/b.png",
                in: workplace,
                nginx,
                ["HTTPS_PROXY": "http://ada:secretive@\(address)"]
            )

            #expect(try good.object.text("outcome") == "fetched")
            #expect(try bad.object.text("kind") == "offline")
            for run in [good, bad] { #expect(!run.messages.contains("secret") && !run.text.contains("secret")) }
        }
    }

    @Test func exceptionIsAskedDirectly() async throws {
        try await withProxy { nginx, proxy, workplace in
            let run = try await fetch(
                nginx.secureURL("/ada.png"),
                in: workplace,
                nginx,
                ["HTTPS_PROXY": proxy.address, "NO_PROXY": "example.org,127.0.0.0/8"]
            )

            #expect(try run.object.text("outcome") == "fetched")
            #expect(proxy.requests.isEmpty)
        }
    }

    @Test func addressIsCheckedBeforeTheProxyIsUsed() async throws {
        try await withProxy { nginx, proxy, workplace in
            let run = try await workplace.run(
                "fetch",
                nginx.secureURL("/ada.png"),
                "--json",
                environment: ["HTTPS_PROXY": proxy.address]
            )

            #expect(try run.object.text("kind") == "forbiddenAddress")
            #expect(proxy.requests.isEmpty)
        }
    }

    @Test func proxyThatCannotBeUsedStopsTheCommand() async throws {
        let workplace = try Workplace()

        let run = try await workplace.run(
            "fetch",
            "http://pictures.example/ada.png",
            environment: ["ALL_PROXY": "socks4://ada:secret@127.0.0.1:1080"]
        )

        #expect(run.status == 2)
        #expect(run.messages.contains("ALL_PROXY"))
        #expect(!run.messages.contains("secret"))
    }

    /// A proxy that is down counts as a missing network, not as a failure of an image.
    @Test func syncEndsEarlyWithoutTheProxy() async throws {
        let workplace = try Workplace()
        try workplace.write("people.txt", (1...200).map { "https://pictures.example/\($0).png\n" }.joined())

        let run = try await workplace.run(
            "sync",
            "people.txt",
            "--allow-private-network",
            "--json",
            environment: ["HTTPS_PROXY": "http://127.0.0.1:1"]
        )

        #expect(run.status == 69)
        #expect(try run.object.failureKinds == ["offline"])
        #expect(try run.object.number("skipped") == 200)
    }
}
