import AvatarStore
import AvatarStoreTesting
import Logging
import Testing

/// Runs `body` with a store that is opened twice. A lease belongs to an opening, so the two behave like two processes.
func withTwoStores(
    _ configure: (inout AvatarStore.Configuration) -> Void = { _ in },
    _ body: (StoreFixture, AvatarStore) async throws -> Void
) async throws {
    try await StoreFixture.withStore(configure) { fixture in
        let other = try await fixture.openAgain(configure)
        try await body(fixture, other)
        try await other.close()
        try fixture.expectConsistent()
    }
}

/// Runs `body` with two stores, and a gate of the origin that opens as soon as one waits for the other.
func whileOneWaits(
    _ configure: (inout AvatarStore.Configuration) -> Void = { _ in },
    _ body: (StoreFixture, AvatarStore, LoopbackOrigin.Gate) async throws -> Void
) async throws {
    let gate = LoopbackOrigin.Gate()
    try await withTwoStores { configuration in
        configuration.logger = WaitingStoreOpens.logger(gate)
        configure(&configuration)
    } _: { fixture, second in
        try await body(fixture, second, gate)
    }
}

extension FetchOptions {
    /// Options of a caller that waits only a moment, by default a second, for another process.
    static func impatient(_ policy: Policy = .cacheFirst, after timeout: Duration = .seconds(1)) -> FetchOptions {
        var options = FetchOptions(policy: policy)
        options.timeout = timeout
        return options
    }
}

/// Opens a gate of the origin as soon as a store waits for another one to fetch an image.
private struct WaitingStoreOpens: LogHandler {
    let gate: LoopbackOrigin.Gate
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug

    /// A logger that opens `gate`.
    static func logger(_ gate: LoopbackOrigin.Gate) -> Logger {
        Logger(label: "test") { _ in WaitingStoreOpens(gate: gate) }
    }

    func log(event: LogEvent) {
        if event.message == "waiting for another process to fetch" { gate.open() }
    }

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }
}
