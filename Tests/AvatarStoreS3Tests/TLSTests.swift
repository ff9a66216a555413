import AvatarCore
import Foundation
import Testing

@testable import AvatarStoreS3

/// Certificates, against a server of the program `openssl`, which answers each GET with a page.
@Suite(.enabled("needs the program openssl") { system("command -v openssl >/dev/null") == 0 }, .serialized)
struct TLSTests {
    /// A server with a certificate for `name`, and the file of the certificate. It ends when its input does.
    private final class Server {
        let port: UInt16
        let certificate: String
        private let folder: String
        private let input: UnsafeMutablePointer<FILE>

        init(name: String) throws {
            port = try Socket.freePorts(1)
            folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)").path()
            certificate = folder + "/certificate.pem"
            let command = """
                cd '\(folder)' && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test \
                -addext 'subjectAltName=\(name)' -keyout key.pem -out certificate.pem 2>/dev/null && \
                { openssl s_server -quiet -accept \(port) -cert certificate.pem -key key.pem -www </dev/null >/dev/null 2>&1 & \
                cat >/dev/null; kill $!; }
                """
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            input = try #require(popen(command, "we"))
        }

        /// The error of a read with the certificates in `file`; `nil` for a success.
        func error(trusting file: String?) async throws -> SharedTierError? {
            var configuration = S3Configuration(
                bucket: "fleet",
                endpoint: "https://127.0.0.1:\(port)",
                credentials: S3Credentials(accessKey: "a", secretKey: "b")
            )
            (configuration.certificateFile, configuration.attempts) = (file, 8)
            do {
                // Attempts cover the time until the server listens.
                _ = try await S3Tier(configuration).get("a", limit: 100_000)
                return nil
            } catch let error as SharedTierError {
                return error
            }
        }

        deinit {
            pclose(input)
            // If this fails, the folder stays with the system's temporary files, which the system deletes.
            try? FileManager.default.removeItem(atPath: folder)
        }
    }

    @Test func aCertificateFileIsTrustedInPlaceOfTheSystems() async throws {
        let server = try Server(name: "IP:127.0.0.1")
        let error = try await server.error(trusting: nil)
        #expect(error?.kind == .invalidConfiguration)
        #expect(error?.message.contains("not from a trusted authority") == true, "\(error?.message ?? "")")
        #expect(try await server.error(trusting: server.certificate) == nil)
    }

    @Test func aCertificateForAnotherNameIsRefused() async throws {
        let server = try Server(name: "DNS:other.example.com")
        #expect(try await server.error(trusting: nil)?.kind == .invalidConfiguration)
        let error = try await server.error(trusting: server.certificate)
        #expect(error?.kind == .invalidConfiguration)
        #expect(error?.message.contains("for another name") == true, "\(error?.message ?? "")")
    }

    @Test func aMissingCertificateFileIsNamed() async throws {
        let server = try Server(name: "IP:127.0.0.1")
        #expect(try await server.error(trusting: nil)?.kind == .invalidConfiguration)
        let error = try await server.error(trusting: "/nonexistent.pem")
        #expect(error?.kind == .invalidConfiguration)
        #expect(error?.message.contains("certificates cannot be read") == true, "\(error?.message ?? "")")
    }
}
