import AvatarCore
import AvatarOrigin
import AvatarStoreTesting
import Testing

/// The reasons for which a TLS connection is refused, and their messages.
@Suite(.enabled(if: Certificate.isAvailable, Certificate.absence), .timeLimit(.minutes(5)))
struct TLSFailureTests {
    /// Runs `body` with a client that trusts `trusted`, and the port of an origin that shows `certificate`.
    private func withOrigin(
        showing certificate: Certificate,
        trusting trusted: Certificate?,
        _ body: (HTTPOrigin, Int) async throws -> Void
    ) async throws {
        try await withClient({
            $0.additionalTrustRootsFile = trusted?.file
            $0.resolver = .knowing(["pictures.example": .addresses("127.0.0.1")])
        }) { client, origin in
            origin.setResponse(LoopbackOrigin.Response(body: .text("face")), for: "/a.png")
            try await TLSFront.withFront(of: origin.port, showing: certificate) { try await body(client, $0.port) }
        }
    }

    @Test func trustedCertificateIsAccepted() async throws {
        let certificate = try await Certificate(.valid)
        try await withOrigin(showing: certificate, trusting: certificate) { client, port in
            let answer = try await read(client, "https://127.0.0.1:\(port)/a.png")
            #expect(answer.text == "face")
            let named = try await read(client, "https://pictures.example:\(port)/a.png")
            #expect(named.text == "face")
        }
    }

    /// The message names the host and the reason. It has no part of a path: a library's own text may hold those of the
    /// machine that built it.
    @Test(arguments: [
        (Certificate.Kind.expired, true, "the certificate of the host has expired"),
        (.otherName, true, "the certificate of the host belongs to another name"),
        (.valid, false, "the certificate of the host is not from an authority that this system trusts"),
    ])
    func refusalSaysWhy(kind: Certificate.Kind, isTrusted: Bool, reason: String) async throws {
        let certificate = try await Certificate(kind)
        try await withOrigin(showing: certificate, trusting: isTrusted ? certificate : nil) { client, port in
            let failure = await failure { _ = try await read(client, "https://127.0.0.1:\(port)/a.png?token=1") }

            #expect(failure?.kind == .unreachable)
            let message = try #require(failure?.message)
            #expect(message.hasPrefix("https://127.0.0.1:\(port)/a.png: "))
            let rest = message.dropFirst("https://127.0.0.1:\(port)/a.png".count)
            #expect(!rest.contains("/"), "\(message)")
            #expect(rest == ": \(reason).")
        }
    }

    /// A server that speaks no TLS on the port of an https URL.
    @Test func plainServerIsNoTLSServer() async throws {
        try await withClient { client, origin in
            let failure = await failure { _ = try await read(client, "https://127.0.0.1:\(origin.port)/a.png") }

            #expect(failure?.kind == .unreachable)
            #expect(failure?.message.contains("127.0.0.1:\(origin.port)") == true)
            #expect(origin.requestCount == 0)
        }
    }
}
