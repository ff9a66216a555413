import Foundation
import Synchronization

/// A real HTTP proxy on loopback, for CONNECT tunnels and for requests with an absolute URL. It records its requests, and
/// can send all of them to one destination.
package final class LoopbackProxy: Sendable {
    /// A request as it arrived: the request line and the fields.
    package struct Request: Sendable {
        package let line: String
        package let fields: [String]

        /// The value of the first field `name`.
        package func value(of name: String) -> String? {
            let prefix = name.lowercased() + ": "
            return fields.first { $0.lowercased().hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
        }
    }

    private let server: LoopbackServer
    private let record: ProxyRecord

    private init(_ server: LoopbackServer, _ record: ProxyRecord) {
        (self.server, self.record) = (server, record)
    }

    /// Runs `body` with a proxy, and stops it afterwards.
    ///
    /// - Parameters:
    ///   - destination: Where every request goes. `nil`: to the host that the request names.
    ///   - credentials: The `user:password` that it requires. `nil`: none.
    package static func withProxy(
        to destination: (host: String, port: Int)? = nil,
        credentials: String? = nil,
        _ body: (LoopbackProxy) async throws -> Void
    ) async throws {
        let record = ProxyRecord()
        try await LoopbackServer.withServer(
            serving: { client in
                guard let request = Request(head: try await client.read(to: "\r\n\r\n")) else { return }
                record.add(request)
                if let credentials, !request.has(credentials) {
                    let answer = "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"
                    return try await client.send(answer.utf8)
                }
                let (host, port) = destination ?? request.destination
                if request.isTunnel {
                    try await client.relay(to: host, port: port, answer: "HTTP/1.1 200 Connected\r\n\r\n")
                } else {
                    try await client.relay(to: host, port: port, request: request.forwarded)
                }
            },
            { try await body(LoopbackProxy($0, record)) }
        )
    }

    /// The port it listens on at 127.0.0.1.
    package var port: Int { server.port }

    /// The proxy's URL, as environment variables such as `http_proxy` hold it.
    package var address: String { "http://127.0.0.1:\(port)" }

    /// The requests so far.
    package var requests: [Request] { record.requests }
}

extension LoopbackProxy.Request {
    fileprivate init?(head: String) {
        let lines = head.components(separatedBy: "\r\n").filter { !$0.isEmpty }
        guard let line = lines.first else { return nil }
        self.init(line: line, fields: Array(lines.dropFirst()))
    }

    fileprivate var isTunnel: Bool { line.hasPrefix("CONNECT ") }

    fileprivate func has(_ credentials: String) -> Bool {
        value(of: "Proxy-Authorization") == "Basic " + Data(credentials.utf8).base64EncodedString()
    }

    /// The host and port that the request names.
    fileprivate var destination: (host: String, port: Int) {
        let target = line.split(separator: " ")[1]
        let authority = target.hasPrefix("http://") ? target.dropFirst(7).prefix { $0 != "/" } : target
        let parts = authority.split(separator: ":")
        return (String(parts[0]), parts.count > 1 ? Int(parts[1]) ?? 80 : 80)
    }

    /// The request with the path only, on a connection of its own, without the fields meant for the proxy.
    fileprivate var forwarded: String {
        let path = line.split(separator: " ")[1].dropFirst("http://".count).drop { $0 != "/" }
        let kept = fields.filter { !$0.lowercased().hasPrefix("proxy-") }
        return (["GET \(path) HTTP/1.1"] + kept + ["Connection: close", "", ""]).joined(separator: "\r\n")
    }
}

/// The requests of a proxy.
private final class ProxyRecord: Sendable {
    private let all = Mutex<[LoopbackProxy.Request]>([])

    func add(_ request: LoopbackProxy.Request) {
        all.withLock { $0.append(request) }
    }

    var requests: [LoopbackProxy.Request] { all.withLock { $0 } }
}
