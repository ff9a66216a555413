package import AvatarCore

/// The hosts and ports that images may be fetched from, judged by the URL. Default: all.
///
/// The rules apply before each request, including redirects. They do not judge the addresses of a name; that is the
/// task of `OriginConfiguration.allowsPrivateNetworks`.
public struct HostRules: Hashable, Sendable {
    /// The allowed hosts; empty allows all.
    public var allowed: [HostPattern]
    /// The denied hosts. They take precedence over `allowed`.
    public var denied: [HostPattern]
    /// The allowed ports; empty allows all.
    public var ports: [ClosedRange<Int>]

    /// Rules for these hosts and ports. Without arguments, all are allowed.
    public init(allowed: [HostPattern] = [], denied: [HostPattern] = [], ports: [ClosedRange<Int>] = []) {
        (self.allowed, self.denied, self.ports) = (allowed, denied, ports)
    }

    /// The reason to refuse a request to `host`, as the end of a sentence that begins with its name; `nil` if the rules
    /// allow it.
    package func refusal(of host: HostName) -> String? {
        if denied.contains(where: { $0.matches(host) }) { return "is on the list of denied hosts" }
        if !allowed.isEmpty, !allowed.contains(where: { $0.matches(host) }) {
            return "is not on the list of allowed hosts"
        }
        if !ports.isEmpty, !ports.contains(where: { $0.contains(host.port) }) {
            return "has a port that is not on the list of allowed ports"
        }
        return nil
    }
}

/// A pattern for one host, `images.example.com`, or for all subdomains of one, `*.example.com`.
public struct HostPattern: Hashable, Sendable, LosslessStringConvertible {
    /// The name in lower case and ASCII, without `*.` and without a dot at the end.
    private let name: String
    private let isSuffix: Bool

    /// Reads a host name, an address (IPv6 with or without brackets), or `*.` and a host name. International names need
    /// not be encoded.
    ///
    /// `*.example.com` does not match `example.com` itself. `nil` for text with a port or a path, with `*` at another
    /// position, and for any other text that is not a host.
    public init?(_ description: String) {
        isSuffix = description.utf8.starts(with: "*.".utf8)
        let host = isSuffix ? String(description.dropFirst(2)) : description
        guard !host.utf8.contains(where: { "/?#@\\*".utf8.contains($0) }), let name = Self.normalized(host),
            !(isSuffix && IPAddress(host: name) != nil)
        else { return nil }
        self.name = name
    }

    /// The pattern in lower case and ASCII.
    public var description: String { (isSuffix ? "*." : "") + name }

    /// Whether the pattern matches `host`, on any port.
    package func matches(_ host: HostName) -> Bool {
        let candidate = Self.compared(host.name)
        guard isSuffix else { return candidate == name }
        return candidate.utf8.count > name.utf8.count + 1 && candidate.hasSuffix("." + name)
    }

    /// The normalised spelling of `host`, as in a URL; `nil` if it is not a host.
    private static func normalized(_ host: String) -> String? {
        let isBareIPv6 = IPAddress(host)?.family == .v6
        let afterLiteral = host.utf8.lastIndex(of: UInt8(ascii: "]")) ?? host.startIndex
        guard isBareIPv6 || !host.utf8[afterLiteral...].contains(UInt8(ascii: ":")) else { return nil }
        do {
            return try AvatarKey(url: "http://\(isBareIPv6 ? "[\(host)]" : host)/").host.map { compared($0.name) }
        } catch {
            // A text that no URL can contain is not a host.
            return nil
        }
    }

    /// The name in the spelling for comparisons. A dot at the end and the various spellings of an IPv4 address are
    /// removed, because the resolver treats them alike.
    private static func compared(_ name: String) -> String {
        let name = name.utf8.last == UInt8(ascii: ".") ? String(name.dropLast()) : name
        guard let address = IPAddress(host: name).map(AddressPolicy.unmapped) else { return name }
        return address.family == .v6 ? "[\(address)]" : address.description
    }
}
