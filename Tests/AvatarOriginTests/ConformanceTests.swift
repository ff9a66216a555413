import AvatarCore
import AvatarOrigin
import AvatarProviders
import AvatarStoreTesting
import Synchronization
import Testing

/// The conformance checks of `AvatarStoreTesting`, with our own clients and with faulty ones.
@Suite(.timeLimit(.minutes(5)))
struct ConformanceTests {
    private static func configuration(_ settings: OriginClientConformance.Settings) -> OriginConfiguration {
        var configuration = OriginConfiguration()
        configuration.allowsPrivateNetworks = true
        configuration.idleTimeoutSeconds = settings.idleTimeoutSeconds
        configuration.maximumRedirects = settings.maximumRedirects
        configuration.connectionsPerHost = settings.connectionsPerHost
        return configuration
    }

    private static let conformance = OriginClientConformance(
        shutDown: { (client: HTTPOrigin) in try await client.shutdown() },
        makeClient: { try HTTPOrigin(configuration: configuration($0)) }
    )

    @Test(arguments: OriginClientConformance.checks)
    func clientConforms(check: OriginClientConformance.Check) async throws {
        try await Self.conformance.run(check)
    }

    @Test func namesOfChecksAreUnique() {
        let names = OriginClientConformance.checks.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(OriginClientConformance.checks.allSatisfy { $0.requirement.hasSuffix(".") })
    }

    /// Each fault of a client is found by the check that is made for it.
    @Test(arguments: FaultyClient.Fault.allCases)
    func faultIsFound(fault: FaultyClient.Fault) async throws {
        let conformance = OriginClientConformance(shutDown: { try await $0.client.shutdown() }) { settings in
            FaultyClient(client: try HTTPOrigin(configuration: Self.configuration(settings)), fault: fault)
        }
        let check = try #require(OriginClientConformance.checks.first { $0.name == fault.rawValue })

        let failure = await #expect(throws: OriginClientConformance.Failure.self) { try await conformance.run(check) }

        #expect(failure?.check == check.name)
        #expect(failure?.reason.isEmpty == false)
    }

    /// More clients than the machine may have cores, so that they would take all threads of tasks.
    @Test func clientThatSpinsIsGivenUp() async throws {
        let stop = EndlessClient.Stop()
        defer { stop.isRequested.store(true, ordering: .relaxed) }
        let conformance = OriginClientConformance { _ in EndlessClient(spins: true, stop: stop) }
        let check = try #require(OriginClientConformance.checks.first { $0.name == "requestTarget" })

        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    let failure = await #expect(throws: OriginClientConformance.Failure.self) {
                        try await conformance.run(check, within: .milliseconds(200), ending: .milliseconds(200))
                    }
                    // On a busy machine a client may be cancelled before it spins, and then it ends.
                    #expect(failure?.reason.hasPrefix("the client did not finish within 0.2 seconds") == true)
                }
            }
        }
    }

    @Test func clientThatEndsLateHasNotFinished() async throws {
        let conformance = OriginClientConformance { _ in EndlessClient(spins: false, stop: EndlessClient.Stop()) }
        let check = try #require(OriginClientConformance.checks.first { $0.name == "requestTarget" })

        let failure = await #expect(throws: OriginClientConformance.Failure.self) {
            try await conformance.run(check, within: .milliseconds(50))
        }

        #expect(failure?.reason == "the client did not finish within 0.05 seconds")
    }
}

/// A client that returns nothing.
struct EndlessClient: OriginClient {
    final class Stop: Sendable {
        let isRequested = Atomic(false)
    }

    /// Whether it occupies the thread that begins a request.
    let spins: Bool
    let stop: Stop

    func begin(
        _ request: OriginRequest,
        arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
    ) -> any BegunRequest {
        while spins, !stop.isRequested.load(ordering: .relaxed) {}
        return OriginTask(arrival) {
            try await Task.sleep(for: .seconds(3600))
            throw CancellationError()
        }
    }
}

/// A client with one fault, named by the check that must find it.
struct FaultyClient: OriginClient {
    enum Fault: String, CaseIterable, Sendable {
        case requestTarget, requestFields, announcement, notModified, range, redirect, redirectedHost, wholeBody
        case unreadBody, truncatedBody, errorOfTheReader, responseFields, notHTTP, cancelledArrival
        case cancelledWhilePaused, afterTheShutdown
    }

    let client: HTTPOrigin
    let fault: Fault

    func begin(
        _ request: OriginRequest,
        arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
    ) -> any BegunRequest {
        let begun = client.begin(changed(request)) { result in
            arrival(
                result.map { arrived in
                    var arrived = arrived
                    arrived.head = changed(arrived.head)
                    return arrived
                }
                .mapError { changed($0) }
            )
        }
        return FaultyRequest(client: self, begun: begun)
    }

    func flush() { client.flush() }

    func changed(_ error: any Error) -> any Error {
        if error is CancellationError, [.cancelledArrival, .cancelledWhilePaused].contains(fault) {
            return OriginError(.timeout, "The request took too long.")
        }
        guard var error = error as? OriginError else {
            return fault == .errorOfTheReader ? OriginError(.unreachable, "The reader failed.") : error
        }
        switch fault {
        case .redirectedHost: error.redirectedHost = nil
        case .notHTTP, .afterTheShutdown: error.kind = .gone
        default: break
        }
        return error
    }

    private func changed(_ request: OriginRequest) -> OriginRequest {
        var request = request
        switch fault {
        case .requestTarget: request.url = request.url.replacing("%F6", with: "%C3%B6")
        case .requestFields: request.fields[.authorization] = nil
        case .announcement: request.willSend = {}
        case .notModified, .range: request.fields = [:]
        default: break
        }
        return request
    }

    private func changed(_ head: OriginHead) -> OriginHead {
        var head = head
        switch fault {
        case .redirect: head.redirection = nil
        case .responseFields: head.fields[.vary] = nil
        default: break
        }
        return head
    }

    func changed(_ response: OriginResponse) async throws -> OriginResponse {
        var response = OriginResponse(changed(response.head), body: response.body)
        let body = response.body
        switch fault {
        case .wholeBody: response.body = OriginBody { try await body.next().map { Array($0.prefix(10_000)) } }
        case .unreadBody: while try await body.next() != nil {}
        case .truncatedBody:
            response.body = OriginBody {
                do { return try await body.next() } catch is OriginError { return nil }
            }
        default: break
        }
        return response
    }
}

/// A request of a client with one fault.
private struct FaultyRequest: BegunRequest {
    let client: FaultyClient
    let begun: any BegunRequest

    func finish<Result: Sendable>(receive: (OriginResponse) async throws -> Result) async throws -> Result {
        do {
            return try await begun.finish { try await receive(client.changed($0)) }
        } catch {
            throw client.changed(error)
        }
    }

    func cancel() { begun.cancel() }
}
