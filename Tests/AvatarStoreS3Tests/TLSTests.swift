import AvatarCore
import AvatarProviders
import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

@testable import AvatarStoreS3

/// Certificates, against a server of the program `openssl`, which answers each GET with a page.
@Suite(
    .enabled(
        if: FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl"),
        "needs openssl: apt-get install openssl"
    ),
    .serialized,
    .timeLimit(.minutes(5))
)
struct TLSTests {
    /// A server with a certificate for `name`, and the file of the certificate.
    private struct Server {
        let port: UInt16
        private let workplace: Workplace

        var certificate: String { workplace.path("certificate.pem") }

        init(name: String) async throws {
            (port, workplace) = (try Socket.freePorts(1), try Workplace())
            let files = ["-keyout", workplace.path("key.pem"), "-out", workplace.path("certificate.pem")]
            let request = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
            let names = ["-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=\(name)"]
            try await workplace.run(tool: "/usr/bin/openssl", request + names + files).requireSuccess()
            let server = try await workplace.start(
                tool: "/usr/bin/openssl",
                ["s_server", "-accept", "\(port)", "-cert", certificate, "-key", workplace.path("key.pem"), "-www"]
            )
            try await waitUntil(every: .milliseconds(5)) { try server.lines.contains("ACCEPT") || server.hasEnded }
        }

        /// The error of a read with the certificates in `file`; `nil` for a success.
        func error(trusting file: String?) async throws -> SharedTierError? {
            var configuration = S3Configuration(
                bucket: "fleet",
                endpoint: "https://127.0.0.1:\(port)",
                credentials: S3Credentials(accessKey: "a", secretKey: "b")
            )
            configuration.certificateFile = file
            do {
                _ = try await S3Tier(configuration).get("a", limit: 100_000)
                return nil
            } catch let error as SharedTierError {
                return error
            }
        }
    }

    @Test func aCertificateFileIsTrustedInPlaceOfTheSystems() async throws {
        let server = try await Server(name: "IP:127.0.0.1")
        let error = try await server.error(trusting: nil)
        #expect(error?.kind == .invalidConfiguration)
        #expect(error?.message.contains("not from a trusted authority") == true, "\(error?.message ?? "")")
        #expect(try await server.error(trusting: server.certificate) == nil)
    }

    @Test func aCertificateForAnotherNameIsRefused() async throws {
        let server = try await Server(name: "DNS:other.example.com")
        #expect(try await server.error(trusting: nil)?.kind == .invalidConfiguration)
        let error = try await server.error(trusting: server.certificate)
        #expect(error?.kind == .invalidConfiguration)
        #expect(error?.message.contains("for another name") == true, "\(error?.message ?? "")")
    }

    @Test func aMissingCertificateFileIsNamed() async throws {
        let server = try await Server(name: "IP:127.0.0.1")
        #expect(try await server.error(trusting: nil)?.kind == .invalidConfiguration)
        let error = try await server.error(trusting: "/nonexistent.pem")
        #expect(error?.kind == .invalidConfiguration)
        #expect(error?.message.contains("certificates cannot be read") == true, "\(error?.message ?? "")")
    }
}
