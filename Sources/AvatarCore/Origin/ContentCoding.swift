package import HTTPTypes

extension HTTPFields {
    /// The codings of the body in the order in which they were applied, in lower case (RFC 9110 section 8.4).
    /// `identity` and empty members are no codings.
    package var contentCodings: [String] {
        self[values: .contentEncoding].flatMap { $0.split(separator: ",") }
            .map { $0.withoutBlanks.lowercased() }
            .filter { !$0.isEmpty && $0 != "identity" }
    }
}
