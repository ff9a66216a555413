internal import AvatarCore

/// The place of the vCard reader: until there is one, such a list is refused.
struct VCardSplitter: RecordSplitter {
    let name: String

    static func notReadYet(_ name: String) -> AvatarStoreError {
        .unreadableList(name, "vCard lists are not read yet; give the list as JSON, NDJSON or text")
    }

    mutating func next() throws(AvatarStoreError) -> RawRecord? {
        throw Self.notReadYet(name)
    }
}
