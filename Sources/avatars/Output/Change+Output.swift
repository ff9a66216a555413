import AvatarStore

extension AvatarChange {
    /// The fields of the change as `--json` prints them.
    var fields: [String: JSON] {
        [
            "sequence": JSON(Int(sequence)),
            "key": JSON(key.rawValue),
            "owners": JSON(contacts),
            "kind": JSON(kind.rawValue),
            "digest": JSON(digest),
            "time": JSON(time),
        ]
    }

    /// The columns of `row`.
    static let table = Table(
        .right("NUMBER", 7),
        .left("KIND", 7),
        .left("TIME", 11),
        .left("CONTACTS", 12),
        .left("KEY")
    )

    /// The cells of the change in `table`.
    var row: [Table.Cell] {
        [
            Table.Cell("\(sequence)"),
            Table.Cell(kind.rawValue, kind.colour),
            Table.Cell(Wording.age(of: time.date)),
            Table.Cell(shortContacts),
            Table.Cell(key.rawValue),
        ]
    }

    /// The first three contacts and the number of the others: thousands may share an image.
    private var shortContacts: String {
        let names = contacts.prefix(3).joined(separator: ", ")
        return contacts.count > 3 ? "\(names) and \(contacts.count - 3) more" : names
    }
}

extension AvatarChange.Kind {
    /// The colour of the kind on a terminal.
    fileprivate var colour: Colour {
        switch self {
        case .added: .green
        case .changed: .magenta
        case .removed: .red
        }
    }
}
