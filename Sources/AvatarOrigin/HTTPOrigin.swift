import AsyncHTTPClient
public import AvatarCore
import Foundation
import HTTPTypes
public import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// The store's origin client, on AsyncHTTPClient: HTTP/1.1, and HTTP/2 over TLS where the origin offers it.
///
/// It follows redirects itself, looks at the address of each connection before a byte of HTTP is sent, decodes no
/// content coding, and sends no credentials but those that the host's hook adds for a hop's own host.
public final class HTTPOrigin: OriginClient {
    /// How requests are sent.
    public struct Configuration: Sendable {
        /// The User-Agent field. Default: `AvatarStore`.
        public var userAgent = "AvatarStore"
        /// Whether loopback, private and link-local addresses may be contacted too, cloud metadata services among
        /// them. Default: no, only globally reachable addresses.
        public var allowsPrivateNetworks = false
        /// A finer policy than the above; default: none.
        package var addressPolicy: AddressPolicy?
        /// The largest number of redirects for one image. Default: 5.
        public var maximumRedirects = 5
        /// Connections a host (name and port) at once over HTTP/1.1. Default: 8.
        public var connectionsPerHost = 8
        /// How long a connection may take to come up, in seconds. Default: 10.
        public var connectTimeoutSeconds = 10
        /// How long an origin may be silent within an answer, in seconds. Default: 30.
        public var idleTimeoutSeconds = 30
        /// A file of PEM certificates to trust beside those of the system. Default: none.
        public var additionalTrustRootsFile: String?
        /// Header fields to add for a host ("name:port"), such as a token. Asked for each hop anew, so that what
        /// is meant for one host is never sent to another. The values reach neither the index nor a log.
        public var fieldsForHost: (@Sendable (_ host: String) -> [(name: String, value: String)])?

        /// The defaults.
        public init() {}

        fileprivate var guardPolicy: AddressPolicy {
            addressPolicy ?? (allowsPrivateNetworks ? .allowingPrivateNetworks : .globalOnly)
        }
    }

    private let configuration: Configuration
    private let client: HTTPClient

    /// A client with connections of its own; `shutdown` closes them.
    ///
    /// - Parameter eventLoopGroup: the host's event loops; by default those that all of its NIO libraries share.
    /// - Throws: `invalidConfiguration` if the trust roots cannot be read.
    public init(configuration: Configuration = Configuration(), eventLoopGroup: (any EventLoopGroup)? = nil) throws {
        self.configuration = configuration
        client = HTTPClient(
            eventLoopGroup: eventLoopGroup ?? HTTPClient.defaultEventLoopGroup,
            configuration: try Self.clientConfiguration(configuration)
        )
    }

    deinit {
        // A client that is not shut down traps. One that is reports that, which is all that can be reported here.
        client.shutdown(queue: .global()) { _ in }
    }

    /// Closes all connections. A request after it fails.
    public func shutdown() async throws {
        try await client.shutdown()
    }

    /// `"on"`, or `"privateNetworks"` if those may be contacted too.
    public var guardDescription: String {
        configuration.allowsPrivateNetworks ? "privateNetworks" : "on"
    }

    /// Sends `request`, follows redirects, and hands the final answer to `receive`.
    ///
    /// - Throws: `OriginError`; what `receive` throws passes through.
    public func send<Result: Sendable>(
        _ request: OriginRequest,
        receive: (OriginResponse) async throws -> Result
    ) async throws -> Result {
        var hops = RedirectChain(limit: configuration.maximumRedirects)
        var url = try hops.start(request.url)
        while true {
            let response = try await execute(url, request)
            guard let location = response.redirectLocation else {
                let answer = OriginResponse(
                    status: Int(response.status.code),
                    fields: HTTPFields(response.headers),
                    body: body(of: response, at: url)
                )
                return try await receive(answer)
            }
            // The redirect's own body is dropped with the response; a small one lets the connection live on.
            url = try hops.follow(location, from: url)
        }
    }

    /// Sends one request. A pooled connection may have been closed by the origin in the moment it was taken; since
    /// nothing was answered, that one attempt is made again on another.
    private func execute(_ url: AvatarKey, _ request: OriginRequest) async throws -> HTTPClientResponse {
        var attempts = 0
        while true {
            attempts += 1
            request.willSend()
            do {
                return try await client.execute(message(url, request), deadline: .distantFuture)
            } catch  where attempts < 2 && OriginFailure.isClosedConnection(error) {
                continue
            } catch {
                throw OriginFailure.translate(error, host: url)
            }
        }
    }

    private func message(_ url: AvatarKey, _ request: OriginRequest) -> HTTPClientRequest {
        var message = HTTPClientRequest(url: url.rawValue)
        message.headers.add(name: "User-Agent", value: configuration.userAgent)
        message.headers.add(name: "Accept", value: "image/*")
        // What is stored is the image's own bytes; a coding would have to be undone first.
        message.headers.add(name: "Accept-Encoding", value: "identity")
        for field in request.fields {
            message.headers.replaceOrAdd(name: field.name.rawName, value: field.value)
        }
        for field in url.host.flatMap({ configuration.fieldsForHost?($0.description) }) ?? [] {
            message.headers.replaceOrAdd(name: field.name, value: field.value)
        }
        return message
    }

    private func body(of response: HTTPClientResponse, at url: AvatarKey) -> OriginBody {
        var iterator = response.body.makeAsyncIterator()
        return OriginBody {
            do {
                return try await iterator.next(isolation: #isolation).map { Array($0.readableBytesView) }
            } catch {
                throw OriginFailure.translateInBody(error, host: url)
            }
        }
    }

    private static func clientConfiguration(_ configuration: Configuration) throws -> HTTPClient.Configuration {
        var client = HTTPClient.Configuration()
        client.redirectConfiguration = .disallow
        client.decompression = .disabled
        client.timeout.connect = .seconds(Int64(configuration.connectTimeoutSeconds))
        client.timeout.read = .seconds(Int64(configuration.idleTimeoutSeconds))
        client.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = configuration.connectionsPerHost
        // Required by the guard: the client's retry cannot bear a connection that is closed while it comes up.
        client.connectionPool.retryConnectionEstablishment = false
        let guardPeer = PeerGuard(policy: configuration.guardPolicy).initializer
        client.http1_1ConnectionDebugInitializer = guardPeer
        client.http2ConnectionDebugInitializer = guardPeer
        if let file = configuration.additionalTrustRootsFile {
            client.tlsConfiguration = try tlsConfiguration(trusting: file)
        }
        return client
    }

    private static func tlsConfiguration(trusting file: String) throws -> TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        do {
            tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(file))]
        } catch {
            throw AvatarStoreError(
                .invalidConfiguration,
                "\(file) holds no PEM certificates that can be read.",
                underlying: error
            )
        }
        return tls
    }
}

extension HTTPFields {
    /// The fields of `headers`; a name or value that HTTP does not allow is left out, as no rule can apply to it.
    init(_ headers: HTTPHeaders) {
        self.init()
        for (name, value) in headers {
            guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else { continue }
            append(HTTPField(name: name, value: value))
        }
    }
}

extension HTTPClientResponse {
    /// Where the answer sends us, if it does (RFC 9110 section 15.4). A 300 or 304 sends nobody anywhere.
    fileprivate var redirectLocation: String? {
        switch status.code {
        case 301, 302, 303, 307, 308: headers.first(name: "Location")
        default: nil
        }
    }
}
