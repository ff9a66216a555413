/// A host: a name and a port. Connection limits and pauses apply to each host separately.
///
/// The text form is `name:port` and always includes the port.
public struct HostName: Hashable, Sendable, LosslessStringConvertible {
    /// The name in lower case and ASCII, or an address as in a URL (`[::1]`).
    public let name: String
    /// The port, even if it is the default of the scheme.
    public let port: Int

    /// The host `name` at `port`.
    public init(name: String, port: Int) {
        self.name = name
        self.port = port
    }

    /// Reads `name:port`; `nil` if the name or the port is missing. The name is taken unchecked.
    public init?(_ description: String) {
        guard let colon = description.lastIndex(of: ":"), colon > description.startIndex,
            let port = Int(description[colon...].dropFirst())
        else { return nil }
        self.init(name: String(description[..<colon]), port: port)
    }

    /// The host of a normalised URL, which has no user info; `nil` if the URL has no host.
    init?(ofNormalizedURL url: String) {
        let isSecure = url.utf8.starts(with: "https:".utf8)
        let authority = url.utf8.dropFirst(isSecure ? 8 : 7).prefix { $0 != UInt8(ascii: "/") }
        guard let last = authority.last else { return nil }
        if last != UInt8(ascii: "]"), authority.contains(UInt8(ascii: ":")) {
            self.init(String(Substring(authority)))
        } else {
            self.init(name: String(Substring(authority)), port: isSecure ? 443 : 80)
        }
    }

    /// The name for calls of the system: an IPv6 address without brackets, any other name as it is.
    package var bareName: String { name.hasPrefix("[") ? String(name.dropFirst().dropLast()) : name }
    /// `name:port`.
    public var description: String { "\(name):\(port)" }
}
