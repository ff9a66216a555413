package import AvatarCore

/// Which hosts and ports images may be fetched from, by what a URL says. Default: all.
///
/// Judged before a request is sent, and at each redirect. What a name resolves to is the address policy's to judge.
public struct HostRules: Hashable, Sendable {
    /// Only these hosts, if there are any.
    public var allowed: [HostPattern] = []
    /// None of these, whatever else is allowed.
    public var denied: [HostPattern] = []
    /// Only these ports, if there are any.
    public var ports: [ClosedRange<Int>] = []

    /// All hosts and ports.
    public init() {}

    /// Why no request may be sent to `host`, in words that follow its name; `nil` if one may.
    package func refusal(of host: HostName) -> String? {
        if denied.contains(where: { $0.matches(host) }) { return "is on the list of hosts that are not contacted" }
        if !allowed.isEmpty, !allowed.contains(where: { $0.matches(host) }) {
            return "is not on the list of hosts that may be contacted"
        }
        if !ports.isEmpty, !ports.contains(where: { $0.contains(host.port) }) {
            return "is asked for at a port that may not be contacted"
        }
        return nil
    }
}

/// Names one host, `images.example.com`, or all below one, `*.example.com`.
public struct HostPattern: Hashable, Sendable, LosslessStringConvertible {
    /// In lower case and ASCII, without the `*.`, and without a dot at the end.
    private let name: String
    private let isSuffix: Bool

    /// Reads a host name, an address (IPv6 in brackets or without), or `*.` and a host name. International names may be
    /// written as they are.
    ///
    /// `*.example.com` does not name `example.com` itself. `nil` for a port, a path, a `*` anywhere else, and what is
    /// no host.
    public init?(_ description: String) {
        isSuffix = description.utf8.starts(with: "*.".utf8)
        let host = isSuffix ? String(description.dropFirst(2)) : description
        guard !host.utf8.contains(where: { "/?#@\\*".utf8.contains($0) }), let name = Self.normalized(host),
            !(isSuffix && IPAddress(host: name) != nil)
        else { return nil }
        self.name = name
    }

    /// As it was read, in lower case and ASCII.
    public var description: String { (isSuffix ? "*." : "") + name }

    /// Whether this names `host`.
    package func matches(_ host: HostName) -> Bool {
        let candidate = Self.compared(host.name)
        guard isSuffix else { return candidate == name }
        return candidate.utf8.count > name.utf8.count + 1 && candidate.hasSuffix("." + name)
    }

    /// The host in its one spelling: as a URL has it, addresses as addresses.
    private static func normalized(_ host: String) -> String? {
        let isBareIPv6 = IPAddress(host)?.family == .v6
        let afterLiteral = host.utf8.lastIndex(of: UInt8(ascii: "]")) ?? host.startIndex
        guard isBareIPv6 || !host.utf8[afterLiteral...].contains(UInt8(ascii: ":")) else { return nil }
        do {
            return try AvatarKey(url: "http://\(isBareIPv6 ? "[\(host)]" : host)/").host.map { compared($0.name) }
        } catch {
            // What no URL can hold is no host.
            return nil
        }
    }

    /// A dot at the end, and the many ways to write an IPv4 address, lead the resolver to the same place.
    private static func compared(_ name: String) -> String {
        let name = name.utf8.last == UInt8(ascii: ".") ? String(name.dropLast()) : name
        guard let address = IPAddress(host: name).map(AddressPolicy.unmapped) else { return name }
        return address.family == .v6 ? "[\(address)]" : address.description
    }
}
