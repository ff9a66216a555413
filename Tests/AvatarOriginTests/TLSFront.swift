#if NIOOrigin
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// Speaks TLS with a client, and passes the bytes to a plain port and back. So any plain server of the tests can be an https
/// origin or an https proxy.
struct TLSFront: Sendable {
    /// The port it listens on at 127.0.0.1.
    let port: Int

    private typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    /// Runs `body` with a front of the server on `port`.
    ///
    /// - Parameters:
    ///   - port: The plain port at 127.0.0.1.
    ///   - certificate: The certificate that it shows.
    ///   - protocols: The protocols that it offers (ALPN). Default: HTTP/1.1.
    static func withFront(
        of port: Int,
        showing certificate: Certificate,
        protocols: [String] = ["http/1.1"],
        _ body: (TLSFront) async throws -> Void
    ) async throws {
        var settings = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(certificate.file).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: certificate.keyFile, format: .pem))
        )
        settings.applicationProtocols = protocols
        let context = try NIOSSLContext(configuration: settings)
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: 64)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    return try Connection(wrappingChannelSynchronously: channel)
                }
            }
        guard let own = server.channel.localAddress?.port else { throw ChannelError.unknownLocalAddress }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await server.executeThenClose { clients in
                    try await withThrowingDiscardingTaskGroup { group in
                        for try await client in clients { group.addTask { await pass(client, to: port) } }
                        group.cancelAll()
                    }
                }
            }
            // An accepted connection that is never served crashes the process, so the loop must handle all of them.
            defer { server.channel.close(promise: nil) }
            try await body(TLSFront(port: own))
        }
    }

    private static func pass(_ client: Connection, to port: Int) async {
        do {
            // A connection that is never served crashes the process, so connect the client first.
            try await client.executeThenClose { requests, toClient in
                let server = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                    .connect(host: "127.0.0.1", port: port) { channel in
                        channel.eventLoop.makeCompletedFuture { try Connection(wrappingChannelSynchronously: channel) }
                    }
                try await server.executeThenClose { responses, toServer in
                    async let back: Void = {
                        for try await bytes in responses { try await toClient.write(bytes) }
                        client.channel.close(promise: nil)
                    }()
                    for try await bytes in requests { try await toServer.write(bytes) }
                    server.channel.close(promise: nil)
                    try await back
                }
            }
        } catch {
            // One side closed, or refused the handshake: the other one sees its connection end.
        }
    }
}
#endif
