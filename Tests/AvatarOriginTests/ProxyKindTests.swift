import AvatarCore
import AvatarOrigin
import AvatarStoreTesting
import ProgramRunning
import Testing

/// Proxies that speak TLS or SOCKS5, with the client on libcurl. `ProxyTests` has plain http.
@Suite(.enabled(if: Certificate.isAvailable, Certificate.absence), .timeLimit(.minutes(5)))
struct ProxyKindTests {
    private static let names = NameLookup.Resolver.knowing([
        "pictures.example": .addresses("93.184.216.34"), "inside.example": .addresses("10.0.0.1"),
    ])

    /// Runs `body` with a client that uses the proxy `address`, and may contact global addresses only.
    private func withClient(
        through address: String,
        trusting certificate: Certificate? = nil,
        _ body: (HTTPOrigin) async throws -> Void
    ) async throws {
        let settings = try ProxySettings(environment: ["ALL_PROXY": address])
        try await AvatarOriginTests.withClient({
            $0.allowsPrivateNetworks = false
            $0.resolver = Self.names
            $0.proxies = settings
            $0.additionalTrustRootsFile = certificate?.file
        }) { client, _ in
            try await body(client)
        }
    }

    private func withOrigin(_ body: (LoopbackOrigin) async throws -> Void) async throws {
        let origin = try await LoopbackOrigin.start()
        origin.setResponse(LoopbackOrigin.Response(body: .text("face")), for: "/a.png")
        try await body(origin)
        try await origin.stop()
    }

    // MARK: TLS

    @Test func requestReachesTheOriginThroughATLSProxy() async throws {
        let certificate = try await Certificate(.valid)
        try await withOrigin { origin in
            try await LoopbackProxy.withProxy(to: (origin.host, origin.port), credentials: "ada:secret") { proxy in
                try await TLSFront.withFront(of: proxy.port, showing: certificate) { front in
                    let address = "https://ada:secret@127.0.0.1:\(front.port)"
                    try await withClient(through: address, trusting: certificate) { client in
                        let answer = try await read(client, "http://pictures.example/a.png")
                        #expect(answer.text == "face")
                    }
                }
                #expect(proxy.requests.map(\.line) == ["GET http://pictures.example/a.png HTTP/1.1"])
                #expect(origin.requests.map(\.target) == ["/a.png"])
            }
        }
    }

    @Test func tunnelToATLSOriginGoesThroughATLSProxy() async throws {
        let certificate = try await Certificate(.valid)
        try await withOrigin { origin in
            try await TLSFront.withFront(of: origin.port, showing: certificate) { destination in
                try await LoopbackProxy.withProxy(to: ("127.0.0.1", destination.port)) { proxy in
                    try await TLSFront.withFront(of: proxy.port, showing: certificate) { front in
                        let address = "https://127.0.0.1:\(front.port)"
                        try await withClient(through: address, trusting: certificate) { client in
                            let answer = try await read(client, "https://pictures.example/a.png")
                            #expect(answer.text == "face")
                        }
                    }
                    #expect(proxy.requests.map(\.line) == ["CONNECT pictures.example:443 HTTP/1.1"])
                }
            }
        }
    }

    /// The certificate of the proxy is no fault of the URL.
    @Test(arguments: [
        (Certificate.Kind.expired, true, "the certificate of the proxy has expired"),
        (.otherName, true, "the certificate of the proxy belongs to another name"),
        (.valid, false, "the certificate of the proxy is not from an authority that this system trusts"),
    ])
    func proxyIsJudgedByItsCertificate(kind: Certificate.Kind, isTrusted: Bool, reason: String) async throws {
        let certificate = try await Certificate(kind)
        try await LoopbackProxy.withProxy { proxy in
            try await TLSFront.withFront(of: proxy.port, showing: certificate) { front in
                let address = "https://ada:secret@127.0.0.1:\(front.port)"
                try await withClient(through: address, trusting: isTrusted ? certificate : nil) { client in
                    let failure = await failure { _ = try await read(client, "http://pictures.example/a.png") }

                    #expect(failure?.kind == .offline)
                    let expected = "the proxy 127.0.0.1:\(front.port) cannot be reached: \(reason)."
                    #expect(failure?.message == "http://pictures.example/a.png: \(expected)")
                }
            }
            #expect(proxy.requests.isEmpty)
        }
    }

    // MARK: SOCKS5

    @Test(arguments: ["socks5", "socks5h"])
    func requestGoesThroughASOCKSProxy(scheme: String) async throws {
        try await withOrigin { origin in
            try await SOCKSProxy.withProxy(to: origin.port) { proxy in
                try await withClient(through: "\(scheme)://\(proxy.address)") { client in
                    let answer = try await read(client, "http://pictures.example:81/a.png")
                    #expect(answer.text == "face")
                }
                // The proxy gets the address that was judged.
                let host = scheme == "socks5" ? "93.184.216.34" : "\"pictures.example\""
                #expect(proxy.hosts == ["\(host):81"])
                #expect(origin.requests.first?.headers["Host"] == "pictures.example:81")
            }
        }
    }

    @Test func tunnelToATLSOriginGoesThroughASOCKSProxy() async throws {
        let certificate = try await Certificate(.valid)
        try await withOrigin { origin in
            try await TLSFront.withFront(of: origin.port, showing: certificate) { destination in
                try await SOCKSProxy.withProxy(to: destination.port) { proxy in
                    try await withClient(through: "socks5://\(proxy.address)", trusting: certificate) { client in
                        let answer = try await read(client, "https://pictures.example/a.png")
                        #expect(answer.text == "face")
                    }
                    #expect(proxy.hosts == ["93.184.216.34:443"])
                }
            }
        }
    }

    @Test(arguments: [("ada:secret@", true), ("ada:wrong@", false), ("", false)])
    func credentialsReachTheSOCKSProxy(sent: String, isWelcome: Bool) async throws {
        try await withOrigin { origin in
            try await SOCKSProxy.withProxy(to: origin.port, credentials: ("ada", "secret")) { proxy in
                try await withClient(through: "socks5://\(sent)\(proxy.address)") { client in
                    let failure = await failure {
                        let answer = try await read(client, "http://pictures.example/a.png")
                        #expect(answer.text == "face")
                    }
                    #expect((failure == nil) == isWelcome)
                    guard !isWelcome else { return }
                    #expect(failure?.kind == .offline)
                    let wish = sent.isEmpty ? "requires a user and a password" : "refuses the user or the password"
                    #expect(failure?.message.hasSuffix("the proxy \(proxy.address) \(wish).") == true)
                }
            }
        }
    }

    /// Host unreachable (4) and connection refused (5) are the host's, as the proxy says.
    @Test(arguments: [4, 5] as [UInt8])
    func refusalOfTheSOCKSProxyIsReported(reply: UInt8) async throws {
        try await SOCKSProxy.withProxy(to: 1, reply: reply) { proxy in
            try await withClient(through: "socks5://\(proxy.address)") { client in
                let failure = await failure { _ = try await read(client, "http://pictures.example/a.png") }

                #expect(failure?.kind == .unreachable)
                #expect(failure?.message.contains("the proxy \(proxy.address) did not connect to the host") == true)
            }
        }
    }

    @Test(arguments: ["socks5", "socks5h"])
    func hostIsJudgedBeforeTheSOCKSProxyIsAsked(scheme: String) async throws {
        try await SOCKSProxy.withProxy(to: 1) { proxy in
            try await withClient(through: "\(scheme)://\(proxy.address)") { client in
                #expect(await kind { _ = try await read(client, "http://inside.example/a.png") } == .forbiddenAddress)
            }
            #expect(proxy.hosts.isEmpty)
        }
    }
}
