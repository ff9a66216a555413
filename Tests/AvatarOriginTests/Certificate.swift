import Foundation
import ProgramRunning
import Testing

/// A certificate for tests, made by `openssl`, with its key. It signs itself.
struct Certificate: Sendable {
    /// The properties of a certificate that a client must judge.
    enum Kind: String, CaseIterable, Sendable {
        /// For 127.0.0.1 and `images.example`, and valid.
        case valid
        /// The same, valid until yesterday.
        case expired
        /// Valid, and for another name.
        case otherName
    }

    static let isAvailable = FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")
    /// The reason shown for skipped tests.
    static let absence: Comment = "needs openssl: apt-get install openssl"

    /// The certificate as PEM.
    var file: String { workplace.path("certificate.pem") }
    /// Its private key as PEM.
    var keyFile: String { workplace.path("key.pem") }

    private let workplace: Workplace

    /// Makes a certificate.
    init(_ kind: Kind) async throws {
        workplace = try Workplace()
        let names = kind == .otherName ? "DNS:others.example" : "IP:127.0.0.1,DNS:pictures.example"
        try workplace.write(
            "openssl.conf",
            """
            [req]
            distinguished_name = name
            prompt = no
            [name]
            CN = pictures
            [extensions]
            basicConstraints = critical,CA:true
            subjectAltName = \(names)

            """
        )
        // `openssl req -x509` refuses a negative number of days; `openssl x509` accepts it.
        let run = try await workplace.shell(
            """
            set -e
            openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -config openssl.conf \
                -keyout key.pem -out request.pem
            openssl x509 -req -in request.pem -signkey key.pem -days \(kind == .expired ? -1 : 2) \
                -extfile openssl.conf -extensions extensions -out certificate.pem
            """
        )
        try run.requireSuccess()
    }
}
