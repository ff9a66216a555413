public import AvatarCore

/// The query parameters of one host's URLs that are no part of the key, such as a signature that differs in each list.
///
/// The text form is the name of the host and the names of the parameters: `cdn.example.org Expires,Signature,X-Amz-*`.
/// Names are compared byte for byte, as the URL spells them. A `*` at the end of a name stands for any rest, and `*` alone
/// for all parameters of the host.
public struct VolatileQuery: Hashable, Sendable, CustomStringConvertible {
    /// The most hosts with such parameters in one store: 256.
    public static let maximumHosts = 256
    /// The most names for one host: 64.
    public static let maximumParameters = 64
    /// The longest name in bytes: 256.
    public static let maximumNameBytes = 256

    /// The name of the host as a normalised URL has it. Its port does not matter.
    public let host: String
    /// The names of the parameters.
    public let parameters: [String]

    /// The parameters of the URLs of `host`.
    ///
    /// - Throws: `invalidConfiguration` unless `host` is the name of one host, without a port, and there are 1 to 64 names of 1
    ///   to 256 printable ASCII characters without blanks, `&`, `=`, `#`, `,` and `*` (except at the end).
    public init(host: String, parameters: [String]) throws(AvatarStoreError) {
        self.host = try Self.checked(host)
        guard (1...Self.maximumParameters).contains(parameters.count) else {
            throw Self.error(
                "\"\(self.host)\" has \(parameters.count) names of parameters; it must have 1 to \(Self.maximumParameters)"
            )
        }
        for name in parameters { try Self.check(name) }
        self.parameters = parameters.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// Reads the text form, `HOST NAME[,NAME…]`.
    ///
    /// - Throws: as `init(host:parameters:)`.
    public init(parsing text: String) throws(AvatarStoreError) {
        let words = text.split(whereSeparator: \.isWhitespace)
        guard words.count == 2 else {
            throw Self.error(
                "\"\(text.prefix(80))\" must be a host and the names of parameters, as in \"cdn.example.org sig,expires\""
            )
        }
        let names = words[1].split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        try self.init(host: String(words[0]), parameters: names)
    }

    /// The text form.
    public var description: String { "\(host) \(parameters.joined(separator: ","))" }

    /// Whether all parameters of the host are left out of the key.
    package var coversAll: Bool { parameters.contains("*") }

    /// Whether the parameter `name` is left out of the key.
    func covers(_ name: Substring.UTF8View) -> Bool {
        parameters.contains { pattern in
            guard pattern.utf8.last == UInt8(ascii: "*") else { return name.elementsEqual(pattern.utf8) }
            return name.starts(with: pattern.utf8.dropLast())
        }
    }

    // MARK: Checks

    private static func checked(_ host: String) throws(AvatarStoreError) -> String {
        guard !host.utf8.contains(where: { "/?#@\\".utf8.contains($0) }),
            let url = AvatarKey(listed: "https://\(host)/"),
            let found = url.host, found.port == 443, !host.hasSuffix(":443"), found.name != "*"
        else { throw error("\"\(host.prefix(80))\" is not the name of a host; write it without scheme, port and path") }
        return found.name
    }

    private static func check(_ name: String) throws(AvatarStoreError) {
        guard (1...maximumNameBytes).contains(name.utf8.count) else {
            throw error("the name of a parameter has \(name.utf8.count) bytes; it must have 1 to \(maximumNameBytes)")
        }
        let isPlain = name.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"&=#,".utf8.contains($0) }
        guard isPlain, !name.utf8.dropLast().contains(UInt8(ascii: "*")) else {
            throw error(
                "\"\(name.prefix(80))\" is not the name of a parameter: it must be printable ASCII without blanks, &, =, # and "
                    + "commas, and * may only end it"
            )
        }
    }

    private static func error(_ reason: String) -> AvatarStoreError {
        AvatarStoreError(.invalidConfiguration, "`volatile-query`: \(reason).")
    }
}

/// The volatile parameters of all hosts, as one sync or one read uses them.
package struct VolatileQueries: Sendable {
    private let byHost: [String: VolatileQuery]

    /// The parameters of the hosts in `queries`, of which each has one.
    package init(_ queries: [VolatileQuery] = []) {
        byHost = Dictionary(queries.map { ($0.host, $0) }) { _, last in last }
    }

    package var isEmpty: Bool { byHost.isEmpty }

    /// The hosts, in the order of their names.
    package var all: [VolatileQuery] { byHost.values.sorted { $0.host < $1.host } }

    /// The parameters of the host of `url`; `nil` if all of them are part of the key.
    package func query(for url: AvatarKey) -> VolatileQuery? {
        guard !byHost.isEmpty, let name = url.host?.name else { return nil }
        return byHost[name]
    }

    /// The same, with `query` in place of the one of its host.
    ///
    /// - Throws: `invalidConfiguration` beyond the limit of hosts.
    package func setting(_ query: VolatileQuery) throws(AvatarStoreError) -> VolatileQueries {
        let others = all.filter { $0.host != query.host }
        guard others.count < VolatileQuery.maximumHosts else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "`volatile-query` has \(others.count) hosts, the most that it can have. Remove one with `avatars config "
                    + "volatile-query \"HOST none\"` first."
            )
        }
        return VolatileQueries(others + [query])
    }

    /// The same without the host `name`.
    package func removing(_ name: String) -> VolatileQueries {
        VolatileQueries(all.filter { $0.host != name })
    }

    // MARK: As a setting

    /// The text in the index, a line for each host; `nil` without any.
    package var text: String? { isEmpty ? nil : all.map(\.description).joined(separator: "\n") }

    /// Reads `text`.
    ///
    /// - Throws: `damagedIndex` for a text that `text` does not give.
    package init(stored text: String?) throws(AvatarStoreError) {
        var queries: [VolatileQuery] = []
        for line in text?.split(separator: "\n") ?? [] {
            do {
                queries.append(try VolatileQuery(parsing: String(line)))
            } catch {
                throw AvatarStoreError(.damagedIndex, "The index is damaged: \(error.message)", underlying: error)
            }
        }
        self.init(queries)
    }
}

extension AvatarKey {
    /// The key of this URL without the parameters that `query` covers; the same key if it has none of them.
    package func without(_ query: VolatileQuery) -> AvatarKey {
        let bytes = rawValue.utf8
        guard isURL, let mark = bytes.firstIndex(of: UInt8(ascii: "?")) else { return self }
        let parts = rawValue[bytes.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false)
        let kept = parts.filter { part in !query.covers(part.utf8.prefix { $0 != UInt8(ascii: "=") }) }
        guard kept.count < parts.count else { return self }
        let base = String(rawValue[..<mark])
        return AvatarKey(stored: kept.isEmpty ? base : "\(base)?\(kept.joined(separator: "&"))")
    }

    /// The URL without its query.
    package var withoutQuery: String { String(Substring(rawValue.utf8.prefix { $0 != UInt8(ascii: "?") })) }

    /// The names and values of the query's parameters, as the URL spells them.
    package var queryParameters: [(name: Substring, value: Substring)] {
        guard isURL, let mark = rawValue.utf8.firstIndex(of: UInt8(ascii: "?")) else { return [] }
        return rawValue[rawValue.utf8.index(after: mark)...].split(separator: "&").map { part in
            let name = part.prefix { $0 != "=" }
            return (name, part[name.endIndex...])
        }
    }
}
