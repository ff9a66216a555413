/// Rows of cells in columns, for people.
struct Table {
    /// One column: its heading and how wide it is at least.
    struct Column {
        var heading: String
        var width = 0
        var isRightAligned = false

        static func left(_ heading: String, _ width: Int = 0) -> Column {
            Column(heading: heading, width: width)
        }

        static func right(_ heading: String, _ width: Int = 0) -> Column {
            Column(heading: heading, width: width, isRightAligned: true)
        }
    }

    /// What a cell says, and in which colour.
    struct Cell: ExpressibleByStringLiteral {
        var text: String
        var colour: Colour?

        init(_ text: String, _ colour: Colour? = nil) {
            self.text = Wording.oneLine(text)
            self.colour = colour
        }

        init(stringLiteral text: String) {
            self.init(text)
        }
    }

    private var columns: [Column]
    private let hasColour = Console.output.hasColour

    /// The last column is as wide as its cells, so that nothing long pushes others aside.
    init(_ columns: Column...) {
        self.columns = columns.map { column in
            var column = column
            column.width = max(column.width, column.heading.count)
            return column
        }
    }

    /// Makes the columns wide enough for `rows`.
    mutating func fit(_ rows: [[Cell]]) {
        for row in rows {
            for (number, cell) in row.enumerated() {
                columns[number].width = max(columns[number].width, cell.text.count)
            }
        }
    }

    /// The line with the headings.
    var heading: String {
        line(columns.map { Cell($0.heading, .faint) })
    }

    /// The line with `cells`.
    func line(_ cells: [Cell]) -> String {
        var texts = zip(columns, cells).map { column, cell in padded(cell, column) }
        if let last = cells.last, columns.last?.isRightAligned == false {
            texts[texts.count - 1] = coloured(last.text, last.colour)
        }
        return texts.joined(separator: "  ") + "\n"
    }

    private func padded(_ cell: Cell, _ column: Column) -> String {
        let padding = String(repeating: " ", count: max(0, column.width - cell.text.count))
        let text = coloured(cell.text, cell.colour)
        return column.isRightAligned ? padding + text : text + padding
    }

    private func coloured(_ text: String, _ colour: Colour?) -> String {
        guard hasColour, let colour else { return text }
        return "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m"
    }
}

/// A colour of the terminal, by its SGR parameter (ECMA-48, 8.3.117).
enum Colour: Int {
    case faint = 2
    case red = 31
    case green = 32
    /// For what wants attention: yellow cannot be read on white.
    case magenta = 35
}

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
