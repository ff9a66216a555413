import AvatarCore
import AvatarOrigin
import AvatarStoreTesting
import Synchronization
import Testing

/// The conformance checks of `AvatarStoreTesting`, with our own clients and with faulty ones.
@Suite(.timeLimit(.minutes(2)))
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
    @Test(arguments: [true, false])
    func clientThatNeverEndsIsGivenUp(spins: Bool) async throws {
        let stop = EndlessClient.Stop()
        defer { stop.isRequested.store(true, ordering: .relaxed) }
        let conformance = OriginClientConformance { _ in EndlessClient(spins: spins, stop: stop) }
        let check = try #require(OriginClientConformance.checks.first { $0.name == "requestTarget" })

        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    let failure = await #expect(throws: OriginClientConformance.Failure.self) {
                        try await conformance.run(check, within: .milliseconds(200), ending: .milliseconds(200))
                    }
                    #expect(
                        failure?.reason == "the client did not finish within 0.2 seconds, and ignored its cancellation"
                    )
                }
            }
        }
    }

    @Test func clientThatEndsLateHasNotFinished() async throws {
        let conformance = OriginClientConformance { _ in EndlessClient(spins: nil, stop: EndlessClient.Stop()) }
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

    /// Whether it occupies its thread; `nil` if it ends when its task is cancelled.
    let spins: Bool?
    let stop: Stop

    func send<Result: Sendable>(
        _ request: OriginRequest,
        receive: (OriginResponse) async throws -> Result
    ) async throws -> Result {
        while !stop.isRequested.load(ordering: .relaxed) {
            if spins != true { await Task.yield() }
            if spins == nil { try Task.checkCancellation() }
        }
        throw CancellationError()
    }
}

/// A client with one fault, named by the check that must find it.
struct FaultyClient: OriginClient {
    enum Fault: String, CaseIterable, Sendable {
        case requestTarget, requestFields, announcement, notModified, range, redirect, redirectedHost, wholeBody
        case unreadBody, truncatedBody, errorOfTheReader, responseFields, notHTTP, cancelledBeforeTheHead
        case cancelledInTheBody, afterTheShutdown
    }

    let client: HTTPOrigin
    let fault: Fault

    func send<Result: Sendable>(
        _ request: OriginRequest,
        receive: (OriginResponse) async throws -> Result
    ) async throws -> Result {
        do {
            return try await client.send(changed(request)) { try await receive(changed($0)) }
        } catch is CancellationError where [.cancelledBeforeTheHead, .cancelledInTheBody].contains(fault) {
            throw OriginError(.timeout, "The request took too long.")
        } catch let error as OriginError {
            var error = error
            switch fault {
            case .redirectedHost: error.redirectedHost = nil
            case .notHTTP, .afterTheShutdown: error.kind = .gone
            default: break
            }
            throw error
        } catch  where fault == .errorOfTheReader {
            throw OriginError(.unreachable, "The reader failed.")
        }
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

    private func changed(_ response: OriginResponse) async throws -> OriginResponse {
        var response = response
        let body = response.body
        switch fault {
        case .redirect: response.redirection = nil
        case .responseFields: response.fields[.vary] = nil
        case .wholeBody: response.body = OriginBody { try await body.next().map { Array($0.prefix(65_000)) } }
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
