import AvatarCore
import AvatarOrigin
import AvatarStoreTesting
import Testing

/// Bytes that an origin sends before a request, with the client on libcurl.
@Suite(.timeLimit(.minutes(5)))
struct EarlyBytesTests {
    /// Another service on the port, which speaks first.
    @Test(arguments: ["220 mail.example ESMTP\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "\u{0}\u{1}\u{2}"])
    func greetingOfAnotherServiceIsNotHTTP(greeting: String) async throws {
        try await RawOrigin.withOrigin(greeting: Array(greeting.utf8)) { origin in
            try await withClient({ $0.idleTimeoutSeconds = 1 }) { client, _ in
                let failure = await failure { _ = try await read(client, origin.url("/a.png")) }

                #expect(failure?.kind == .unreachable)
                #expect(failure?.message.hasSuffix("the response is not valid HTTP.") == true)
            }
        }
    }
}
