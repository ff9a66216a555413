import ArgumentParser
import AvatarStore
import NIOCore

/// The hosts that a server answers for, by the authority of a request: the field Host, or the host of an absolute target.
///
/// A page on the web can let its own name resolve to 127.0.0.1 (DNS rebinding). The browser then takes the server for a part of that
/// site, and its scripts may read every response. The authority still has the name of the site.
enum AnsweredHosts: Equatable, Sendable {
    /// Every host.
    case any
    /// `localhost` and the names below it, IP addresses, and these names, which are in lower case and ASCII.
    case local(and: Set<String>)

    /// The hosts of a server that listens on `address`.
    ///
    /// No browser connects to a Unix domain socket. A server on another address than loopback is open to its network under names
    /// that it does not know, so it checks them only if the operator named some.
    init(listeningOn address: SocketAddress?, names: Set<String>) {
        switch address {
        case nil, .unixDomainSocket?: self = .any
        case let address?: self = address.isLoopback || !names.isEmpty ? .local(and: names) : .any
        }
    }

    /// Whether the server answers for `authority`, a host with or without a port.
    func contain(_ authority: String) -> Bool {
        guard case .local(let names) = self else { return true }
        guard let name = Self.name(authority) else { return false }
        return name == "localhost" || name.hasSuffix(".localhost") || names.contains(name)
            || IPAddress(name.hasPrefix("[") ? String(name.dropFirst().dropLast()) : name) != nil
    }

    /// The authority of a request target in absolute form, which replaces the field Host (RFC 9112 section 3.2.2); `nil` for
    /// another form.
    static func authority(ofTarget target: String) -> String? {
        guard target.utf8.first != UInt8(ascii: "/"), let end = target.firstRange(of: "://") else { return nil }
        return String(target[end.upperBound...].prefix { $0 != "/" && $0 != "?" })
    }

    /// Parses the value of `--allow-host`: a name in any case, perhaps with characters beyond ASCII.
    ///
    /// - Throws: `ValidationError` if `text` is not a name.
    static func parse(_ text: String) throws -> String {
        let isPlain = !text.contains { "/?#@:\\[]".contains($0) }
        guard isPlain, let key = try? AvatarKey(url: "http://\(text)/"),  // The error would speak of a URL.
            let name = key.host.flatMap({ Self.name($0.name) })
        else { throw ValidationError("--allow-host must be a host name without a port, not \"\(text)\".") }
        return name
    }

    /// The name or address in `authority`, in lower case and without the dot that ends a full name; `nil` without one.
    private static func name(_ authority: String) -> String? {
        let text = authority.lowercased()
        let isLiteral = text.hasPrefix("[")
        guard
            let end = isLiteral
                ? text.firstIndex(of: "]").map(text.index(after:)) : text.firstIndex(of: ":") ?? text.endIndex
        else { return nil }
        let port = text[end...]
        guard port.isEmpty || port.first == ":" && port.dropFirst().allSatisfy({ $0.isASCII && $0.isNumber }) else {
            return nil
        }
        let name = text[..<end]
        let plain = name.hasSuffix(".") ? name.dropLast() : name
        return plain.isEmpty ? nil : String(plain)
    }
}

extension SocketAddress {
    /// The IP address; `nil` for the path of a Unix domain socket. An IPv4 address in an IPv6 one (`::ffff:127.0.0.1`) is IPv4.
    var address: IPAddress? {
        guard let address = ipAddress.flatMap({ IPAddress(String($0.prefix { $0 != "%" })) }) else { return nil }
        let isMapped = address.family == .v6 && address.bits >> 32 == 0xFFFF
        return isMapped ? address.embeddedIPv4(at: 96) : address
    }

    /// Whether only processes of this machine can reach the address, or come from it.
    var isLoopback: Bool {
        guard let address else { return true }
        return address.family == .v4 ? address.bits >> 24 == 127 : address.bits == 1
    }
}
