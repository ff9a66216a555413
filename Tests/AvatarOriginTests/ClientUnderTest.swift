import AvatarCore
import AvatarOrigin
import Testing

#if NIOOrigin
import AvatarOriginNIO
#endif

/// What the tests need of an origin client.
protocol TestedOrigin: BatchOriginClient {
    /// Closes all connections.
    func shutdown() async throws
}

extension HTTPOrigin: TestedOrigin {}

#if NIOOrigin
extension NIOHTTPOrigin: TestedOrigin {}
#endif

/// The origin clients, which must behave alike.
enum ClientUnderTest: String, CaseIterable, Sendable {
    case libcurl
    #if NIOOrigin
    case nio
    #endif

    /// The client that the current test runs with.
    @TaskLocal static var current = libcurl

    /// Whether the client passes the conformance check `name` only most of the time.
    func mayFail(_ name: String) -> Bool {
        #if NIOOrigin
        // It sees bytes that came before a request only after the event loop has read them.
        if self == .nio { return name == "unsolicitedResponse" }
        #endif
        return false
    }

    /// A client with `configuration`.
    func make(_ configuration: OriginConfiguration) throws -> any TestedOrigin {
        switch self {
        case .libcurl: try HTTPOrigin(configuration: configuration)
        #if NIOOrigin
        case .nio: try NIOHTTPOrigin(configuration: configuration)
        #endif
        }
    }
}

/// Runs each test of a suite once with every client.
struct EachClient: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        for client in ClientUnderTest.allCases {
            try await ClientUnderTest.$current.withValue(client) {
                try await function()
            }
        }
    }
}

extension Trait where Self == EachClient {
    /// Runs each test of the suite once with every client.
    static var eachClient: Self { EachClient() }
}
