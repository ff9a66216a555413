import AvatarFoundation
import AvatarProviders
import AvatarStore

/// One check in progress: its client, an origin, and the ways to use and to judge them.
final class ConformanceTrial: Sendable {
    /// The response to a request, with its whole body.
    struct Received: Sendable {
        let status: Int
        let fields: HTTPFields
        let body: [UInt8]
        let redirection: Redirection?
        /// The number of HTTP requests that the client announced by `willSend`.
        let announced: Int

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    /// The client of this check.
    let client: any OriginClient
    /// The origin of this check. It responds with 404 until the check sets a response.
    let origin: LoopbackOrigin
    private let check: String
    private let threads: TrialThreads
    private let end: Locked<(@Sendable () async throws -> Void)?>

    /// The trial of `subject` for `check`, whose tasks run on `threads`.
    init(
        check: String,
        subject: OriginClientConformance.Subject,
        origin: LoopbackOrigin,
        threads: TrialThreads
    ) {
        (self.check, self.origin, client, self.threads) = (check, origin, subject.client, threads)
        end = Locked(subject.shutDown)
    }

    /// Shuts the client down, if it can be and has not been.
    ///
    /// - Returns: whether it was shut down by this call.
    @discardableResult
    func shutDown() async throws -> Bool {
        guard let end = end.withLock({ $0.take() }) else { return false }
        try await end()
        return true
    }

    /// Begins `work` in a task on the threads of the check.
    @discardableResult
    func task(_ work: @escaping @Sendable () async throws -> Void) -> Task<Void, any Error> {
        Task(executorPreference: threads) { try await work() }
    }

    // MARK: Requests

    /// The response to a request for `url`, with its whole body.
    func read(
        _ url: String,
        _ fields: HTTPFields = HTTPFields(),
        conditionalURL: String? = nil
    ) async throws -> Received {
        let announced = Locked(0)
        let request = OriginRequest(url: url, fields: fields, conditionalURL: conditionalURL) {
            announced.withLock { $0 += 1 }
        }
        return try await client.send(request) { response in
            Received(
                status: response.head.status,
                fields: response.head.fields,
                body: try await Self.bytes(response.body),
                redirection: response.head.redirection,
                announced: announced.withLock { $0 }
            )
        }
    }

    /// The response to a request for `path` of the origin.
    func get(_ path: String, _ fields: HTTPFields = HTTPFields()) async throws -> Received {
        try await read(origin.url(path), fields)
    }

    /// The whole of `body`.
    static func bytes(_ body: OriginBody) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let chunk = try await body.next() { bytes += chunk }
        return bytes
    }

    /// A request that was begun, and its arrival.
    func begin(_ path: String) async throws -> (begun: any BegunRequest, arrival: OriginArrival) {
        try await client.arrival(of: OriginRequest(url: origin.url(path)))
    }

    // MARK: Judgements

    /// Bytes without a pattern that a mistake of the client could preserve.
    static func noise(_ count: Int) -> [UInt8] {
        var random = SplitMix64(seed: UInt64(count))
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    /// A failure of this check.
    func failed(_ reason: String) -> OriginClientConformance.Failure {
        OriginClientConformance.Failure(check: check, reason: reason)
    }

    /// The failure for `error`, which may be one already.
    func failure(for error: any Error) -> any Error {
        if error is OriginClientConformance.Failure || error is LoopbackOriginError { return error }
        return failed("unexpected error: \(error)")
    }

    /// Fails the check unless `condition` holds.
    func expect(_ condition: Bool, _ reason: @autoclosure () -> String) throws {
        if !condition { throw failed(reason()) }
    }

    /// Fails the check unless `found` is `expected`.
    func expect<Value: Equatable>(_ found: Value, is expected: Value, _ name: String) throws {
        try expect(found == expected, "\(name) is \(found), expected \(expected)")
    }

    /// The error of `work`, which must be an `OriginError` of `kind`; `nil` for any kind.
    @discardableResult
    func expectError(
        _ kind: FailureKind?,
        of situation: String,
        _ work: () async throws -> Void
    ) async throws -> OriginError {
        do {
            try await work()
        } catch let error as OriginError {
            try expect(
                kind == nil || error.kind == kind,
                "\(situation): the kind is \(error.kind), not \(kind ?? error.kind)"
            )
            return error
        } catch {
            throw failed("\(situation): the client threw \(type(of: error)), not an OriginError: \(error)")
        }
        throw failed("\(situation): the client threw nothing, expected an OriginError")
    }

    /// Waits until `condition` holds, for at most 45 seconds.
    func wait(for event: String, until condition: () -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(45)
        while !condition() {
            try expect(ContinuousClock.now < end, "\(event) did not happen within 45 seconds")
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    /// Waits until the origin has no open connection left.
    func waitForNoConnection() async throws {
        try await wait(for: "the end of all connections") { [origin] in origin.openConnections == 0 }
    }
}
