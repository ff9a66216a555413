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

    /// Whether a request with the fields `new` is answered by a response to one with the fields `old`.
    ///
    /// A field that neither request has is equal.
    package func matches(_ new: HTTPFields, storedFor old: HTTPFields) -> Bool {
        guard !matchesNothing else { return false }
        // What is no field name cannot stand in either request.
        return names.compactMap { HTTPField.Name($0) }.allSatisfy { new[$0] == old[$0] }
    }
}
