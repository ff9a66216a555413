import AvatarFoundation

/// JSON as the routes give it: sorted fields, and slashes as they are.
enum JSONText {
    /// `value` as JSON with a line feed at its end.
    static func bytes(_ value: some Encodable) -> [UInt8] {
        line(value) + [UInt8(ascii: "\n")]
    }

    /// `value` as JSON on one line.
    static func line(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return Array(try encoder.encode(value))
        } catch {
            // Only a floating-point number that is not finite cannot be encoded, and the routes give none.
            preconditionFailure("A value of a route cannot be encoded: \(error)")
        }
    }
}
