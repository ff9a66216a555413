/// Rows of cells in aligned columns, for output without `--json`.
///
/// On a terminal widths are counted in its cells, of which wide characters take two. Piped output counts characters.
struct Table {
    /// A column.
    struct Column {
        /// The first line of the column, in capitals by convention.
        var heading: String
        /// The least width; cells that are longer are printed in full.
        var width = 0
        /// Whether cells end at the right edge of the column.
        var isRightAligned = false
        /// The widest cell on a terminal: a longer one loses its middle. `nil` for any number.
        var limit: Int?

        /// A column whose cells begin at the left.
        static func left(_ heading: String, _ width: Int = 0, limit: Int? = nil) -> Column {
            Column(heading: heading, width: width, limit: limit)
        }

        /// A column whose cells end at the right, for numbers.
        static func right(_ heading: String, _ width: Int = 0) -> Column {
            Column(heading: heading, width: width, isRightAligned: true)
        }
    }

    /// The text of a cell and its colour.
    struct Cell: ExpressibleByStringLiteral {
        /// One line, safe on a terminal.
        var text: String
        /// `nil` for the terminal's own colour.
        var colour: Colour?

        /// A cell with `text`, made safe for a terminal.
        init(_ text: String, _ colour: Colour? = nil) {
            self.text = TerminalText.oneLine(text)
            self.colour = colour
        }

        /// The cell with `…` in place of the middle of its text if it is wider than `limit` on a terminal.
        func shortened(to limit: Int?) -> Cell {
            guard let limit, TerminalWidth.of(text) > limit else { return self }
            var cell = self
            let end = (limit - 1) / 2
            let suffix = TerminalWidth.prefix(of: text.reversed(), fitting: end)
            cell.text =
                String(TerminalWidth.prefix(of: text, fitting: limit - 1 - end)) + "…" + String(suffix.reversed())
            return cell
        }

        /// A cell without a colour.
        init(stringLiteral text: String) {
            self.init(text)
        }
    }

    /// The columns with their present widths.
    private var columns: [Column]
    /// Whether cells are printed in their colours.
    private let hasColour = Console.output.hasColour
    /// Whether the table is on a terminal, where cells are shortened to the limits of their columns.
    private let isOnTerminal = Console.output.isTerminal

    /// Makes a table with `columns`. The column with the longest cells goes last, where it is not padded.
    init(_ columns: Column...) {
        self.init(columns)
    }

    /// As above, with columns in an array.
    init(_ columns: [Column]) {
        self.columns = columns.map { column in
            var column = column
            column.width = max(column.width, column.heading.count)
            return column
        }
    }

    /// Widens the columns so that all cells of `rows` fit.
    mutating func fit(_ rows: [[Cell]]) {
        for row in rows {
            for (number, cell) in row.enumerated() {
                let limit = isOnTerminal ? columns[number].limit ?? .max : .max
                columns[number].width = max(columns[number].width, min(limit, width(of: cell.text)))
            }
        }
    }

    /// The headings and `rows` in columns that fit; empty without rows.
    func text(_ rows: [[Cell]]) -> TerminalText {
        guard !rows.isEmpty else { return "" }
        var table = self
        table.fit(rows)
        return table.heading + rows.map(table.line).joined()
    }

    /// The line with the headings, with a line feed at its end.
    var heading: TerminalText {
        line(columns.map { Cell($0.heading, .faint) })
    }

    /// The line with `cells`, one for each column, with a line feed at its end.
    func line(_ cells: [Cell]) -> TerminalText {
        let cells = isOnTerminal ? zip(columns, cells).map { $1.shortened(to: $0.limit) } : cells
        var texts = zip(columns, cells).map { column, cell in padded(cell, column) }
        if let last = cells.last, columns.last?.isRightAligned == false {
            texts[texts.count - 1] = coloured(last.text, last.colour)
        }
        return texts.dropFirst().reduce(texts.first ?? "") { "\($0)  \($1)" } + "\n"
    }

    private func width(of text: String) -> Int {
        isOnTerminal ? TerminalWidth.of(text) : text.count
    }

    /// The text of `cell`, padded to the width of `column`.
    private func padded(_ cell: Cell, _ column: Column) -> TerminalText {
        let padding = String(repeating: " ", count: max(0, column.width - width(of: cell.text)))
        let text = coloured(cell.text, cell.colour)
        return column.isRightAligned ? "\(padding)\(text)" : "\(text)\(padding)"
    }

    /// `text` between the control sequences of `colour`, unless the output has no colours.
    private func coloured(_ text: String, _ colour: Colour?) -> TerminalText {
        (hasColour ? colour : nil)?.around(text) ?? TerminalText(text)
    }
}

/// A colour of the terminal, by its SGR parameter (ECMA-48, 8.3.117).
enum Colour: Int {
    /// For the headings of steps.
    case bold = 1
    /// For the headings of tables.
    case faint = 2
    /// For failures.
    case red = 31
    /// For success.
    case green = 32
    /// For warnings, because yellow is unreadable on white.
    case magenta = 35

    /// `text` between the control sequences of the colour.
    func around(_ text: String) -> TerminalText { "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" }
}

/// Names and values, one pair a line, for output without `--json`.
struct Facts {
    /// Two cells a row. They are kept until all names are known, for the width of the first column.
    private var rows: [[Table.Cell]] = []

    /// Adds a line with `name` and `value`, or nothing if `value` is `nil`.
    mutating func add(_ name: String, _ value: String?, colour: Colour? = nil) {
        guard let value else { return }
        rows.append([Table.Cell(name), Table.Cell(value, colour)])
    }

    /// All lines, with the values in one column.
    var text: TerminalText {
        var table = Table(.left(""), .left(""))
        table.fit(rows)
        return rows.map(table.line).joined()
    }
}
