package import HTTPTypes

/// The request fields that the Vary of the response names. The index stores them with the response, to compare them
/// with the next request (RFC 9111 section 4.1).
///
/// Values are stored only for fields that are not secret. Of other fields, such as credentials and fields of the host
/// program, the index records only that they were present.
package struct VarySelection: Hashable, Sendable {
    private enum Said: Hashable {
        case nothing
        case value(String)
        /// A value that is not stored and therefore cannot be compared.
        case secret
    }

    private struct Line: Hashable {
        /// The name in lower case.
        let name: String
        let said: Said
    }

    private let fields: [Line]

    /// Fields whose values are not secret, because the store itself may send them.
    private static let publicNames: Set = [
        "accept", "accept-charset", "accept-encoding", "accept-language", "origin", "save-data", "user-agent",
    ]

    /// Whether `request` has a field that may be a credential: one that is not known to be none.
    package static func mayHoldCredentials(_ request: HTTPFields) -> Bool {
        request.contains { !publicNames.contains($0.name.canonicalName) }
    }

    /// The values of `names`, which are in lower case, in `request`; `nil` if no name is a valid field name.
    init?(_ names: [String], in request: HTTPFields) {
        // A name that is not a valid field name cannot occur in any request.
        fields = Set(names).sorted().compactMap { name in
            HTTPField.Name(name).map { Line(name: name, said: Self.said(request[$0], name)) }
        }
        guard !fields.isEmpty else { return nil }
    }

    /// Whether `request` has the same values. A secret never matches, because its earlier value is not stored.
    package func matches(_ request: HTTPFields) -> Bool {
        fields.allSatisfy { line in
            guard let name = HTTPField.Name(line.name) else { return true }
            return line.said != .secret && Self.said(request[name], line.name) == line.said
        }
    }

    private static func said(_ value: String?, _ name: String) -> Said {
        guard let value else { return .nothing }
        return publicNames.contains(name) ? .value(value) : .secret
    }

    // MARK: As text

    /// The first character of a line, which distinguishes it from a header line.
    private static let mark = ">"

    /// The text form in the index, one line per field: `>name`, `>name: value` or, for a secret, `>name?`. Field names
    /// do not contain `>` or `?`.
    var lines: [String] {
        fields.map { line in
            switch line.said {
            case .nothing: "\(Self.mark)\(line.name)"
            case .value(let value): "\(Self.mark)\(line.name): \(value)"
            case .secret: "\(Self.mark)\(line.name)?"
            }
        }
    }

    /// Reads lines in the form of `lines`; `nil` if there are none.
    init?(lines: some Sequence<Substring>) {
        fields = lines.compactMap(Self.line)
        guard !fields.isEmpty else { return nil }
    }

    private static func line(_ text: Substring) -> Line? {
        guard text.utf8.starts(with: mark.utf8) else { return nil }
        let rest = text.utf8.dropFirst(mark.utf8.count)
        if rest.last == UInt8(ascii: "?"), !rest.contains(UInt8(ascii: ":")) {
            return Line(name: String(Substring(rest.dropLast())), said: .secret)
        }
        guard let colon = rest.firstIndex(of: UInt8(ascii: ":")) else {
            return Line(name: String(Substring(rest)), said: .nothing)
        }
        let value = Substring(rest[colon...].dropFirst().drop { $0 == UInt8(ascii: " ") })
        return Line(name: String(Substring(rest[..<colon])), said: .value(String(value)))
    }
}

/// The Vary field of a response, which decides for which requests it may be reused (RFC 9111 section 4.1).
package struct VaryRule: Hashable, Sendable {
    /// The request fields by which the origin selected the response, in lower case.
    private let names: [String]

    /// Reads all Vary lines of a response's `fields` as one list.
    package init(_ fields: HTTPFields) {
        guard let list = fields.listValue(of: .vary) else {
            names = []
            return
        }
        names = list.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
    }

    /// Whether this is `Vary: *`: the origin selected by more than the request's fields, so no later request matches.
    package var matchesNothing: Bool { names.contains("*") }

    /// The fields of `request` to compare with later requests; `nil` if there is nothing to compare.
    package func selection(of request: HTTPFields) -> VarySelection? {
        matchesNothing ? nil : VarySelection(names, in: request)
    }
}
