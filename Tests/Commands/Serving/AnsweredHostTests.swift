import NIOCore
import ProgramRunning
import Testing

@testable import avatars

/// The hosts that `avatars serve` answers for: a page on the web can make its own name resolve to 127.0.0.1.
@Suite(.timeLimit(.minutes(5))) struct AnsweredHostTests {
    @Test func nameOfASiteIsRefusedOnLoopback() async throws {
        try await ServedStore.served { server, _ in
            for host in ["evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", ""] {
                for target in ["/contacts", "/contacts/ada/picture", "/changes?since=0", "/healthz"] {
                    let reply = try await server.ask(host: host, target: target)
                    #expect(reply.status == 421 && reply.isProblem, "\(host) \(target): \(reply.status)")
                    #expect(reply["connection"] == "close" && !reply.text.contains("ada"))
                }
            }
            #expect(try await server.ask(host: "localhost", target: "http://evil.example/contacts").status == 421)
            // The target replaces the field.
            #expect(try await server.ask(host: "evil.example", target: "http://localhost/contacts").status == 200)
            for host in ["localhost", "LOCALHOST:8080", "127.0.0.1", "[::1]:8080", "192.0.2.1", "a.localhost"] {
                #expect(try await server.ask(host: host).status == 200, "\(host)")
            }
        }
    }

    @Test func allowedNameIsAnswered() async throws {
        let options = ["--allow-host", "Avatars.Example.org.", "--allow-host", "bücher.example"]
        try await ServedStore.served(options) { server, _ in
            let cases = [
                ("avatars.example.org:443", 200), ("xn--bcher-kva.example", 200), ("www.avatars.example.org", 421),
            ]
            for (host, status) in cases {
                let reply = try await server.ask(host: host)
                #expect(reply.status == status, "\(host)")
            }
        }
    }

    /// No browser connects to a Unix domain socket, and a proxy passes on any name.
    @Test func everyHostIsAnsweredOnAUnixSocket() async throws {
        try await ServedStore.with { _, workplace in
            try await RunningServer.with(["--socket", "server.sock"], in: workplace) { server in
                let reply = try await server.ask(host: "avatars.example.org")
                #expect(reply.status == 200)
            }
        }
    }

    @Test(arguments: ["http://x", "x:80", "", "a b", "[::1]", "x/y", "*"])
    func nameThatIsNoneIsAUsageError(name: String) async throws {
        let run = try await Workplace().run("serve", "--listen", "127.0.0.1:0", "--allow-host", name)

        #expect(run.status == 64)
        #expect(run.messages.contains("--allow-host must be a host name without a port, not \"\(name)\"."))
    }

    @Test func namesAreForAddresses() async throws {
        let run = try await Workplace().run("serve", "--socket", "s", "--allow-host", "example.org")

        #expect(run.status == 64 && run.messages.contains("--allow-host is for --listen"))
    }

    @Test func addressDecidesWhetherHostsAreChecked() throws {
        func hosts(_ address: String, _ names: Set<String> = []) throws -> AnsweredHosts {
            AnsweredHosts(listeningOn: try SocketAddress(ipAddress: address, port: 80), names: names)
        }
        for address in ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"] {
            #expect(try hosts(address) == .local(and: []), "\(address)")
        }
        for address in ["0.0.0.0", "192.0.2.1", "::", "2001:db8::1"] {
            #expect(try hosts(address) == .any, "\(address)")
            #expect(try hosts(address, ["a.example"]) == .local(and: ["a.example"]), "\(address)")
        }
    }
}

extension RunningServer {
    /// The response to a request with this field Host, on a connection of its own.
    fileprivate func ask(host: String, target: String = "/contacts") async throws -> HTTPReply {
        let connection = try connect()
        await connection.send("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        return try await connection.reply()
    }
}
