import AvatarCore
import AvatarStore
import AvatarStoreTesting
import Testing

/// One rule for a private cache: the responses of an origin, and the result that each read of the image must have.
struct CacheCase: Sendable, CustomTestStringConvertible {
    enum Demand: String, Sendable {
        /// A cache that deviates breaks the RFC.
        case required
        /// The RFC permits it, and this store does it.
        case optional
    }

    let demand: Demand
    /// The section of RFC 9111, unless another RFC is named.
    let section: String
    let rule: String
    /// In the order of the requests.
    let responses: [LoopbackOrigin.Response]
    let reads: [CacheRead]

    init(
        _ demand: Demand,
        _ section: String,
        _ rule: String,
        _ responses: [LoopbackOrigin.Response],
        _ reads: CacheRead...
    ) {
        self.demand = demand
        self.section = section
        self.rule = rule
        self.responses = responses
        self.reads = reads
    }

    var testDescription: String { "\(section) \(demand.rawValue): \(rule)" }
}

/// One read, and its required result.
struct CacheRead: Sendable {
    /// Seconds since the read before.
    var wait: Int64 = 0
    var policy = FetchOptions.Policy.revalidate
    /// Whether the origin refuses connections from now on.
    var isAway = false
    /// Fields that the host program adds to requests from now on.
    var adds: [(name: String, value: String)] = []
    /// The number of the image that the read returns; `nil`: it throws.
    let gives: Int?
    /// The conditions of each request that the origin receives; for a range only that there is one; empty text: none.
    let requests: [String]

    /// The stored image, without a request.
    static func reuses(_ image: Int, after wait: Int64 = 0, adding fields: [(name: String, value: String)] = []) -> Self
    {
        CacheRead(wait: wait, adds: fields, gives: image, requests: [])
    }

    /// Image `image`, by an unconditional request.
    static func fetches(_ image: Int?, after wait: Int64 = 0, adding fields: [(name: String, value: String)] = [])
        -> Self
    {
        CacheRead(wait: wait, adds: fields, gives: image, requests: [""])
    }

    /// Image `image`, after requests with these conditions.
    static func asks(_ conditions: String..., gives image: Int?, after wait: Int64 = 0) -> Self {
        CacheRead(wait: wait, gives: image, requests: conditions)
    }

    /// Image `image`, while the origin refuses connections.
    static func triesInVain(giving image: Int?, after wait: Int64 = 0) -> Self {
        CacheRead(wait: wait, isAway: true, gives: image, requests: [])
    }

    /// As these, with another policy.
    func reading(_ policy: FetchOptions.Policy) -> Self {
        var read = self
        read.policy = policy
        return read
    }
}

/// The images of the cases.
enum CacheImage {
    static let all = (1...3).map { SampleImage.png(seed: UInt64($0), byteCount: 4_000) }

    static subscript(number: Int) -> [UInt8] { all[number - 1] }

    static func number(of bytes: [UInt8]) -> Int? { all.firstIndex(of: bytes).map { $0 + 1 } }
}

/// The date `seconds` after the beginning of each case.
func date(_ seconds: Int64) -> String {
    HTTPDate.format(ManualClock().now().adding(seconds: seconds))
}

extension LoopbackOrigin.Response {
    /// Image `number` with these header lines.
    static func image(_ number: Int, _ lines: String..., status: Int = 200) -> Self {
        Self(status: status, headers: headers(lines), body: .bytes(CacheImage[number]))
    }

    /// Image `number` with these header lines, from a connection that closes after half of it.
    static func half(_ number: Int, _ lines: String...) -> Self {
        Self(headers: headers(lines), body: .bytes(CacheImage[number])).behaving(.cutShort(after: 2_000))
    }

    /// Image `number`, or the part of it that the request asks for.
    static func ranged(_ number: Int, _ lines: String...) -> Self {
        Self(headers: headers(lines), body: .bytes(CacheImage[number]), answersConditionalRequests: true)
    }

    /// The second half of image `number`.
    static func rest(_ number: Int, _ lines: String...) -> Self {
        let range = "Content-Range: bytes 2000-3999/4000"
        return Self(status: 206, headers: headers([range] + lines), body: .bytes(Array(CacheImage[number][2_000...])))
    }

    /// A response without a body.
    static func bare(_ status: Int, _ lines: String...) -> Self {
        Self(status: status, headers: headers(lines))
    }

    /// A 304 with these header lines.
    static func confirmed(_ lines: String...) -> Self {
        Self(status: 304, headers: headers(lines))
    }

    /// Image `number` in chunks behind `head`, whatever that is, and before `trailers`.
    static func verbatim(_ number: Int, head: [String], trailers: [String] = []) -> Self {
        let size = String(CacheImage[number].count, radix: 16)
        let beginning = head + ["Transfer-Encoding: chunked", "", size, ""]
        let end = ["", "0"] + trailers + ["", ""]
        return .raw(
            Array(beginning.joined(separator: "\r\n").utf8) + CacheImage[number]
                + Array(end.joined(separator: "\r\n").utf8)
        )
    }

    private static func headers(_ lines: [String]) -> LoopbackOrigin.Headers {
        var headers = LoopbackOrigin.Headers()
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers.append(String(parts[0]), parts.count > 1 ? String(parts[1].drop { $0 == " " }) : "")
        }
        return headers
    }
}
