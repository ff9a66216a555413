/// A host as the store counts them: a name and a port. Written `name:port`, always with the port.
public struct HostName: Hashable, Sendable, LosslessStringConvertible {
    /// The name in lower case and ASCII, or an address as a URL writes it (`[::1]`).
    public let name: String
    /// The port, also where it is the scheme's default.
    public let port: Int

    /// The host `name` at `port`.
    public init(name: String, port: Int) {
        self.name = name
        self.port = port
    }

    /// Reads `name:port`; `nil` if either part is missing.
    public init?(_ description: String) {
        guard let colon = description.lastIndex(of: ":"), colon > description.startIndex,
            let port = Int(description[colon...].dropFirst())
        else { return nil }
        self.init(name: String(description[..<colon]), port: port)
    }

    /// The host of a URL in its normal spelling, which has no user info; `nil` if it has none.
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

    /// The name as the system's calls want it: an IPv6 address without brackets.
    package var bareName: String { name.hasPrefix("[") ? String(name.dropFirst().dropLast()) : name }
    /// `name:port`.
    public var description: String { "\(name):\(port)" }
}
