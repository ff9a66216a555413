import AvatarStore

extension AvatarChange {
    var fields: [String: JSON] {
        [
            "sequence": JSON(Int(sequence)),
            "key": JSON(key.rawValue),
            "owners": JSON(owners),
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
        .left("OWNERS", 12),
        .left("KEY")
    )

    var row: [Table.Cell] {
        [
            Table.Cell("\(sequence)"),
            Table.Cell(kind.rawValue, kind.colour),
            Table.Cell(Wording.age(ofISO8601: time.iso8601)),
            Table.Cell(shortOwners),
            Table.Cell(key.rawValue),
        ]
    }

    /// The first owners; a logo may have thousands.
    private var shortOwners: String {
        let names = owners.prefix(3).joined(separator: ", ")
        return owners.count > 3 ? "\(names) and \(owners.count - 3) more" : names
    }
}

extension AvatarChange.Kind {
    fileprivate var colour: Colour {
        switch self {
        case .added: .green
        case .changed: .magenta
        case .removed: .red
        }
    }
}
