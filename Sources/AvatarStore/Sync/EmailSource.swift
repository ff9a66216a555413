public import AvatarCore
import AvatarIndex

/// A service that serves images by e-mail address, such as Libravatar or Gravatar.
///
/// A request contains the SHA-256 digest of the address. A service that knows the address recognises the digest, and
/// learns that you know the address too. MD5 digests, which such services also accept, are not supported: they are
/// easier to reverse, and Libravatar forwards requests with them to Gravatar.
///
/// The store does not look up a domain's own server in the DNS (Libravatar's federation). Add such a server as a
/// source.
public struct EmailSource: Hashable, Sendable {
    /// Libravatar (https://wiki.libravatar.org/api/).
    public static let libravatar = EmailSource(checked: "https://seccdn.libravatar.org/avatar/")
    /// Gravatar (https://docs.gravatar.com/).
    public static let gravatar = EmailSource(checked: "https://gravatar.com/avatar/")

    /// The part of an image URL before the digest. Ends with `/`.
    package let baseURL: String

    /// Another service with the same interface. Its images are at `baseURL/DIGEST`.
    ///
    /// - Throws: `unsupportedURL` if `baseURL` is not an http or https URL; `invalidConfiguration` if it has a query or
    ///   is longer than 2,048 bytes.
    public init(baseURL: String) throws(AvatarStoreError) {
        let url = try AvatarKey(url: baseURL).rawValue
        guard !url.utf8.contains(UInt8(ascii: "?")), url.utf8.count <= 2048 else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "The e-mail source \"\(AvatarKey.redact(url))\" must have no query and at most 2048 bytes."
            )
        }
        self.init(checked: url.hasSuffix("/") ? url : url + "/")
    }

    private init(checked baseURL: String) {
        self.baseURL = baseURL
    }

    /// The URL of the image for `email`. The service returns 404 if it has none.
    ///
    /// - Returns: `nil` if `email` is not an e-mail address.
    package func url(for email: String) -> String? {
        EmailAddress(email).map { address in
            // Both services serve 256 pixels without enlarging a small image.
            "\(baseURL)\(Hexadecimal.text(address.sha256))?s=256&d=404"
        }
    }
}

extension EmailSource: CustomStringConvertible {
    /// The base URL for messages.
    public var description: String { "The e-mail source \"\(AvatarKey.redact(baseURL))\"" }
}
