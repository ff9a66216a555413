package import AvatarCore
import AvatarFoundation

/// The hosts that the client contacts directly instead of through the proxy, as in the variable `NO_PROXY`.
///
/// Commas or spaces separate the entries:
///
/// | entry | matches |
/// |---|---|
/// | `*` | every host |
/// | `example.com`, `.example.com`, `*.example.com` | the host and its subdomains |
/// | `192.0.2.1`, `2001:db8::1`, `[2001:db8::1]` | a URL with this address |
/// | `192.0.2.0/24`, `2001:db8::/32` | a URL with an address in this block |
///
/// `:8080` after an entry other than a block limits it to one port. Names are compared with the URL and never resolved.
/// An entry in any other form is ignored.
public struct ProxyExceptions: Hashable, Sendable {
    private var entries: [Entry] = []

    /// No exceptions.
    public init() {}

    /// Reads a list of entries in the form of `NO_PROXY`.
    public init(_ text: String) {
        entries = text.split { $0 == "," || $0.isWhitespace }.compactMap { Entry(String($0)) }
    }

    /// Whether the client contacts `host` directly.
    package func contains(_ host: HostName) -> Bool {
        entries.contains { $0.contains(host) }
    }

    private struct Entry: Hashable, Sendable {
        private enum Hosts: Hashable, Sendable {
            case all
            case matching([HostPattern])
            case block(IPAddressBlock)
        }

        private let hosts: Hosts
        /// The port; `nil` for any.
        private let port: Int?

        init?(_ text: String) {
            if let block = IPAddressBlock(text) {
                (hosts, port) = (.block(block), nil)
                return
            }
            var name = text
            (name, port) = Self.split(text)
            if name == "*" {
                hosts = .all
                return
            }
            if name.hasPrefix("*.") { name.removeFirst() }
            if name.hasPrefix(".") { name.removeFirst() }
            guard let host = HostPattern(name) else { return nil }
            hosts = .matching([host] + [HostPattern("*." + name)].compactMap { $0 })
        }

        func contains(_ host: HostName) -> Bool {
            guard port == nil || port == host.port else { return false }
            switch hosts {
            case .all: return true
            case .matching(let patterns): return patterns.contains { $0.matches(host) }
            case .block(let block): return IPAddress(host: host.name).map(block.contains) ?? false
            }
        }

        /// Splits `text` into name and port. An IPv6 address without brackets has no port.
        private static func split(_ text: String) -> (name: String, port: Int?) {
            guard IPAddress(text) == nil, let colon = text.lastIndex(of: ":"),
                let port = Int(text[colon...].dropFirst()), (1...65_535).contains(port)
            else { return (text, nil) }
            return (String(text[..<colon]), port)
        }
    }
}
