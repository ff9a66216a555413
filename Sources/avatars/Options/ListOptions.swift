import ArgumentParser
import AvatarContacts

/// The options for reading contact lists.
struct ListOptions: ParsableArguments {
    /// One format for all lists. Standard input needs it, because it has no file name.
    @Option(help: "The format of the lists. Default: by file name.")
    var format: ContactList.Format?

    /// Sets `ContactList.columns` of all lists in CSV and JSON.
    @Option(
        help: ArgumentHelp(
            "The column of a CSV list, or field of a JSON list, with the id, name, email or photo, such as photo=\"Photo URL\". Repeat "
                + "the option for several. Default: known by name.",
            valueName: "part=name"
        ),
        // Checked in `validate()`: the parser prints an error thrown here with the value and the help of the option once more.
        transform: { text in Result { try ListOptions.parseColumn(text) } }
    )
    var column: [Result<NamedColumn, any Error>] = []

    /// A column of a CSV list.
    struct NamedColumn: Sendable {
        let part: ContactList.Column
        let name: String
    }

    /// - Throws: `ValidationError` for a `--column` in another form than `PART=NAME`.
    func validate() throws {
        for column in column { _ = try column.get() }
    }

    /// How the lists are read.
    ///
    /// - Throws: as `validate()`.
    func reading() throws -> ListReading {
        var columns: [ContactList.Column: [String]] = [:]
        for column in try column.map({ try $0.get() }) { columns[column.part, default: []].append(column.name) }
        return ListReading(format: format, columns: columns)
    }

    /// - Throws: `ValidationError` if `text` is not a part of a contact, an equals sign and the name of a column.
    private static func parseColumn(_ text: String) throws -> NamedColumn {
        let sides = text.split(separator: "=", maxSplits: 1)
        guard sides.count == 2, let part = ContactList.Column(rawValue: sides[0].lowercased()) else {
            let parts = ContactList.Column.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError(
                "--column must be PART=NAME, where PART is one of \(parts), such as photo=\"Photo URL\", not \"\(text)\"."
            )
        }
        return NamedColumn(part: part, name: String(sides[1]))
    }
}

/// How contact lists are read.
struct ListReading: Sendable {
    /// One format for all lists; `nil` to tell it from the file names.
    var format: ContactList.Format?
    /// The columns or fields that lists in CSV and JSON have for parts of a contact.
    var columns: [ContactList.Column: [String]] = [:]
}
