import AvatarDigest
import CAvatarCurl

/// A request in the form in which libcurl signs and sends it.
struct WireRequest: Sendable {
    /// A method of HTTP.
    enum Method: String, Sendable {
        case get = "GET"
        case put = "PUT"
        case delete = "DELETE"
    }

    let method: Method
    let url: String
    /// The header lines, each with a zero byte at its end.
    let fields: [UInt8]
    let body: [UInt8]
    /// The maximum size of the body of a response that is not an error.
    let bodyLimit: Int
    /// Whether the request gets a new connection.
    var needsConnection = false

    /// A request.
    ///
    /// - Parameters:
    ///   - method: the method.
    ///   - url: the encoded URL.
    ///   - fields: header fields besides those of the signature.
    ///   - body: the body of a PUT.
    ///   - bodyLimit: the maximum size of the body of the response.
    ///   - sessionToken: the token of temporary credentials.
    init(
        _ method: Method,
        _ url: String,
        fields: [String] = [],
        body: [UInt8] = [],
        bodyLimit: Int,
        sessionToken: String?
    ) {
        self.method = method
        self.url = url
        self.body = body
        self.bodyLimit = bodyLimit
        var lines = fields + ["x-amz-content-sha256: " + Self.hash(body)]
        if let sessionToken { lines.append("x-amz-security-token: " + sessionToken) }
        self.fields = lines.flatMap { Array($0.utf8) + [0] }
    }

    /// The hash of the body in hexadecimal.
    private static func hash(_ body: [UInt8]) -> String {
        guard !body.isEmpty else { return hashOfNothing }
        let digits = Array("0123456789abcdef".utf8)
        let bytes = SHA256.hash(body).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let hashOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
}

/// The end of a request: a response, or what prevented one.
struct WireResponse: Sendable {
    /// One of the `AVATAR_END` values. `AVATAR_END_OK` for a complete response.
    var end = AVATAR_END_OK
    /// The status; 0 without a response.
    var status = 0
    /// Whether the body was larger than the limit, so that the rest of it was dropped.
    var isTooLarge = false
    var body: [UInt8] = []
    /// The fields `x-amz-bucket-region`, `Date` and `Retry-After`; empty if absent.
    var (region, date, retryAfter) = ("", "", "")
    /// The result of the verification of the certificate, in numbers of OpenSSL.
    var verifyResult = 0

    /// The response of a request that has ended.
    init(of request: OpaquePointer) {
        guard let response = avatar_request_response_of(request) else { return }
        end = Int(response.pointee.kind)
        status = Int(response.pointee.status)
        isTooLarge = response.pointee.is_too_large
        body = Array(UnsafeBufferPointer(start: response.pointee.body, count: response.pointee.body_size))
        region = Self.text(response.pointer(to: \.region))
        date = Self.text(response.pointer(to: \.date))
        retryAfter = Self.text(response.pointer(to: \.retry_after))
        verifyResult = response.pointee.verify_result
    }

    /// A request that ended without a response.
    init(end: Int) { self.end = end }

    /// The text of an array of C, which ends in a zero byte.
    private static func text<Characters>(_ characters: UnsafePointer<Characters>?) -> String {
        guard let characters else { return "" }
        return String(cString: UnsafeRawPointer(characters).assumingMemoryBound(to: CChar.self))
    }
}
