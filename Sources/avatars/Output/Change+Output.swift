import AvatarStore

extension AvatarChange {
    /// The fields of the change as `--json` prints them, with those of `names` that its contacts have.
    func fields(_ names: [String: String]) -> [String: JSON] {
        var fields = [
            "sequence": JSON(Int(sequence)),
            "owners": JSON(contacts),
            "names": .object(contacts.names(names)),
            "sources": .object(sources.mapValues { JSON($0) }),
            "kind": JSON(kind.rawValue),
            "time": JSON(time),
        ]
        if let erased {
            fields["salt"] = JSON(erased.salt)
            fields["contactSHA256"] = JSON(erased.sha256)
        } else {
            fields["key"] = JSON(key.rawValue)
            fields["digest"] = JSON(digest)
        }
        return fields
    }

    /// `changes` as `--json` prints them, a line each, with the names of their contacts in `store`.
    static func lines(_ changes: [AvatarChange], in store: AvatarStore) throws -> [UInt8] {
        let names = try store.names(ofContacts: changes.flatMap(\.contacts))
        var bytes: [UInt8] = []
        for change in changes { bytes += try JSON.object(change.fields(names)).line }
        return bytes
    }

    /// The line for readers whose number the feed no longer has: they continue after `last`.
    static func startOver(after last: Int64) -> JSON {
        .object(["startOver": JSON(true), "sequence": JSON(Int(last))])
    }

    /// The columns of `row`.
    static let table = Table([.right("NUMBER", 7), .left("KIND", 7), .left("TIME", 11)], contacts: "CONTACTS")

    /// The cells of the change in `table`.
    func row(_ names: [String: String]) -> [Table.Cell] {
        [
            Table.Cell("\(sequence)"),
            Table.Cell(kind.rawValue, kind.colour),
            Table.Cell(Wording.age(of: time.date)),
            Table.Cell(erased == nil ? contacts.shortText(names) : "a contact, by its hash"),
            Table.Cell(erased?.sha256 ?? key.rawValue),
        ]
    }
}

extension AvatarChange.Kind {
    /// The colour of the kind on a terminal.
    fileprivate var colour: Colour {
        switch self {
        case .added: .green
        case .changed: .magenta
        case .removed, .erased: .red
        }
    }
}
