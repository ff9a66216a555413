/// Where a record of a contact list begins.
public struct ListPlace: Hashable, Sendable, CustomStringConvertible {
    /// The list, as messages name it; `nil` if there is only one.
    public var list: String?
    /// The line, counted from 1.
    public var line: Int

    /// A record that begins in `line` of `list`.
    public init(list: String? = nil, line: Int) {
        self.list = list
        self.line = line
    }

    /// The place for messages: `line 3`, or `people.json line 3`.
    public var description: String {
        list.map { "\($0) line \(line)" } ?? "line \(line)"
    }
}
