import AvatarCore
import AvatarOriginRules
package import AvatarProviders
import CAvatarCurl

/// A request of any method to a server that the operator has named, such as an object store or an address book. No redirect is
/// followed.
package struct ServerRequest: Sendable {
    /// How a request is signed: Signature Version 4 of Amazon, which covers the body and all header fields.
    package struct Signature: Sendable {
        let key: String
        let secret: String
        /// As libcurl takes them, such as `aws:amz:us-east-1:s3`.
        let parameters: String

        package init(key: String, secret: String, parameters: String) {
            (self.key, self.secret, self.parameters) = (key, secret, parameters)
        }
    }

    /// How the user is proven in an exchange with the server.
    package enum Proof: Sendable {
        /// By Digest (RFC 7616).
        case digest(user: String, password: String)
        /// By Negotiate (RFC 4559), with the Kerberos ticket of the session. Nothing is delegated to the server.
        case negotiate
    }

    /// The method, such as `PUT`.
    package let method: String
    /// The URL, encoded.
    package let url: String
    /// Header lines, such as `Depth: 1`. libcurl adds `Host`.
    package let fields: [String]
    /// The body; `nil` for none.
    package let body: [UInt8]?
    /// The maximum size of the body of a response with a status below 300. Others are cut off after 64 KiB.
    package let bodyLimit: Int
    /// The signature; `nil` without one.
    package var signature: Signature?
    /// The user for a server that asks for Digest or Negotiate; `nil` for others.
    package var proof: Proof?
    /// The maximum time for all of it, in milliseconds; 0 for no limit.
    package var timeout = 0
    /// Whether it gets a new connection.
    package var needsConnection = false

    /// A request without a signature.
    package init(_ method: String, _ url: String, fields: [String] = [], body: [UInt8]? = nil, bodyLimit: Int) {
        (self.method, self.url, self.fields) = (method, url, fields)
        (self.body, self.bodyLimit) = (body, bodyLimit)
    }

    /// A complete response.
    package struct Response: Sendable {
        package let head: OriginHead
        package let body: [UInt8]
        /// Whether the body is larger than the limit, and was cut off.
        package let isTooLarge: Bool
    }

    /// The reason why there is no complete response.
    package struct Failure: Error {
        /// One of the `AVATAR_END` values of `CAvatarCurl`.
        package let end: Int
        /// The result of the verification of the certificate, in numbers of OpenSSL.
        package let verifyResult: Int
        /// The error in words for a request of an image.
        package let error: OriginError
    }

    /// The maximum size of the body of an error.
    private static let errorLimit = 65_536

    /// The maximum size of a body with `status`.
    func limit(status: Int) -> Int { status < 300 ? bodyLimit : Self.errorLimit }

    /// The header lines, each with a zero byte at its end.
    var lines: [UInt8] { fields.flatMap { Array($0.utf8) + [0] } }

    /// Tells `exchange` of the request. Returns `false` if memory is missing.
    func set(on exchange: OpaquePointer) -> Bool {
        method.withCString { method in
            url.withCString { url in
                // An empty body has an address too.
                withBody { body in
                    withSignature { signed in
                        var request = signed
                        (request.method, request.url) = (method, url)
                        (request.body, request.body_size) = (body?.baseAddress, self.body?.count ?? 0)
                        request.timeout_ms = timeout
                        return avatar_exchange_set_request(exchange, &request)
                    }
                }
            }
        }
    }

    private func withBody(_ work: (UnsafeBufferPointer<UInt8>?) -> Bool) -> Bool {
        guard let body else { return work(nil) }
        // A zero byte follows, so that an empty body has an address too.
        return (body + [0]).withUnsafeBufferPointer(work)
    }

    private func withSignature(_ work: (avatar_request) -> Bool) -> Bool {
        switch proof {
        case .digest(let user, let password): return with(user, password, CInt(AVATAR_PROOF_DIGEST), work)
        // libcurl takes the ticket if the user and the password are empty.
        case .negotiate: return with("", "", CInt(AVATAR_PROOF_NEGOTIATE), work)
        case nil: break
        }
        guard let signature else { return work(avatar_request()) }
        return signature.key.withCString { key in
            signature.secret.withCString { secret in
                signature.parameters.withCString { parameters in
                    var request = avatar_request()
                    (request.user, request.secret, request.signature) = (key, secret, parameters)
                    return work(request)
                }
            }
        }
    }
}

extension ServerRequest {
    private func with(
        _ user: String,
        _ password: String,
        _ proof: CInt,
        _ work: (avatar_request) -> Bool
    ) -> Bool {
        user.withCString { user in
            password.withCString { password in
                var request = avatar_request()
                (request.user, request.secret, request.proof) = (user, password, proof)
                return work(request)
            }
        }
    }
}
