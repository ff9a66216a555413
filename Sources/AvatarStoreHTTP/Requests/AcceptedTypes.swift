import HTTPTypes

/// The media types that an Accept field names (RFC 9110 section 12.5.1).
struct AcceptedTypes {
    private let weights: [String: Double]

    init(_ fields: HTTPFields) {
        var weights: [String: Double] = [:]
        for range in (fields[.accept] ?? "").lowercased().split(separator: ",") {
            let parts = range.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            guard let type = parts.first else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 }
            weights[type] = weight ?? 1
        }
        self.weights = weights
    }

    /// The weight of a type that is named itself; 0 if it is not, because a browser accepts everything.
    func weight(of type: String) -> Double { weights[type] ?? 0 }
}
