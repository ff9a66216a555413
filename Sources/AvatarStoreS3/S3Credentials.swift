/// The credentials of an S3 client. No description, dump or mirror of them shows a value.
public struct S3Credentials: Hashable, Sendable {
    /// The access key. It may contain a colon, as those of OpenStack Swift do (`account:user`).
    public var accessKey: String
    /// The secret key, which signs requests and is never sent.
    public var secretKey: String
    /// The token of temporary credentials; `nil` for permanent ones. The tier does not renew it.
    public var sessionToken: String?

    /// Credentials from their parts.
    ///
    /// - Parameters:
    ///   - accessKey: the access key.
    ///   - secretKey: the secret key.
    ///   - sessionToken: the token of temporary credentials. Default: `nil`, for permanent ones.
    public init(accessKey: String, secretKey: String, sessionToken: String? = nil) {
        (self.accessKey, self.secretKey, self.sessionToken) = (accessKey, secretKey, sessionToken)
    }

    /// Whether each part can be sent: not empty, printable ASCII without spaces.
    var isValid: Bool {
        [accessKey, secretKey, sessionToken].compactMap { $0 }.allSatisfy { part in
            !part.isEmpty && part.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        }
    }
}

extension S3Credentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name of the type. It shows no value.
    public var description: String { "S3Credentials(hidden)" }
    /// The same as `description`.
    public var debugDescription: String { description }
    /// A mirror without children, so that `dump` and test failures show no value.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
