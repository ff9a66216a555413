import Foundation

/// A JSON object as a script sees it.
struct JSONObject {
    private let fields: [String: Any]

    init(_ line: String) throws {
        guard let fields = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
            throw UnexpectedOutput(text: line, messages: "")
        }
        self.fields = fields
    }

    /// The names of all fields.
    var names: Set<String> { Set(fields.keys) }

    /// Whether the field is there, and null.
    func isNull(_ name: String) -> Bool { fields[name] is NSNull }

    func number(_ name: String) -> Int? { fields[name] as? Int }

    func text(_ name: String) -> String? { fields[name] as? String }

    func flag(_ name: String) -> Bool? { fields[name] as? Bool }

    func texts(_ name: String) -> [String]? { fields[name] as? [String] }

    /// The numbers in an object within this one.
    func numbers(_ name: String) -> [String: Int]? { fields[name] as? [String: Int] }

    /// The `kind` of each of the `failures`.
    var failureKinds: [String] {
        let failures = fields["failures"] as? [[String: Any]] ?? []
        return failures.compactMap { $0["kind"] as? String }.sorted()
    }

    /// The `message` of each of the `failures`.
    var failureMessages: [String] {
        let failures = fields["failures"] as? [[String: Any]] ?? []
        return failures.compactMap { $0["message"] as? String }
    }
}
