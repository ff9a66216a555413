import AvatarCore
import CAvatarCurl
import AvatarFoundation

/// Certificates to trust: those in memory, and those in a folder by their hashes.
struct Trust: Sendable {
    /// PEM certificates; empty for none.
    var certificates: [UInt8]
    /// The folder; `nil` for none.
    var folder: String?
}

/// The certificates that this system trusts.
package enum SystemTrust {
    /// Whether the system has none where libcurl and Linux distributions keep them.
    package static var isMissing: Bool { hashedFolder == nil && bundle.isEmpty }

    /// The places of Linux distributions, for a libcurl that does not tell its own.
    private static let files = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    ]

    /// The certificates that connections trust without additional roots; `nil` to leave them to libcurl.
    ///
    /// The folder alone is enough where it has one file per certificate, named by its hash. Then a connection reads the one
    /// that it needs, instead of all of a file with a hundred and more.
    static var effective: Trust? { hashedFolder.map { Trust(certificates: [], folder: $0) } }

    /// The folder of certificates by their hashes; `nil` if the system has no such folder.
    static let hashedFolder: String? = {
        guard String(cString: avatar_curl_tls()).contains("OpenSSL") else { return nil }
        let folder = avatar_curl_certificate_folder().map { String(cString: $0) } ?? "/etc/ssl/certs"
        do {
            let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            // One link per certificate. A few may be what an administrator has added to a bundle.
            return names.count { $0.hasSuffix(".0") } >= 50 ? folder : nil
        } catch {
            // Without the folder, the file is used.
            return nil
        }
    }()

    /// The file of all certificates, as PEM; empty if the system has no such file.
    static var bundle: [UInt8] {
        let own = avatar_curl_certificate_file().map { String(cString: $0) }
        for file in [own].compactMap({ $0 }) + files {
            if let data = FileManager.default.contents(atPath: file) { return Array(data) }
        }
        return []
    }
}

/// Certificates from a file of the user, to trust in addition to those of the system, or in their place.
struct TrustRoots: Sendable {
    private let certificates: [UInt8]
    private let replacesSystem: Bool

    /// Reads PEM certificates from `file`.
    ///
    /// - Throws: `invalidConfiguration` if it cannot be read or has no certificate.
    init(file: String, replacesSystem: Bool = false) throws(AvatarStoreError) {
        guard let data = FileManager.default.contents(atPath: file), Self.hasCertificates(data) else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "The trust roots file \"\(file)\" must be a readable file of PEM certificates."
            )
        }
        certificates = Array(data)
        self.replacesSystem = replacesSystem
    }

    /// These certificates, and those of the system unless they are replaced.
    var effective: Trust {
        if replacesSystem { return Trust(certificates: certificates) }
        if let folder = SystemTrust.hashedFolder { return Trust(certificates: certificates, folder: folder) }
        return Trust(certificates: SystemTrust.bundle + [UInt8(ascii: "\n")] + certificates)
    }

    /// Whether all certificates of the PEM text can be decoded, and there is one at least.
    private static func hasCertificates(_ data: Data) -> Bool {
        let parts = String(decoding: data, as: UTF8.self).split(
            separator: "-----BEGIN CERTIFICATE-----",
            omittingEmptySubsequences: false
        ).dropFirst()
        return !parts.isEmpty
            && parts.allSatisfy { part in
                guard let end = part.firstRange(of: "-----END CERTIFICATE-----") else { return false }
                let text = part[..<end.lowerBound].filter { !$0.isWhitespace }
                // A certificate is a sequence in DER.
                return Data(base64Encoded: String(text))?.first == 0x30
            }
    }
}
