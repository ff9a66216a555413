public import AvatarCore
import AvatarFiles

/// A service that has pictures of people by their e-mail addresses, as Libravatar and Gravatar do.
///
/// It is asked with the SHA-256 of the address, so it learns who is meant only if it knows the address; but then it learns
/// that you know it too. MD5, which such services also take, is not offered: it is undone sooner, and with it Libravatar
/// passes the question on to Gravatar.
///
/// A domain's own server, to be found in the DNS (Libravatar's federation), is not looked for; name it as a source instead.
public struct EmailSource: Hashable, Sendable {
    /// Libravatar (https://wiki.libravatar.org/api/).
    public static let libravatar = EmailSource(checked: "https://seccdn.libravatar.org/avatar/")
    /// Gravatar (https://docs.gravatar.com/).
    public static let gravatar = EmailSource(checked: "https://gravatar.com/avatar/")

    /// What stands before the digest in a URL.
    package let baseURL: String

    /// A service of the same kind; its pictures are at `baseURL/DIGEST`.
    ///
    /// - Throws: `unsupportedURL` for what is no http or https URL; `invalidConfiguration` for one with a query, or longer
    ///   than 2,048 bytes.
    public init(baseURL: String) throws(AvatarStoreError) {
        let url = try AvatarKey(url: baseURL).rawValue
        guard !url.utf8.contains(UInt8(ascii: "?")), url.utf8.count <= 2048 else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "\(AvatarKey.redact(url)) is no source of pictures: it has no query and at most 2048 bytes."
            )
        }
        self.init(checked: url.hasSuffix("/") ? url : url + "/")
    }

    private init(checked baseURL: String) {
        self.baseURL = baseURL
    }

    /// Where the picture for `email` is, if there is one: the source answers 404 where it has none. `nil` for what is no
    /// e-mail address.
    package func url(for email: String) -> String? {
        Self.normalized(email).map { address in
            // 256 pixels are what both services have without making a small picture larger than it is.
            "\(baseURL)\(Hexadecimal.text(ContentDigest.sha256(Array(address.utf8))))?s=256&d=404"
        }
    }

    /// The address as both services normalise it: in lower case, without blanks at its ends.
    private static func normalized(_ email: String) -> String? {
        let address = email.trimmingBlanks.lowercased()
        guard address.utf8.count <= 320, let mark = address.lastIndex(of: "@"), mark != address.startIndex,
            address.index(after: mark) != address.endIndex,
            !address.unicodeScalars.contains(where: { $0.properties.isWhitespace || $0.value < 0x20 })
        else { return nil }
        return address
    }
}

extension String {
    fileprivate var trimmingBlanks: Substring {
        var rest = self[...]
        while rest.first?.isWhitespace == true { rest.removeFirst() }
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return rest
    }
}
