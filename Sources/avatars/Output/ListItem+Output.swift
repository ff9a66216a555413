import AvatarStore

extension AvatarListItem {
    /// The columns of `avatar_overview`, and the owners.
    var fields: [String: JSON] {
        [
            "key": JSON(key),
            "sourceURL": JSON(sourceURL),
            "localFile": JSON(localFile),
            "storageClass": JSON(storageClass),
            "sizeBytes": JSON(sizeBytes),
            "etag": JSON(etag),
            "lastAccess": JSON(lastAccess),
            "freshUntil": JSON(freshUntil),
            "checkedAt": JSON(checkedAt),
            "state": JSON(state),
            "owners": JSON(owners),
        ]
    }

    /// The columns of `row`.
    static let table = Table(
        .left("STATE", 7),
        .left("CLASS", 9),
        .right("SIZE", 8),
        .left("LAST ACCESS", 11),
        .left("KEY")
    )

    var row: [Table.Cell] {
        [
            Table.Cell(state, EntryState(rawValue: state)?.colour),
            Table.Cell(storageClass),
            Table.Cell(sizeBytes.map(Wording.size) ?? "–"),
            Table.Cell(Wording.age(ofISO8601: lastAccess)),
            Table.Cell(key),
        ]
    }
}
