import AvatarCore
import AvatarFiles
import AvatarProviders
import Logging
import Synchronization

/// The origin's response to the requests for one image. `FetchOutcome` says what the store did with it.
struct FetchResult: Sendable {
    /// The meaning of the response for the image. It is behind a reference, because a sync hands each result on many times.
    indirect enum Content: Sendable {
        /// An image, complete and staged, and its response.
        case image(StagedImage, AssessedResponse)
        /// The stored image is confirmed; the response is the stored one, brought up to date.
        case notModified(AssessedResponse)
        /// No image was received.
        case failed(FetchFailure)
    }

    /// The meaning of the response for the image.
    var content: Content
    /// When the fetch began.
    var began: Timestamp
    /// When the fetch ended.
    var ended: Timestamp
    /// The time from the request to the end of the response.
    var duration = Duration.zero
    /// HTTP requests sent, including redirects.
    var requestCount = 0
    /// Bytes read from all bodies, before a content coding is decoded.
    var bytesReceived = 0
    /// Whether the requested host answered over HTTP/2; `nil` without a response.
    var isMultiplexed: Bool?
    /// Connections opened for it.
    var connectionCount = 0
    /// Whether an `AnswerSource` gave the result, and no host was asked.
    var isFromSource = false
    /// The failure of the origin, if an older copy of an `AnswerSource` stands in for its image.
    var originFailure: FetchFailure?
    /// When an origin sent the image; `nil`: with the response.
    var fetched: Timestamp?

    /// The failure of the origin; `nil` if it answered.
    var failure: FetchFailure? {
        guard case .failed(let failure) = content else { return originFailure }
        return failure
    }

    /// The host at fault, if redirects led to another host than the one requested.
    var redirectedHost: String? { failure?.redirectedHost }

    /// The meaning of a result for the requests to its host.
    enum HostOutcome {
        /// The host answered.
        case answer
        /// It bears fewer requests (429 or 503).
        case refusal
        /// The connection or its stream was lost, or the time was over.
        case trouble
        /// It says nothing about the host.
        case none
    }

    /// The meaning of the result for the requests to its host.
    var hostOutcome: HostOutcome {
        guard !isFromSource else { return .none }
        guard let failure, failure.kind.blame != .image else { return .answer }
        if failure.isRefusal { return .refusal }
        // The host that it redirected to is at fault.
        guard failure.redirectedHost == nil else { return .none }
        return failure.kind == .timeout || failure.kind == .unreachable ? .trouble : .none
    }

    /// The facts of a fetch for a log. The log names the host and not the image, because a path may be secret.
    ///
    /// - Parameter host: name and port of the host.
    func facts(host: String, took time: Duration) -> Logger.Metadata {
        let (outcome, status): (String, Int?) =
            switch content {
            case .image(_, let response): ("fetched", response.metadata.status)
            case .notModified: ("notModified", 304)
            case .failed(let failure): (failure.kind.rawValue, failure.status)
            }
        return [
            "host": "\(host)", "status": "\(status.map(String.init) ?? "-")", "bytes": "\(bytesReceived)",
            "milliseconds": "\(Int(time / .milliseconds(1)))", "outcome": "\(outcome)",
        ]
    }

    /// The result for the health of the host; `nil` if it got no request.
    var hostNote: HostNote? {
        guard !isFromSource else { return nil }
        guard let failure else { return HostNote(requested: began, answered: ended) }
        return HostNote(
            failure: failure.kind,
            message: failure.kind.blame == .host ? failure.lastingMessage(keepsPaths: false) : nil,
            retryAfter: failure.retryAfter,
            requested: began,
            answered: ended
        )
    }
}

/// Counts the requests and bytes of one fetch, even if it fails halfway or is cancelled.
final class Tally: Sendable {
    private let requests = Atomic<Int>(0)
    private let bytes = Atomic<Int>(0)
    private let connections = Atomic<Int>(0)
    /// 0 before a response, 1 over HTTP/1.1, 2 over HTTP/2.
    private let version = Atomic<Int>(0)

    /// Counts one HTTP request. A redirect is another one.
    func addRequest() {
        requests.add(1, ordering: .relaxed)
    }

    /// Counts bytes of a body as received, before a content coding is decoded.
    func add(bytes count: Int) {
        bytes.add(count, ordering: .relaxed)
    }

    /// Takes note of how a response arrived.
    func note(_ head: OriginHead) {
        version.store(head.isMultiplexed ? 2 : 1, ordering: .relaxed)
        if head.openedConnections > 0 { connections.add(head.openedConnections, ordering: .relaxed) }
    }

    /// Whether the requested host answered over HTTP/2; `nil` before a response.
    private var isMultiplexed: Bool? {
        let version = version.load(ordering: .relaxed)
        return version == 0 ? nil : version == 2
    }

    /// HTTP requests sent so far, including redirects.
    var requestCount: Int { requests.load(ordering: .relaxed) }

    /// Bytes received so far.
    var byteCount: Int { bytes.load(ordering: .relaxed) }

    /// The result of the fetch, with the counts so far.
    func result(_ content: FetchResult.Content, began: Timestamp, ended: Timestamp) -> FetchResult {
        FetchResult(
            content: content,
            began: began,
            ended: ended,
            requestCount: requestCount,
            bytesReceived: byteCount,
            isMultiplexed: isMultiplexed,
            connectionCount: connections.load(ordering: .relaxed)
        )
    }
}
