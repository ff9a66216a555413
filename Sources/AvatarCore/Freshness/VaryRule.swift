package import HTTPTypes

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
