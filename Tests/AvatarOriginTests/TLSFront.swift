import NIOCore
import NIOSSL
import ProgramRunning

/// Speaks TLS with a client, and passes the bytes to a plain port and back. So any plain server of the tests can be an https
/// origin or an https proxy.
struct TLSFront: Sendable {
    /// The port it listens on at 127.0.0.1.
    let port: Int

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
        try await LoopbackServer.withServer(
            prepare: { channel in
                try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
            },
            serving: { try await $0.relay(port: port) },
            { try await body(TLSFront(port: $0.port)) }
        )
    }
}
