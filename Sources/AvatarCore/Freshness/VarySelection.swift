package import HTTPTypes

/// What a request said in the fields that its response's Vary names: kept with the response, to be compared with what
/// the next request would say (RFC 9111 section 4.1).
///
/// Only values that are no secret are kept. Of other fields (credentials, and whatever a host program adds) it is kept
/// that they were there.
package struct VarySelection: Hashable, Sendable {
    private enum Said: Hashable {
        case nothing
        case value(String)
        /// Something that is not kept, and cannot be compared.
        case secret
    }

    private struct Line: Hashable {
        /// In lower case.
        let name: String
        let said: Said
    }

    private let fields: [Line]

    /// What the store itself may send; its values may be written down.
    private static let publicNames: Set = [
        "accept", "accept-charset", "accept-encoding", "accept-language", "origin", "save-data", "user-agent",
    ]

    /// What `request` says in the fields called `names`, which are in lower case; `nil` if none of them is a field.
    init?(_ names: [String], in request: HTTPFields) {
        // What is no field name cannot stand in any request.
        fields = Set(names).sorted().compactMap { name in
            HTTPField.Name(name).map { Line(name: name, said: Self.said(request[$0], name)) }
        }
        guard !fields.isEmpty else { return nil }
    }

    /// Whether `request` is known to say the same. A secret is not: the one sent then was not kept.
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

    /// What begins a line, so that none looks like a header line.
    private static let mark = ">"

    /// `>name`, `>name: value` or, for a secret, `>name?` for each field. No field name holds `>` or `?`.
    var lines: [String] {
        fields.map { line in
            switch line.said {
            case .nothing: "\(Self.mark)\(line.name)"
            case .value(let value): "\(Self.mark)\(line.name): \(value)"
            case .secret: "\(Self.mark)\(line.name)?"
            }
        }
    }

    /// Reads what `lines` wrote; `nil` if none of them is one.
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

/// Which requests a stored response answers, by its Vary field (RFC 9111 section 4.1).
package struct VaryRule: Hashable, Sendable {
    /// The request fields that the origin chose the response by, in lower case.
    private let names: [String]

    /// What all Vary lines of a response's `fields` say together.
    package init(_ fields: HTTPFields) {
        names = (fields[.vary] ?? "").lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
    }

    /// `Vary: *`: the origin chose by more than the request's fields, so no other request is known to match.
    package var matchesNothing: Bool { names.contains("*") }

    /// What has to be kept of `request` to compare it with later ones; `nil` if nothing has.
    package func selection(of request: HTTPFields) -> VarySelection? {
        matchesNothing ? nil : VarySelection(names, in: request)
    }
}
