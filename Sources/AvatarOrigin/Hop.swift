import AvatarCore
import AvatarOriginRules

/// A request for the engine: its destination and its bytes.
struct Hop: Sendable {
    /// The addresses of a host, which libcurl is told instead of looking them up itself.
    struct Pin: Hashable, Sendable {
        /// The host and port as libcurl names them: without brackets.
        let host: String
        let addresses: [IPAddress]

        private init(_ name: String, port: Int, addresses: [IPAddress]) {
            host = "\(name):\(port)"
            self.addresses = addresses
        }

        /// The pins for `host`: none if there is nothing to look up, because it is an address itself or has no address here.
        ///
        /// Versions of libcurl differ in whether they look up a name with a dot at its end without that dot.
        static func pins(_ host: HostName, _ addresses: [IPAddress]) -> [Pin] {
            guard !addresses.isEmpty, !host.name.hasPrefix("[") else { return [] }
            let pin = Pin(host.name, port: host.port, addresses: addresses)
            guard host.name.utf8.last == UInt8(ascii: ".") else { return [pin] }
            return [pin, Pin(String(host.name.dropLast()), port: host.port, addresses: addresses)]
        }

        /// The pin as an entry of CURLOPT_RESOLVE.
        var entry: String {
            "\(host):" + addresses.map { $0.family == .v6 ? "[\($0)]" : "\($0)" }.joined(separator: ",")
        }
    }

    /// The URL, for messages.
    let url: AvatarKey
    /// Scheme and authority. All requests to one origin share its connections.
    let origin: String
    /// The request target.
    let target: String
    /// The header lines, each with a zero byte at its end.
    let fields: [UInt8]
    let route: Route
    /// The addresses of the host, and of a proxy.
    let pins: [Pin]
    /// Whether a host in the request is an address, which libcurl reads with its resolver.
    let hasAddress: Bool
    /// Whether the operator has named the server, so that its address may be private.
    var isNamed = false
    /// Whether the origin is known to answer over HTTP/2.
    var isMultiplexed = false
    /// The method, the body and the login of a request to a server; `nil` for the GET of an image.
    var server: ServerRequest?
}

/// The header lines of requests, as libcurl takes them.
struct FieldLines: Sendable {
    private let standard: [UInt8]

    /// Lines of a client with `userAgent`.
    init(userAgent: String) {
        standard = Self.lines(RequestFields(userAgent: userAgent).all)
    }

    /// The lines of `fields`.
    func lines(_ fields: RequestFields) -> [UInt8] {
        guard fields.isStandard else { return Self.lines(fields.all) }
        return fields.others.isEmpty ? standard : standard + Self.lines(fields.others)
    }

    /// Each field as `Name: value`. A field without a value ends in a semicolon, or libcurl would leave it out. A field that
    /// could break out of its line is left out.
    private static func lines(_ fields: [(name: String, value: String)]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 3 })
        for (name, value) in fields {
            guard !name.utf8.contains(where: isControl), !value.utf8.contains(where: isControl) else { continue }
            bytes += name.utf8
            if value.isEmpty {
                bytes.append(UInt8(ascii: ";"))
            } else {
                bytes += [UInt8(ascii: ":"), UInt8(ascii: " ")]
                bytes += value.utf8
            }
            bytes.append(0)
        }
        return bytes
    }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != UInt8(ascii: "\t") }
}
