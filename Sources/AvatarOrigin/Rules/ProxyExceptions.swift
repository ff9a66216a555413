package import AvatarCore
import Foundation

/// The hosts that are asked directly although there is a proxy: what `NO_PROXY` says.
///
/// The entries are parted by commas or spaces:
///
/// | entry | names |
/// |---|---|
/// | `*` | every host |
/// | `example.com`, `.example.com`, `*.example.com` | the host and all below it |
/// | `192.0.2.1`, `2001:db8::1`, `[2001:db8::1]` | a URL with this address |
/// | `192.0.2.0/24`, `2001:db8::/32` | a URL with an address of this block |
///
/// `:8080` after any but a block names one port. Names are compared as they stand in the URL: nothing is resolved. What
/// is none of these is passed over.
public struct ProxyExceptions: Hashable, Sendable {
    private var entries: [Entry] = []

    /// None.
    public init() {}

    /// Reads `text`.
    public init(_ text: String) {
        entries = text.split { $0 == "," || $0.isWhitespace }.compactMap { Entry(String($0)) }
    }

    /// Whether `host` is asked directly.
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
        /// `nil`: any port.
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

        /// Name and port; a lone IPv6 address has colons of its own.
        private static func split(_ text: String) -> (name: String, port: Int?) {
            guard IPAddress(text) == nil, let colon = text.lastIndex(of: ":"),
                let port = Int(text[colon...].dropFirst()), (1...65_535).contains(port)
            else { return (text, nil) }
            return (String(text[..<colon]), port)
        }
    }
}
