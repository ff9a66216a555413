/// Names and values, one pair a line, for people.
struct Facts {
    private var rows: [[Table.Cell]] = []

    /// Adds a line, unless there is no value.
    mutating func add(_ name: String, _ value: String?, _ colour: Colour? = nil) {
        guard let value else { return }
        rows.append([Table.Cell(name), Table.Cell(value, colour)])
    }

    /// All lines, the values below each other.
    var text: String {
        var table = Table(.left(""), .left(""))
        table.fit(rows)
        return rows.map(table.line).joined()
    }

    /// Writes all lines to standard output.
    func print() throws {
        try Console.output.write(text)
    }
}
