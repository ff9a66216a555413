// Re-exported, because the rules are part of the configuration.
import AvatarCore
@_exported public import AvatarOriginRules
public import AvatarProviders
import CAvatarCurl
public import HTTPTypes

/// The store's own origin client, on libcurl: HTTP/1.1, and HTTP/2 over TLS if the origin offers it.
///
/// It follows redirects itself, and judges the host and the addresses of each hop before it connects. Only addresses that it
/// has looked up and judged are contacted. It decodes no content coding. It sends no credentials except those that
/// `Configuration.fieldsForHost` adds for the host of the hop. It reads no environment variable.
///
/// A thread of its own runs libcurl. It starts with the first request, and ends a minute after the last one.
public final class HTTPOrigin: OriginClient {
    /// The settings of an `HTTPOrigin`.
    public typealias Configuration = OriginConfiguration

    /// The settings.
    let configuration: Configuration
    /// Decides which hosts and addresses are contacted.
    let hostGuard: HostGuard
    /// The way to the thread that runs libcurl.
    let driver: CurlDriver
    private let fieldLines: FieldLines
    private let knownOrigins: KnownOrigins

    /// Creates a client with its own connections, which `shutdown` closes.
    ///
    /// - Parameter configuration: the settings.
    /// - Throws: `AvatarStoreError` with the code `invalidConfiguration` if the file of additional trust roots cannot
    ///   be read.
    public convenience init(configuration: Configuration = Configuration()) throws {
        try self.init(configuration: configuration, makeThread: CurlDriver.thread)
    }

    /// A client whose thread is made by `makeThread`, and woken by `wake`.
    init(
        configuration: Configuration,
        makeThread: @escaping CurlDriver.ThreadMaker = CurlDriver.thread,
        wake: @escaping CurlDriver.Waker = CurlDriver.wakeThread
    ) throws {
        self.configuration = configuration
        hostGuard = HostGuard(configuration)
        driver = CurlDriver(try EngineSettings(configuration), makeThread: makeThread, wake: wake)
        fieldLines = FieldLines(userAgent: configuration.userAgent)
        knownOrigins = KnownOrigins(configuration.proxies, hostGuard)
    }

    deinit {
        driver.close()
    }

    /// Loads libcurl, so that the first request of the process need not wait for it. Blocks the thread for some milliseconds.
    package static func prepare() {
        _ = avatar_curl_initialise()
    }

    /// Closes all connections, and returns when they are closed. Requests in progress and later ones fail as `offline`, which
    /// is not held against any URL. A second call does nothing.
    ///
    /// - Throws: nothing at present.
    public func shutdown() async throws {
        await driver.closeAndWait()
    }

    /// `globalOnly`, or `privateNetworks` if the configuration allows those.
    public var addressGuard: AddressGuard { configuration.addressGuard }

    /// Begins `request`. It waits for others until there are 64 of them, `flush` is called, or the client's thread has time.
    ///
    /// - Parameter arrival: called once, on any thread. A redirect arrives as its head, and `finish` follows it.
    public func begin(
        _ request: OriginRequest,
        arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
    ) -> any BegunRequest {
        BegunTransfer(request, of: self, arrival)
    }

    /// Sends the requests that are held back.
    public func flush() { driver.flush() }

    /// The header fields of a request for `url`, without conditions; `nil` if `url` is invalid.
    public func requestFields(for url: String) -> HTTPFields? {
        // The only error is an invalid URL, for which `send` throws it.
        guard let hops = try? RedirectChain(from: OriginRequest(url: url), limit: 0) else { return nil }
        let hop = HopRequest(hops, fields: HTTPFields(), configuration: configuration)
        var fields = HTTPFields()
        for field in hop.fields.all {
            guard let name = HTTPField.Name(field.name) else { continue }
            fields.append(HTTPField(name: name, value: field.value))
        }
        return fields
    }

    // MARK: Hops

    /// Follows redirects, beginning with the response `first` of `transfer`, and passes the final response to `receive`.
    func follow<Result: Sendable>(
        _ hops: RedirectChain,
        for request: OriginRequest,
        from transfer: Transfer,
        _ first: Transfer.Answer,
        receive: (OriginResponse) async throws -> Result
    ) async throws -> Result {
        var (hops, transfer, answer) = (hops, transfer, first)
        do {
            while true {
                try check(answer, hops.url)
                guard let location = answer.location else { break }
                try hops.follow(location, status: answer.head.status, fields: answer.head.fields)
                transfer = try await self.transfer(hops, request)
                answer = try await transfer.answer()
            }
            defer { if answer.body == nil { transfer.release() } }
            var head = answer.head
            head.redirection = hops.redirection
            (head.isMultiplexed, head.openedConnections) = (first.head.isMultiplexed, first.head.openedConnections)
            let body = answer.body.map { OriginBody($0) } ?? OriginBody { [transfer] in try await transfer.next() }
            return try await receive(OriginResponse(head, body: body))
        } catch var error as OriginError where hops.redirection != nil {
            error.redirectedHost = hops.url.host?.description
            throw error
        }
    }

    /// The request of the current hop, whose host has been judged.
    ///
    /// - Throws: `OriginError` if the rules or the policy refuse the host, or its name has no known addresses;
    ///   `CancellationError`.
    func transfer(_ hops: RedirectChain, _ request: OriginRequest) async throws -> Transfer {
        let message = HopRequest(hops, fields: request.fields, configuration: configuration)
        let isNamed = isNamed(message.origin, in: hops, request)
        let facts = try knownOrigins.facts(of: message.origin, in: hops.url, isNamed: isNamed)
        let (addresses, proxyAddresses) = try await self.addresses(facts, of: hops.url, isNamed: isNamed)
        return transfer(message, at: hops.url, facts, addresses, proxyAddresses, isNamed: isNamed, for: request)
    }

    /// The request of the current hop, as `transfer(_:_:)`; `nil` if an address has to be looked up for it.
    ///
    /// - Throws: `OriginError` if the rules or the policy refuse the host.
    func knownTransfer(_ hops: RedirectChain, _ request: OriginRequest) throws -> Transfer? {
        let message = HopRequest(hops, fields: request.fields, configuration: configuration)
        let isNamed = isNamed(message.origin, in: hops, request)
        let facts = try knownOrigins.facts(of: message.origin, in: hops.url, isNamed: isNamed)
        let known = try facts.addresses ?? hostGuard.admitKnown(hops.url, along: facts.route, isNamed: isNamed)
        guard let addresses = known, let proxyAddresses = knownAddresses(of: facts.route.proxy) else { return nil }
        return transfer(message, at: hops.url, facts, addresses, proxyAddresses, isNamed: isNamed, for: request)
    }

    /// Whether the current hop goes to the server that the operator has named for `request`. A redirect that has led to another one
    /// may have come from anyone, even if it leads back.
    private func isNamed(_ origin: String, in hops: RedirectChain, _ request: OriginRequest) -> Bool {
        request.namedOrigin == origin && !hops.hasWandered
    }

    /// The transfer of a request to a server, whose host has been judged.
    func transfer(_ request: ServerRequest) async throws -> Transfer {
        let hops = try RedirectChain(from: OriginRequest(url: request.url), limit: 0)
        let message = HopRequest(hops, fields: HTTPFields(), configuration: configuration)
        let facts = try knownOrigins.facts(of: message.origin, in: hops.url, isNamed: false)
        let (addresses, proxyAddresses) = try await self.addresses(facts, of: hops.url, isNamed: false)
        return Transfer(
            Hop(
                url: hops.url,
                origin: message.origin,
                target: "",
                fields: request.lines,
                route: facts.route,
                pins: pins(facts, addresses, proxyAddresses),
                hasAddress: facts.hasAddress,
                server: request
            ),
            on: driver,
            willSend: {}
        )
    }

    /// The addresses of the host of `url`, which is judged, and of the proxy.
    private func addresses(
        _ facts: KnownOrigins.Facts,
        of url: AvatarKey,
        isNamed: Bool
    ) async throws -> (host: [IPAddress], proxy: [IPAddress]) {
        var addresses = facts.addresses ?? []
        if facts.addresses == nil {
            addresses = try await hostGuard.admit(url, along: facts.route, isNamed: isNamed)
        }
        guard let proxy = facts.route.proxy else { return (addresses, []) }
        return (addresses, try await self.addresses(of: proxy, for: url))
    }

    private func pins(
        _ facts: KnownOrigins.Facts,
        _ addresses: [IPAddress],
        _ proxyAddresses: [IPAddress]
    ) -> [Hop.Pin] {
        var pins: [Hop.Pin] = []
        if facts.addresses == nil, let host = facts.host { pins += Hop.Pin.pins(host, addresses) }
        if let proxy = facts.route.proxy { pins += Hop.Pin.pins(proxy.host, proxyAddresses) }
        return pins
    }

    private func transfer(
        _ message: HopRequest,
        at url: AvatarKey,
        _ facts: KnownOrigins.Facts,
        _ addresses: [IPAddress],
        _ proxyAddresses: [IPAddress],
        isNamed: Bool,
        for request: OriginRequest
    ) -> Transfer {
        let hop = Hop(
            url: url,
            origin: message.origin,
            target: message.target(along: facts.route),
            fields: fieldLines.lines(message.fields),
            route: facts.route,
            pins: pins(facts, addresses, proxyAddresses),
            hasAddress: facts.hasAddress,
            isNamed: isNamed,
            isMultiplexed: request.isMultiplexed && url == request.key
        )
        return Transfer(hop, on: driver, willSend: request.willSend)
    }

    /// The addresses of `proxy`; `nil` if they have to be looked up.
    private func knownAddresses(of proxy: ProxyServer?) -> [IPAddress]? {
        guard let name = proxy?.host.bareName else { return [] }
        if let address = IPAddress(name) { return [address] }
        guard case .addresses(let addresses) = hostGuard.names.known(name) else { return nil }
        return addresses
    }

    /// The addresses of `proxy`, which is trusted and not judged.
    ///
    /// - Throws: `OriginError` with the kind `offline` if there are none; `CancellationError`.
    private func addresses(of proxy: ProxyServer, for url: AvatarKey) async throws -> [IPAddress] {
        if let address = IPAddress(proxy.host.bareName) { return [address] }
        guard case .addresses(let addresses) = try await hostGuard.names.answer(for: proxy.host.bareName) else {
            throw FailureWording.unreachableProxy(proxy, words: "its name cannot be resolved", at: url)
        }
        return addresses
    }

    /// Refuses the response of a proxy that asks for credentials.
    ///
    /// - Throws: `OriginError`.
    func check(_ answer: Transfer.Answer, _ url: AvatarKey) throws {
        if answer.head.status == 407, case .forward(let proxy) = Route(to: url, configuration.proxies) {
            throw FailureWording.proxyCredentials(proxy, url)
        }
    }
}
