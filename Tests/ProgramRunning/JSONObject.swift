import Foundation

/// A JSON object of the program's output.
package struct JSONObject {
    private let fields: [String: Any]

    package init(_ line: String) throws {
        guard let fields = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
            throw UnexpectedOutput(text: line, messages: "")
        }
        self.fields = fields
    }

    /// The names of the object's fields.
    package var names: Set<String> { Set(fields.keys) }

    /// Whether the field exists and is null.
    package func isNull(_ name: String) -> Bool { fields[name] is NSNull }

    package func number(_ name: String) -> Int? { fields[name] as? Int }

    package func text(_ name: String) -> String? { fields[name] as? String }

    package func flag(_ name: String) -> Bool? { fields[name] as? Bool }

    package func texts(_ name: String) -> [String]? { fields[name] as? [String] }

    /// The objects in the array `name`.
    package func objects(_ name: String) -> [[String: Any]]? { fields[name] as? [[String: Any]] }

    /// The numbers in the nested object `name`.
    package func numbers(_ name: String) -> [String: Int]? { fields[name] as? [String: Int] }

    /// The texts in the nested object `name`.
    package func textsByName(_ name: String) -> [String: String]? { fields[name] as? [String: String] }

    /// The lists of texts in the nested object `name`.
    package func textLists(_ name: String) -> [String: [String]]? { fields[name] as? [String: [String]] }

    /// The `kind` of each of the `failures`.
    package var failureKinds: [String] {
        let failures = fields["failures"] as? [[String: Any]] ?? []
        return failures.compactMap { $0["kind"] as? String }.sorted()
    }

    /// The `message` of each of the `failures`.
    package var failureMessages: [String] {
        let failures = fields["failures"] as? [[String: Any]] ?? []
        return failures.compactMap { $0["message"] as? String }
    }
}
