import ProgramRunning
import Synchronization

/// A real SOCKS5 proxy on loopback (RFC 1928, RFC 1929). It records the hosts that it is asked for, and sends all to one port.
final class SOCKSProxy: Sendable {
    /// Its host and port.
    let address: String
    private let asked: AskedHosts

    private init(_ server: LoopbackServer, _ asked: AskedHosts) {
        address = "127.0.0.1:\(server.port)"
        self.asked = asked
    }

    /// Runs `body` with a proxy.
    ///
    /// - Parameters:
    ///   - destination: The port at 127.0.0.1 that every connection goes to.
    ///   - credentials: The user and the password that it requires. Default: none.
    ///   - reply: The reply to a request (RFC 1928 section 6). Default: 0, succeeded.
    static func withProxy(
        to destination: Int,
        credentials: (user: String, password: String)? = nil,
        reply: UInt8 = 0,
        _ body: (SOCKSProxy) async throws -> Void
    ) async throws {
        let asked = AskedHosts()
        try await LoopbackServer.withServer(
            serving: { client in
                guard try await greet(&client, credentials) else { return }
                let head = try await client.read(4)
                let host = try await host(ofType: head[3], &client)
                let port = try await client.read(2)
                asked.add("\(host):\(Int(port[0]) << 8 | Int(port[1]))")
                try await client.send([5, reply, 0, 1, 0, 0, 0, 0, 0, 0])
                if reply == 0 { try await client.relay(port: destination) }
            },
            { try await body(SOCKSProxy($0, asked)) }
        )
    }

    /// The hosts and ports so far: an address, or a name in quotes.
    var hosts: [String] { asked.all }

    /// Agrees on a method, and checks the credentials. Returns whether the client may go on.
    private static func greet(
        _ client: inout LoopbackConnection,
        _ credentials: (user: String, password: String)?
    ) async throws -> Bool {
        let count = try await client.read(2)[1]
        let methods = try await client.read(Int(count))
        let method: UInt8 = credentials == nil ? 0 : 2
        guard methods.contains(method) else {
            try await client.send([5, 0xFF])
            return false
        }
        try await client.send([5, method])
        guard let credentials else { return true }
        let user = try await text(Int(client.read(2)[1]), &client)
        let password = try await text(Int(client.read(1)[0]), &client)
        let isWelcome = user == credentials.user && password == credentials.password
        try await client.send([1, isWelcome ? 0 : 1])
        return isWelcome
    }

    private static func host(ofType type: UInt8, _ client: inout LoopbackConnection) async throws -> String {
        switch type {
        case 1: try await client.read(4).map(String.init).joined(separator: ".")
        case 3: try await "\"\(text(Int(client.read(1)[0]), &client))\""
        default: try await "\(client.read(16))"
        }
    }

    private static func text(_ count: Int, _ client: inout LoopbackConnection) async throws -> String {
        String(decoding: try await client.read(count), as: UTF8.self)
    }
}

/// The hosts that a proxy was asked for.
private final class AskedHosts: Sendable {
    private let hosts = Mutex<[String]>([])

    func add(_ host: String) {
        hosts.withLock { $0.append(host) }
    }

    var all: [String] { hosts.withLock { $0 } }
}
